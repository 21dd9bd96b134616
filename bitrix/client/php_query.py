"""Parses query strings of batch commands as the portal's PHP does, so that the gate decides about what the portal sees."""

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from bitrix.errors import QueryError

MAX_LENGTH = 262_144
MAX_PAIRS = 1000  # PHP's max_input_vars: it drops the rest
MAX_DEPTH = 16
_INTEGER_KEY = re.compile(r"0|[1-9][0-9]{0,17}")
_PHP_BLANK = frozenset(" \t\n\r\v\f")
_RENAMED = str.maketrans(". ", "__")
_APPEND = ""


class _Array(dict[str, Any]):
    next_index = 0


def parse(query: str) -> dict[str, Any]:
    """Raises `QueryError` where PHP would guess: broken brackets, NUL, not UTF-8, deep nesting."""
    if len(query) > MAX_LENGTH:
        raise QueryError(f"longer than {MAX_LENGTH} characters")
    pairs = [pair for pair in query.split("&") if pair]
    if len(pairs) > MAX_PAIRS:
        raise QueryError(f"more than {MAX_PAIRS} parameters")
    root = _Array()
    for pair in pairs:
        name, _, value = pair.partition("=")
        _store(root, _parse_path(_decode(name)), _decode(value))
    return {key: _to_list(value) for key, value in root.items()}


def build(params: Mapping[str, Any]) -> str:
    """One fixed spelling. True and False become 1 and 0, None an empty value, an empty list or map `name[]=`. Raises `QueryError`."""
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in _list_pairs(params))


def _decode(text: str) -> str:
    try:
        plain = unquote_to_bytes(text.replace("+", " ")).decode("utf-8")
    except UnicodeError:
        raise QueryError("text that is not UTF-8") from None
    if "\x00" in plain:
        raise QueryError("a NUL character")
    return plain


def _parse_path(name: str) -> list[str]:
    """`filter[a][]` gives ["filter", "a", ""]."""
    top, bracket, rest = name.lstrip(" ").partition("[")
    if not top:
        raise QueryError("a parameter without a name")
    if "]" in top:
        raise QueryError(f"a bracket that was never opened in {name!r}")
    path = [top.translate(_RENAMED)]
    if not bracket:
        return path
    if not rest.endswith("]"):
        raise QueryError(f"broken brackets in {name!r}")
    for key in rest[:-1].split("]["):
        if "[" in key or "]" in key:
            raise QueryError(f"broken brackets in {name!r}")
        path.append(_APPEND if key in _PHP_BLANK else key)
    if len(path) > MAX_DEPTH:
        raise QueryError(f"nested deeper than {MAX_DEPTH}")
    return path


def _store(root: _Array, path: list[str], value: str) -> None:
    array = root
    for key in path[:-1]:
        slot = _pick_slot(array, key)
        if not isinstance(array.get(slot), _Array):
            array[slot] = _Array()
        array = array[slot]
    array[_pick_slot(array, path[-1])] = value


def _pick_slot(array: _Array, key: str) -> str:
    if key == _APPEND:
        key = str(array.next_index)
    if _INTEGER_KEY.fullmatch(key):
        array.next_index = max(array.next_index, int(key) + 1)
    return key


def _to_list(value: Any) -> Any:
    if not isinstance(value, _Array):
        return value
    items = {key: _to_list(item) for key, item in value.items()}
    if list(items) == [str(index) for index in range(len(items))]:
        return list(items.values())
    return items


def _list_pairs(params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in params.items():
        if not isinstance(name, str) or not name or set(name) & set(" .[]\x00"):
            raise QueryError(f"a parameter name that PHP would change: {name!r}")
        yield from _flatten(_quote(name), value, depth=1)


def _flatten(prefix: str, value: Any, *, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        items = [(_format_key(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        items = [(str(index), item) for index, item in enumerate(value)]
    else:
        yield prefix, _format_scalar(value)
        return
    if depth >= MAX_DEPTH:
        raise QueryError(f"nested deeper than {MAX_DEPTH}")
    if not items:
        yield f"{prefix}[]", ""
    for key, item in items:
        yield from _flatten(f"{prefix}[{key}]", item, depth=depth + 1)


def _format_key(key: Any) -> str:
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise QueryError(f"a key that is neither text nor a number: {key!r}")
    text = str(key)
    if not text or text in _PHP_BLANK or set(text) & set("[]\x00"):
        raise QueryError(f"a key that PHP would change: {text!r}")
    return _quote(text)


def _format_scalar(value: Any) -> str:
    match value:
        case None | False:
            text = "" if value is None else "0"
        case True:
            text = "1"
        case str():
            text = value
        case int():
            text = str(value)
        case float() if math.isfinite(value):
            text = format(Decimal(repr(value)), "f")
        case Decimal() if value.is_finite():
            text = format(value, "f")
        case _:
            raise QueryError(f"a value that a query string cannot carry: {type(value).__name__}")
    _quote(text)
    return text


def _quote(text: str) -> str:
    if "\x00" in text:
        raise QueryError("a NUL character")
    try:
        return quote(text, safe="")
    except UnicodeError:
        raise QueryError("text that is not UTF-8") from None
