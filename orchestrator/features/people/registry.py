"""Reads the registry of people from the state of the session `access`, and makes and checks the tokens of invitation links.

All functions are pure. A token has 64 characters and is contained only in the link; the registry contains only its hash.
"""

import hashlib
import secrets
from binascii import b2a_base64
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from state import canonical
from state.clock import parse_iso
from state.journal.encryption import DamagedCiphertext, PersonKey, compress_text, decrypt, encrypt
from state.model.registry import SESSION, Registry
from state.model.session_state import SessionState

STREAM: Final = f"session:{SESSION}"
TRIES: Final = 5
"""How many invalid links a person may open within `TRIES_WITHIN`."""
TRIES_WITHIN: Final = timedelta(hours=1)
ASK_AGAIN: Final = timedelta(days=1)
ASKED_AT_ONCE: Final = 20
"""How many strangers may ask for access within an hour; further requests are not shown to the administrators."""

LinkStatus = Literal["open", "wrong", "used", "expired"]


def extract_registry(state: SessionState) -> Registry:
    """Return the registry from the state of the session `access`; an empty one if there is none."""
    return state.access if state.access is not None else Registry()


def check_link(registry: Registry, fingerprint: str, now: datetime) -> LinkStatus:
    """Return whether the invitation link with this fingerprint (hash of its token) can be used at `now`.

    The result is "open" if it can be used; otherwise it is "wrong" (there is no such link), "used" or "expired".
    """
    if fingerprint in registry.used:
        return "used"
    invitation = registry.invited.get(fingerprint)
    if invitation is None:
        return "wrong"
    return "open" if now < parse_iso(invitation.expires_at) else "expired"


def has_too_many_tries(registry: Registry, person: str, now: datetime) -> bool:
    """Whether the person has opened too many invalid links within the last hour."""
    recent = [at for at in registry.tries.get(person, ()) if now - parse_iso(at) < TRIES_WITHIN]
    return len(recent) >= TRIES


def may_ask(registry: Registry, person: str, now: datetime) -> bool:
    """Whether the administrators should now get a message that this stranger asks for access.

    They get at most one a day about each stranger, and none while too many strangers ask (`ASKED_AT_ONCE` within an hour).
    """
    if was_asked(registry, person, now):
        return False
    return sum(now - parse_iso(item.at) < TRIES_WITHIN for item in registry.asked.values()) < ASKED_AT_ONCE


def was_asked(registry: Registry, person: str, now: datetime) -> bool:
    """Whether the administrators got a message within a day that this stranger asks for access."""
    return person in registry.asked and now - parse_iso(registry.asked[person].at) < ASK_AGAIN


_BYTES = 48
"""The length of a token in bytes: it gives 64 characters of base64url, the maximum for a deep link of Telegram."""
_LONGEST = 64


class Proof(NamedTuple):
    """Two values computed from an invitation token: the fingerprint that identifies the token, and a key.

    The key decrypts the name of the invited person. The token cannot be computed from the two values.
    """

    fingerprint: str
    unlock: str


def create_token() -> str:
    """Return a new random token of 64 characters, which nobody can guess."""
    return secrets.token_urlsafe(_BYTES)


def build_proof(token: str) -> Proof:
    """Return the token's fingerprint (its hash, which is stored) and the key to the invited person's name.

    The name is encrypted so that only the person who has the token can read it.
    """
    raw = token[:_LONGEST].encode()
    unlock = hashlib.sha256(b"sdelka invitation name:" + raw).digest()
    return Proof(hashlib.sha256(raw).hexdigest(), b2a_base64(unlock, newline=False).decode())


def seal_name(name: str, proof: Proof) -> str:
    """Return the name encrypted with the key of the token; "" stays ""."""
    if not name:
        return ""
    key = PersonKey(proof.fingerprint[:8], proof.unlock)
    return encrypt(key, compress_text(canonical.to_storable_text(name)), proof.fingerprint)


def open_name(text: str, proof: Proof) -> str:
    """Return the name decrypted from `text`; "" if `text` is empty or was encrypted with the key of another token."""
    try:
        return decrypt(proof.unlock, text, proof.fingerprint) if text else ""
    except DamagedCiphertext:
        return ""
