"""Canonical JSON: what we store, hash and sign. Refuses everything that two parsers could read differently."""

import hashlib
import math
from typing import Any

import orjson

_MAX_SAFE = 2**53


class NotCanonical(ValueError):
    """The value cannot be written as canonical JSON."""


def dumps(value: Any) -> str:
    """`value` as UTF-8 JSON text with sorted keys; raises NotCanonical for NaN, large integers, NUL or lone surrogates."""
    check(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except (TypeError, orjson.JSONEncodeError) as error:
        raise NotCanonical(str(error)) from error


def loads(text: str | bytes) -> Any:
    """The value behind JSON text that we wrote."""
    return orjson.loads(text)


def sha256(text: str) -> str:
    """Hex SHA-256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


def check(value: Any) -> None:
    """Raise NotCanonical where `value` holds something that JSON readers disagree about (DESIGN §2)."""
    todo = [value]
    while todo:
        item = todo.pop()
        if item is None or item is True or item is False:
            continue
        if isinstance(item, str):
            _check_text(item)
        elif isinstance(item, int):
            if abs(item) > _MAX_SAFE:
                msg = f"an integer beyond 2^53: {item}"
                raise NotCanonical(msg)
        elif isinstance(item, float):
            if not math.isfinite(item):
                raise NotCanonical("NaN or infinity")
        elif isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    msg = f"a key that is no text: {key!r}"
                    raise NotCanonical(msg)
                _check_text(key)
            todo.extend(item.values())
        elif isinstance(item, (list, tuple)):
            todo.extend(item)
        else:
            msg = f"no JSON value: {type(item).__name__}"
            raise NotCanonical(msg)


def _check_text(text: str) -> None:
    if text.isascii():
        if "\x00" in text:
            raise NotCanonical("NUL in text")
        return
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise NotCanonical("NUL or a lone surrogate in text")


def clean_text(text: str) -> str:
    """`text` with NUL and lone surrogates replaced, so that a stranger's message can always be stored."""
    return text.replace("\x00", "�").encode("utf-8", "replace").decode()
