"""Canonical JSON for what is stored, hashed or signed; refuses what two parsers could read differently."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

MAX_SAFE: Final = 2**53 - 1
_LONGEST_SAFE = len(str(-MAX_SAFE))
_strict = json.JSONEncoder(allow_nan=False, check_circular=False).encode
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


class NotCanonical(ValueError):
    pass


def dumps(value: Any) -> str:
    """Encode with sorted keys. Raises NotCanonical for NaN, infinity, large integers, NUL and lone surrogates."""
    try:
        text = orjson.dumps(value, option=_OPTIONS).decode()
    except (TypeError, orjson.JSONEncodeError) as error:
        raise NotCanonical(str(error)) from error
    # orjson refuses the other invalid values itself; it accepts NUL and writes NaN as null, so only such texts need the slow check.
    if "\\u0000" in text or ("null" in text and not _only_none(value, text)):
        check(value)
    return text


def _only_none(value: Any, text: str) -> bool:
    """Whether every null stands for None, not NaN; False also if this quick test cannot tell."""
    if type(value) is dict and text.count("null") == [*value.values()].count(None):
        return True  # an event with an empty field: each None writes one null, so there is no other
    try:
        _strict(value)
    except (ValueError, TypeError):
        return False
    return True


loads: Final = orjson.loads


def _read_integer(digits: str) -> int | str:
    number = int(digits) if len(digits) <= _LONGEST_SAFE else MAX_SAFE + 1
    return number if abs(number) <= MAX_SAFE else digits


def _read_fraction(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        msg = f"{digits} is no number that JSON parsers read alike"
        raise ValueError(msg)
    return number


FOREIGN_JSON: Final = json.JSONDecoder(parse_int=_read_integer, parse_float=_read_fraction, parse_constant=_read_fraction)
"""Parses JSON of a model or person; an integer that others would round becomes text.

Raises ValueError, also for NaN and 1e999, and RecursionError; lets NUL through.
"""


def hash_text(text: str) -> str:
    """Return the hex SHA-256 of the UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


def check(value: Any) -> None:
    """Raises NotCanonical."""
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


def check_depth(value: Any, most: int) -> None:
    """Raises NotCanonical."""
    level = [value]
    for _ in range(most + 1):
        level = [one for one in level if isinstance(one, dict | list | tuple)]
        if not level:
            return
        level = [below for one in level for below in (one.values() if isinstance(one, dict) else one)]
    raise NotCanonical(f"data nested deeper than {most} levels")


def _check_leaf(item: object) -> None:
    match item:
        case None | bool():
            return
        case str():
            _check_text(item)
        case int():
            if abs(item) > MAX_SAFE:
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


def map_leaves(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Everything that is no object and no list."""
    if isinstance(tree, Mapping):
        return {key: map_leaves(one, change) for key, one in tree.items()}
    return [map_leaves(one, change) for one in tree] if isinstance(tree, list) else change(tree)


def to_storable_text(text: str) -> str:
    return text.replace("\x00", "�").encode("utf-8", "replace").decode()


def to_storable(value: Any) -> Any:
    """Turn everything that `dumps` refuses into text."""
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
        case int() if abs(value) <= MAX_SAFE:
            return value
        case float() if math.isfinite(value):
            return value
        case _:
            return to_storable_text(str(value))
