"""Sandbox portal, PHP bracket syntax: converts parameters such as `a[b][]=1` to nested values and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote_plus

_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
_TOP_NAME = str.maketrans({" ": "_", ".": "_"})
_MAX_DEPTH = 64


def parse_query(text: str) -> dict[str, Any]:
    """Return the parameters of a URL query string, nested as by PHP. A later parameter replaces an earlier one of the same name."""
    pairs: list[tuple[str, Any]] = []
    for piece in text.split("&"):
        name, _, value = piece.partition("=")
        if name:
            pairs.append((unquote_plus(name), unquote_plus(value)))
    return from_pairs(pairs)


def from_pairs(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Build nested parameters from decoded pairs such as (`a[b]`, `1`). A map with the keys 0..n-1 becomes a list."""
    root: dict[str, Any] = {}
    for name, value in pairs:
        path = _path(name)
        if path:
            _assign(root, path, value)
    return {key: as_php_value(value) for key, value in root.items()}


def as_php_value(value: Any) -> Any:
    """Return the value with maps that have the keys 0..n-1 as lists, at every level; PHP does not distinguish the two."""
    if isinstance(value, list):
        return [as_php_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    plain = {str(key): as_php_value(item) for key, item in value.items()}
    if plain and list(plain) == [str(index) for index in range(len(plain))]:
        return list(plain.values())
    return plain


def to_pairs(value: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield a nested value as flat pairs: with the prefix `a`, {"b": 1} gives (`a[b]`, `1`)."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from to_pairs(item, f"{prefix}[{key}]" if prefix else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from to_pairs(item, f"{prefix}[{index}]")
    else:
        yield prefix, "" if value is None else str(value)


def _path(name: str) -> list[str]:
    """Return the keys in a parameter's name, as PHP reads it: `a`, `b`, `c` for `a[b][c]`.

    Text after a closing bracket is ignored. A bracket that is never closed is part of the name.
    """
    name = name.lstrip(" ")
    head, bracket, rest = name.partition("[")
    if not head:
        return []
    path = [head.translate(_TOP_NAME)]
    if not bracket:
        return path
    if "]" not in rest:
        return [f"{head}_{rest}".translate(_TOP_NAME)]
    while bracket and len(path) < _MAX_DEPTH:
        step, closed, rest = rest.partition("]")
        if not closed:
            break
        path.append(step)
        if not rest.startswith("["):
            break
        rest = rest[1:]
    return path


def _assign(root: dict[str, Any], path: list[str], value: Any) -> None:
    node = root
    for position, step in enumerate(path):
        key = step if step or position == 0 else _next_index(node)
        if position == len(path) - 1:
            node[key] = value
            return
        if not isinstance(node.get(key), dict):
            node[key] = {}
        node = node[key]


def _next_index(node: dict[str, Any]) -> str:
    taken = [int(key) for key in node if _INTEGER.fullmatch(key)]
    return str(max(taken, default=-1) + 1)
