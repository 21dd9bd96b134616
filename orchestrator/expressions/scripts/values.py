"""Takes from a script only what is JSON data of a bounded size: a script may return anything, also a list that holds itself."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

MAX_DEPTH: Final = 100
_MAX_SAFE: Final = 2**53 - 1
_NO_DATA: Final = re.compile(r"<(?:coroutine|function|class|bound method|generator) .*>|range\(.*\)", re.DOTALL)
"""How the sandbox spells what it cannot hand out."""
_CYCLES: Final = frozenset({"[...]", "{...}", "(...)"})
"""What the sandbox puts in place of a list or an object inside of itself."""


class NotData(ValueError):
    """The value is no JSON data, or too large."""


def take_data(value: Any, *, most_values: int, most_signs: int, is_known: Callable[[str], bool] = lambda _: True) -> Any:
    """Return a copy of what goes in or out of a script, with lists in place of tuples. Raises NotData if it is not JSON data or too large.

    `is_known` is asked about texts that look like the sandbox's spelling of a function or of a value that holds itself, which is no data.
    """
    copied: list[Any] = [None]
    todo: list[tuple[Any, Any, Any, int]] = [(value, copied, 0, 0)]
    left, values = most_signs, 0
    while todo:
        item, into, key, depth = todo.pop()
        values += 1
        if values > most_values or (isinstance(item, dict | list | tuple) and len(item) > most_values):
            raise NotData(f"more than {most_values} values")
        if depth > MAX_DEPTH:
            raise NotData(f"nested deeper than {MAX_DEPTH} levels, or in itself")
        if isinstance(item, dict):
            left -= _count_keys(item)
            copy: Any = dict.fromkeys(item)
            todo.extend((below, copy, name, depth + 1) for name, below in item.items())
        elif isinstance(item, list | tuple):
            copy = [None] * len(item)
            todo.extend((below, copy, number, depth + 1) for number, below in enumerate(item))
        else:
            copy = _take_leaf(item, is_known)
            left -= len(copy) if isinstance(copy, str) else 8
        if left < 0:
            raise NotData(f"more than {most_signs} characters")
        into[key] = copy
    return copied[0]


def _count_keys(item: dict[Any, Any]) -> int:
    signs = 0
    for key in item:
        if not isinstance(key, str):
            raise NotData(f"the key {key!r} of an object is no text"[:200])
        _check_text(key)
        signs += len(key)
    return signs


def _take_leaf(item: object, is_known: Callable[[str], bool]) -> str | int | float | bool | None:
    if item is None or isinstance(item, bool):
        return item
    if type(item) is int:
        if abs(item) > _MAX_SAFE:
            raise NotData("an integer beyond 2^53")
        return item
    if type(item) is float:
        if not math.isfinite(item):
            raise NotData("NaN or infinity")
        return item
    if type(item) is not str:
        raise NotData(f"a value of the type {type(item).__name__}")
    _check_text(item)
    if _NO_DATA.fullmatch(item) and not is_known(item):
        raise NotData(f"{item[:100]}: a function that is not called, a call without await, or a class")
    if item in _CYCLES and not is_known(item):
        raise NotData("a value that holds itself")
    return item


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise NotData("NUL in a text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotData("half of a character in a text") from error


def list_texts(tree: Any) -> Iterator[str]:
    """Yield the texts of JSON data, also the keys."""
    todo = [tree]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            todo.extend(item)
            todo.extend(item.values())
        elif isinstance(item, list | tuple):
            todo.extend(item)
