"""What the registry of people says: questions to the folded state of session `access`. Ring 2, pure.

The token of an invitation: 64 letters that stand in the link and nowhere else. Ring 2, pure; keeps nothing.
"""

import hashlib
import secrets
from binascii import b2a_base64
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, cast

from state import canonical
from state.clock import parse_iso
from state.events.people import create_registry
from state.journal.encryption import DamagedCiphertext, PersonKey, decrypt, encrypt, pack

SESSION: Final = "access"
STREAM: Final = f"session:{SESSION}"
TRIES: Final = 5
"""So many links that are of no use may one person bring within TRIES_WITHIN."""
TRIES_WITHIN: Final = timedelta(hours=1)
ASK_AGAIN: Final = timedelta(days=1)
ASKED_AT_ONCE: Final = 20
"""So many strangers may ask within an hour before the administrators are left in peace."""

Registry = Mapping[str, Any]
LinkStatus = Literal["open", "wrong", "used", "expired"]


def extract_registry(state: Mapping[str, Any]) -> Registry:
    """The registry in the state of its session, or one that lists nobody."""
    return cast("Registry", state.get("access") or create_registry())


def check_link(registry: Registry, fingerprint: str, now: datetime) -> LinkStatus:
    """Of what use a link is at `now`; its last moment is no longer in time."""
    if fingerprint in registry["used"]:
        return "used"
    invitation = registry["invited"].get(fingerprint)
    if invitation is None:
        return "wrong"
    return "open" if now < parse_iso(invitation["expires_at"]) else "expired"


def has_too_many_tries(registry: Registry, person: str, now: datetime) -> bool:
    """Whether the person brought too many useless links."""
    recent = [at for at in registry["tries"].get(person, ()) if now - parse_iso(at) < TRIES_WITHIN]
    return len(recent) >= TRIES


def may_ask(registry: Registry, person: str, now: datetime) -> bool:
    """Whether the administrators may be told of this stranger: once a day, and not of a crowd."""
    asked = registry["asked"]
    if person in asked and now - parse_iso(asked[person]["at"]) < ASK_AGAIN:
        return False
    return sum(now - parse_iso(item["at"]) < TRIES_WITHIN for item in asked.values()) < ASKED_AT_ONCE


_BYTES = 48
"""64 letters of base64url, the most that a deep link takes."""
_LONGEST = 64


class Proof(NamedTuple):
    """What a token leads to, once it is shown: what it is known by, and what opens the sealed name. Neither leads back."""

    fingerprint: str
    unlock: str


def create_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(_BYTES)


def build_proof(token: str) -> Proof:
    """The hash that is stored of a token, and the key to what was sealed with it."""
    raw = token[:_LONGEST].encode()
    unlock = hashlib.sha256(b"sdelka invitation name:" + raw).digest()
    return Proof(hashlib.sha256(raw).hexdigest(), b2a_base64(unlock, newline=False).decode())


def seal_name(name: str, proof: Proof) -> str:
    """The name for whoever brings the token; "" for none."""
    if not name:
        return ""
    key = PersonKey(proof.fingerprint[:8], proof.unlock)
    return encrypt(key, pack(canonical.to_storable_text(name)), proof.fingerprint)


def open_name(text: str, proof: Proof) -> str:
    """The sealed name, "" where there is none or it was sealed with another token."""
    try:
        return decrypt(proof.unlock, text, proof.fingerprint) if text else ""
    except DamagedCiphertext:
        return ""
