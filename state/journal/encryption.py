"""Encrypts personal data in the journal with one key per person, so that deleting the key makes all of it unreadable. Stores nothing.

Uses AES-256-GCM over compressed JSON. Each text is encrypted for its place, that is, stream, seq (number) and id of its record. If the
ciphertext is changed or copied to another record, it cannot be decrypted. See docs/adr/0013-erasure.md.
"""

import os
import secrets
import zlib
from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from functools import lru_cache
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from state.events import codec
from state.journal.store import StoreError

FIELD = codec.SEALED
"""The key in a record's data under which "<key id>.<ciphertext>" is stored."""
ERASED = ""
"""What is stored instead of the secret once the person was erased."""

_NONCE = 12
_SHORTEST = 48
"""Texts of fewer bytes are not compressed: that would cost more than it saves."""
_PLAIN, _DEFLATED = b"\x00", b"\x01"
_LEVEL, _WINDOW, _MEMORY = 3, -12, 4
# Must never change: stored texts are decompressed with it. A new dictionary needs a new mark beside _DEFLATED.
_DICTIONARY = (
    '"http":{"HANDLER":"EMAIL":"PHONE":[{"VALUE":"","VALUE_TYPE":"WORK"}]"NAME":"LAST_NAME":"COMMENTS":"DEADLINE":"RESPONSIBLE_ID":'
    '"crm.contact.","crm.lead.","crm.company.","tasks.task."crm.item."entityTypeId":"filter":{"select":["order":{"start":'
    '"DATE_CREATE":"CATEGORY_ID":"STAGE_SEMANTIC_ID":"CONTACT_ID":"COMPANY_ID":"CLOSEDATE":"CURRENCY_ID":"RUB"'
    '"detail":"","args":{},"quoted":"","reason":"","options":[{"label":","target":","value":"labels":[]'
    '"sums":{},"total":"unchanged":[]"result":[{"ID":"result":true"result":{"commands":[{"error":"","key":","method":","status":"success"}]'
    '"changes":{"bindings":null,"bound":[],"done":"crm.deal.add crm.deal.update deal ","links":{},'
    '"objects":{"current_contact_id":"current_company_id":"current_task_id":"current_deal_id":},"unbound":[]},'
    '"history":"[written before its steps were judged: what waits for a person is not done]","next_planned_actions":[{'
    '"text":"THOUGHT:\\nACTION:\\n[{\\"method\\": \\"crm.deal.update\\", \\"params\\": {\\"id\\": , \\"fields\\": {\\"OPPORTUNITY\\": '
    '}}, \\"comment\\": \\"\\"}]\\nASSISTANT:\\n'
    '"before":{"deal:{"ASSIGNED_BY_ID":"","OPPORTUNITY":"","STAGE_ID":"","TITLE":""}},"comment":"'
    '"preview":{"count":1,"entity":"deal","id":,"items":[],"lines":[{"after":" ₽","before":" ₽","field":"OPPORTUNITY","name":"Сумма"}],'
    '"title":"","url":"https://bitrix24.ru/crm/deal/details//","verb":"update"},'
    '"provenance":{"external":[],"person_text":"сделки сумму ","prose":false,"targets":["user:","activity:'
    '"reasons":[{"args":{"field":"OPPORTUNITY"},"code":"gate-critical"}],"requested_by_name":"approved_by_name":"denied_by_name":"'
    '"steps":[{"comment":"","method":"crm.deal.update","params":{"fields":{"OPPORTUNITY":},"id":},"slot":"'
    '"targets":["activity:","company:","contact:","deal:","lead:","task:","user:"],"text":"'
).encode()
_packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY)
"""A compressor that has loaded the dictionary. It is only copied: loading the dictionary for each text would cost more than compressing."""


class DamagedCiphertext(StoreError):
    """A ciphertext was changed, or is in another record than the one it was encrypted for."""


class PersonKey(NamedTuple):
    """The encryption key of one person, or of a chat, run or portal (see `find_key_owner`); `secret` is base64 of 32 bytes."""

    key_id: str
    secret: str


def generate_key() -> PersonKey:
    """Generate a random key with a unique id."""
    return PersonKey(secrets.token_urlsafe(6), _encode_text(secrets.token_bytes(32)))


@lru_cache(4096)
def find_key_owner(actor: str, session: str) -> str:
    """Return the owner of the key that encrypts a record: `actor` if it is a person ("tg:7"), else the chat, run or portal of `session`.

    This is the session's key up to its second colon: "tg:-100200300" for every topic of that group.
    """
    return actor if ":" in actor else ":".join(session.split(":", 2)[:2])


def compress_text(text: str) -> bytes:
    """Compress `text` for encryption."""
    raw = text.encode()
    if len(raw) < _SHORTEST:
        return _PLAIN + raw
    packer = _packer.copy()
    return _DEFLATED + packer.compress(raw) + packer.flush()


def encrypt(key: PersonKey, content: bytes, place: str) -> str:
    """Return "<key id>.<ciphertext>" for `content`, bound to the record that `place` names. Each call gives a different ciphertext."""
    nonce = os.urandom(_NONCE)
    return f"{key.key_id}.{_encode_text(nonce + _build_cipher(key.secret).encrypt(nonce, content, place.encode()))}"


def parse_key_id(text: str) -> str:
    """Return the id of the key that decrypts `text`."""
    return text.partition(".")[0]


def decrypt(secret: str, text: str, place: str) -> str:
    """Decrypt and decompress `text`. Raises DamagedCiphertext if it was encrypted with another key or for another record than `place`."""
    try:
        raw = a2b_base64(text.partition(".")[2], strict_mode=True)
        content = _build_cipher(secret).decrypt(raw[:_NONCE], raw[_NONCE:], place.encode())
    except (InvalidTag, NotBase64, ValueError) as error:
        raise DamagedCiphertext(f"the sealed text of {place} was changed, or belongs elsewhere") from error
    return _unpack(content, place)


def _unpack(content: bytes, place: str) -> str:
    match content[:1]:
        case b"\x00":
            return content[1:].decode()
        case b"\x01":
            unpacker = zlib.decompressobj(_WINDOW, _DICTIONARY)
            text = unpacker.decompress(content[1:])
            return (text if unpacker.eof else text + unpacker.flush()).decode()
        case other:
            raise DamagedCiphertext(f"the sealed text of {place} is of a newer kind ({other.hex()})")


@lru_cache(256)  # expanding a key takes twice as long as encrypting with it
def _build_cipher(secret: str) -> AESGCM:
    return AESGCM(a2b_base64(secret))


def _encode_text(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).decode()
