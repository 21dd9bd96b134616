"""JSON text with a SHA-256 inside, for values that the hash chain does not protect."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from state import canonical
from state.journal.store import StoreError

_MARK = '"~":"'
_END = '"}'
_HEX = frozenset("0123456789abcdef")
_DIGEST = 64
_TAIL = len(_MARK) + _DIGEST + len(_END)
_DIGEST_BEGINS, _DIGEST_ENDS = len(_MARK) - _TAIL, -len(_END)


class DamagedRow(StoreError):
    """The value must not be used."""


def encode_checksummed(place: str, value: Mapping[str, Any] | None) -> str | None:
    """The checksum also covers `place`, so a text copied into another row fails."""
    if value is None:
        return None
    text = canonical.dumps(value)[:-1]
    return f"{text}{_extract_body(text)}{_MARK}{_calculate_digest(place, text)}{_END}"


def decode_checksummed(place: str, text: str) -> Any:
    """Also reads texts without checksum. Raises DamagedRow."""
    mark, digest, end = text[-_TAIL:_DIGEST_BEGINS], text[_DIGEST_BEGINS:_DIGEST_ENDS], text[_DIGEST_ENDS:]
    if mark == _MARK:
        head = text[:-_TAIL].removesuffix(",")
        if text[:-_TAIL] == head + _extract_body(head) and (digest, end) == (_calculate_digest(place, head), _END):
            return canonical.loads(head + "}")
    elif len(digest) < _DIGEST or not _HEX.issuperset(digest):
        return _decode_unmarked(place, text)
    raise DamagedRow(f"{place} is not as it was written: its digest does not fit")


def _decode_unmarked(place: str, text: str) -> Any:
    try:
        return canonical.loads(text)
    except ValueError as error:
        raise DamagedRow(f"{place} is not as it was written: it is no JSON") from error


def _extract_body(head: str) -> str:
    return "" if head == "{" else ","


def _calculate_digest(place: str, head: str) -> str:
    return sha256(f"{place}\n{head}".encode()).hexdigest()
