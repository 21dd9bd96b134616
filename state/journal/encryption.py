"""Encrypts personal data with one key per person (ADR 13): without the key it is unreadable.

AES-256-GCM over compressed JSON, bound to the record's place.
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
ERASED = ""

_NONCE = 12
_SHORTEST = 48
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
"""Only copied: loading the dictionary costs more than compressing."""


class DamagedCiphertext(StoreError):
    """The ciphertext was changed, or is in another record than its own."""


class PersonKey(NamedTuple):
    """The key of a person, chat, run or portal; `secret` is base64 of 32 bytes."""

    key_id: str
    secret: str


def generate_key() -> PersonKey:
    return PersonKey(secrets.token_urlsafe(6), _encode_text(secrets.token_bytes(32)))


@lru_cache(4096)
def find_key_owner(actor: str, session: str) -> str:
    """Return `actor` if it is a person ("tg:7"), else the chat, run or portal of the session."""
    return actor if ":" in actor else ":".join(session.split(":", 2)[:2])


def compress_text(text: str) -> bytes:
    raw = text.encode()
    if len(raw) < _SHORTEST:
        return _PLAIN + raw
    packer = _packer.copy()
    return _DEFLATED + packer.compress(raw) + packer.flush()


def encrypt(key: PersonKey, content: bytes, place: str) -> str:
    """Return "<key id>.<ciphertext>", bound to the record `place`."""
    nonce = os.urandom(_NONCE)
    return f"{key.key_id}.{_encode_text(nonce + _build_cipher(key.secret).encrypt(nonce, content, place.encode()))}"


def parse_key_id(text: str) -> str:
    return text.partition(".")[0]


def decrypt(secret: str, text: str, place: str) -> str:
    """Raises DamagedCiphertext for another key or record."""
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
