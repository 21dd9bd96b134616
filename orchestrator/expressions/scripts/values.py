"""Takes only bounded JSON data: a script may return a list that holds itself."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

MAX_DEPTH: Final = 100
_MAX_SAFE: Final = 2**53 - 1
_NO_DATA: Final = re.compile(r"<(?:coroutine|function|class|bound method|generator) .*>|range\(.*\)", re.DOTALL)
"""Not to be handed out."""
_CYCLES: Final = frozenset({"[...]", "{...}", "(...)"})
"""The sandbox writes them for a value inside of itself."""


_SUSPICIOUS: Final = frozenset("<r[{(")
_MOST_DOUBTFUL: Final = 50
"""Different texts that look like the sandbox's own and are looked up."""


class NotData(ValueError):
    """The value is no JSON data, or too large."""


def take_data(value: Any, *, most_values: int, most_signs: int, is_known: Callable[[str], bool] = lambda _: True) -> Any:
    """Lists in place of tuples. Raises NotData.

    `is_known` is asked about texts that look like the sandbox's spelling of a function or a cycle.
    """
    texts: list[str] = []
    todo: list[tuple[Any, Any, int]] = []
    values = 0
    copied = _take_one(value, texts, todo, 0)
    while todo:
        item, copy, depth = todo.pop()
        values += len(item)
        if values > most_values:
            raise NotData(f"more than {most_values} values")
        if depth > MAX_DEPTH:
            raise NotData(f"nested deeper than {MAX_DEPTH} levels, or in itself")
        if isinstance(copy, list):
            copy.extend([_take_one(below, texts, todo, depth) for below in item])
        else:
            for name, below in item.items():
                if type(name) is not str:
                    raise NotData(f"the key {_show_key(name)} of an object is no text")
                texts.append(name)
                if type(below) is str:  # the usual value; the call would take longer than the rest
                    texts.append(below)
                    copy[name] = below
                else:
                    copy[name] = _take_one(below, texts, todo, depth)
    if sum(map(len, texts)) > most_signs:
        raise NotData(f"more than {most_signs} characters")
    _check_texts(texts, is_known)
    return copied


def _show_key(key: object) -> str:
    try:
        return repr(key)[:100]
    except (ValueError, RecursionError):  # an integer of thousands of digits, or what is nested too deep
        return f"of the type {type(key).__name__}"


def _take_one(item: Any, texts: list[str], todo: list[tuple[Any, Any, int]], depth: int) -> Any:
    """What it holds goes to `todo`, texts to `texts`."""
    kind = type(item)
    if kind is str:
        texts.append(item)
    elif kind is int:
        if not -_MAX_SAFE <= item <= _MAX_SAFE:
            raise NotData("an integer beyond 2^53")
    elif kind is float:
        if not math.isfinite(item):
            raise NotData("NaN or infinity")
    elif kind is dict or isinstance(item, list | tuple):
        copy: Any = {} if kind is dict else []
        todo.append((item, copy, depth + 1))
        return copy
    elif item is not None and kind is not bool:
        raise NotData(f"a value of the type {kind.__name__}")
    return item


def _check_texts(texts: list[str], is_known: Callable[[str], bool]) -> None:
    joined = "\n".join(texts)
    if "\x00" in joined:
        raise NotData("NUL in a text")
    try:
        joined.encode()
    except UnicodeEncodeError as error:
        raise NotData("half of a character in a text") from error
    doubtful = {text for text in texts if text[:1] in _SUSPICIOUS and (text in _CYCLES or _NO_DATA.fullmatch(text))}
    if len(doubtful) > _MOST_DOUBTFUL:
        raise NotData(f"more than {_MOST_DOUBTFUL} texts that look like functions or classes")
    for text in sorted(doubtful):
        if is_known(text):
            continue
        if text in _CYCLES:
            raise NotData("a value that holds itself")
        raise NotData(f"{text[:100]}: a function that is not called, a call without await, or a class")


def list_texts(tree: Any) -> Iterator[str]:
    """Also the keys."""
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
