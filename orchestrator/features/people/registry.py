"""The registry of people, and tokens of invitation links, which it holds only as hashes. Pure."""

import hashlib
import secrets
from binascii import b2a_base64
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from state import canonical
from state.clock import parse_iso
from state.journal.encryption import DamagedCiphertext, PersonKey, compress_text, decrypt, encrypt
from state.model.registry import SESSION, Registry
from state.model.session_state import SessionState

STREAM: Final = f"session:{SESSION}"
TRIES: Final = 5
"""Invalid links within `TRIES_WITHIN`."""
TRIES_WITHIN: Final = timedelta(hours=1)
ASK_AGAIN: Final = timedelta(days=1)
ASKED_AT_ONCE: Final = 20
"""More strangers in an hour are not shown."""

DEFAULTS: Final[Mapping[str, str]] = {"digest": "off", "evening": "off", "alerts": "on", "dark": "off"}
"""What a person who chose nothing is sent."""

LinkStatus = Literal["open", "wrong", "used", "expired"]


def extract_registry(state: SessionState) -> Registry:
    return state.access if state.access is not None else Registry()


def check_link(registry: Registry, fingerprint: str, now: datetime) -> LinkStatus:
    """ "open", "wrong" (no such link), "used" or "expired"."""
    if fingerprint in registry.used:
        return "used"
    invitation = registry.invited.get(fingerprint)
    if invitation is None:
        return "wrong"
    return "open" if now < parse_iso(invitation.expires_at) else "expired"


def has_too_many_tries(registry: Registry, person: str, now: datetime) -> bool:
    recent = [at for at in registry.tries.get(person, ()) if now - parse_iso(at) < TRIES_WITHIN]
    return len(recent) >= TRIES


def may_ask(registry: Registry, person: str, now: datetime) -> bool:
    """Once a day for each, and not while too many ask."""
    if was_asked(registry, person, now):
        return False
    return sum(now - parse_iso(item.at) < TRIES_WITHIN for item in registry.asked.values()) < ASKED_AT_ONCE


def was_asked(registry: Registry, person: str, now: datetime) -> bool:
    return person in registry.asked and now - parse_iso(registry.asked[person].at) < ASK_AGAIN


_BYTES = 48
"""Telegram's maximum for a deep link, in base64url."""
_LONGEST = 64


class Proof(NamedTuple):
    """A token's fingerprint, and the key to the invited name."""

    fingerprint: str
    unlock: str


def create_token() -> str:
    return secrets.token_urlsafe(_BYTES)


def build_proof(token: str) -> Proof:
    """Only who has the token can read the name."""
    raw = token[:_LONGEST].encode()
    unlock = hashlib.sha256(b"sdelka invitation name:" + raw).digest()
    return Proof(hashlib.sha256(raw).hexdigest(), b2a_base64(unlock, newline=False).decode())


def seal_name(name: str, proof: Proof) -> str:
    if not name:
        return ""
    key = PersonKey(proof.fingerprint[:8], proof.unlock)
    return encrypt(key, compress_text(canonical.to_storable_text(name)), proof.fingerprint)


def open_name(text: str, proof: Proof) -> str:
    """ "" without text or for another token."""
    try:
        return decrypt(proof.unlock, text, proof.fingerprint) if text else ""
    except DamagedCiphertext:
        return ""
