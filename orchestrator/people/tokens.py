"""The token of an invitation: 64 letters that stand in the link and nowhere else. Ring 2, pure; keeps nothing."""

import hashlib
import secrets
from binascii import b2a_base64
from typing import NamedTuple

from state import canonical
from state.sealing import DamagedCiphertext, PersonKey, decrypt, encrypt, pack

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
