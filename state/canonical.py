"""Canonical JSON: what we store, hash and sign. Refuses everything that two parsers could read differently."""

import hashlib
import json
import math
from typing import Any

import orjson

_MAX_SAFE = 2**53 - 1
_strict = json.JSONEncoder(allow_nan=False, check_circular=False).encode
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


class NotCanonical(ValueError):
    """The value cannot be written as canonical JSON."""


def dumps(value: Any) -> str:
    """`value` as UTF-8 JSON text with sorted keys; raises NotCanonical for NaN, large integers, NUL or lone surrogates."""
    try:
        text = orjson.dumps(value, option=_OPTIONS).decode()
    except (TypeError, orjson.JSONEncodeError) as error:
        raise NotCanonical(str(error)) from error
    # orjson refuses the rest by itself; these two it lets through, so only where they may be is it worth to look.
    if "\\u0000" in text or ("null" in text and not _only_none(value)):
        check(value)
    return text


def _only_none(value: Any) -> bool:
    """Whether each null of what orjson took stands for None, and none for NaN or infinity; False where that takes a closer look."""
    try:
        _strict(value)
    except (ValueError, TypeError):
        return False
    return True


def loads(text: str | bytes) -> Any:
    """The value behind JSON text that we wrote."""
    return orjson.loads(text)


def hash_text(text: str) -> str:
    """Hex SHA-256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


def check(value: Any) -> None:
    """Raise NotCanonical where `value` holds something that JSON readers disagree about (DESIGN §2)."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    msg = f"a key that is no text: {key!r}"
                    raise NotCanonical(msg)
                _check_text(key)
            todo.extend(item.values())
        elif isinstance(item, (list, tuple)):
            todo.extend(item)
        else:
            _check_leaf(item)


def _check_leaf(item: object) -> None:
    match item:
        case None | bool():
            return
        case str():
            _check_text(item)
        case int():
            if abs(item) > _MAX_SAFE:
                msg = f"an integer beyond 2^53: {item}"
                raise NotCanonical(msg)
        case float():
            if not math.isfinite(item):
                raise NotCanonical("NaN or infinity")
        case _:
            msg = f"no JSON value: {type(item).__name__}"
            raise NotCanonical(msg)


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise NotCanonical("NUL in text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotCanonical("a lone surrogate in text") from error


def to_storable_text(text: str) -> str:
    """`text` with NUL and lone surrogates replaced, so that a stranger's message can always be stored."""
    return text.replace("\x00", "�").encode("utf-8", "replace").decode()


def to_storable(value: Any) -> Any:
    """`value` as it is, or with all that `dumps` refuses made text: an answer of a stranger must never stop its own record."""
    try:
        dumps(value)
    except NotCanonical:
        return _replace_unstorable(value)
    return value


def _replace_unstorable(value: Any) -> Any:
    match value:
        case dict():
            return {to_storable_text(str(key)): _replace_unstorable(item) for key, item in value.items()}
        case list() | tuple():
            return [_replace_unstorable(item) for item in value]
        case str():
            return to_storable_text(value)
        case None | bool():
            return value
        case int() if abs(value) <= _MAX_SAFE:
            return value
        case float() if math.isfinite(value):
            return value
        case _:
            return to_storable_text(str(value))
