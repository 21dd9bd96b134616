"""Where a tuum as it is written reads a local variable: in prompts, and in what scripts consume. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.documents.changing import ABSENT, find_value, remove_item, set_value
from orchestrator.domain.finding import Path

NOTHING_YET: Final = "…"
"""The text of a prompt that its author has not written."""
_PROMPTS: Final = "promptRunes"
_LISTS: Final = (_PROMPTS, "runes")
_MAIN: Final = "mainScript"
_TEMPLATE: Final = "template"
_CONSUMES: Final = "consumes"
Part = tuple[Path, Mapping[str, Any]]


def list_with_reader(entry: object, local: str) -> Iterator[object]:
    """The tuum with one more place that reads the variable, the best place first: what a person says to the model, the last such text."""
    place = f"{{{{{local}}}}}"
    prompts = list(_list_prompts(entry))
    for path, rune in sorted(prompts, key=lambda prompt: prompt[1].get("role", "User") == "User")[::-1]:
        template = rune[_TEMPLATE]
        text = place if template == NOTHING_YET else template if place in template else f"{template.rstrip()}\n{place}"
        yield set_value(entry, (*path, _TEMPLATE), text)
    for path, script in _list_scripts(entry):
        names = script.get(_CONSUMES, [])
        if isinstance(names, list):
            yield set_value(entry, (*path, _CONSUMES), [*names, *([local] if local not in names else [])])
    if not prompts and find_value(entry, ("aiService",)) is not ABSENT:
        runes = find_value(entry, (_PROMPTS,))
        yield set_value(entry, (_PROMPTS,), [*(runes if isinstance(runes, list) else []), {"runeType": "prompt", _TEMPLATE: place}])


def rename_in_prompts(entry: object, local: str, other: str) -> object:
    for path, rune in _list_prompts(entry):
        entry = set_value(entry, (*path, _TEMPLATE), _find_places(local).sub(rf"{{{{{other}\1}}}}", rune[_TEMPLATE]))
    return entry


def drop_local(entry: object, local: str) -> object:
    """Out of prompts, of which one that says nothing else goes, and from scripts that do not name it."""
    for path, rune in reversed(list(_list_prompts(entry))):
        lines = rune[_TEMPLATE].split("\n")
        left = [_find_places(local).sub("", line) for line in lines]
        text = "\n".join(after for line, after in zip(lines, left, strict=True) if after == line or after.strip())
        if text.strip():
            entry = set_value(entry, (*path, _TEMPLATE), text) if text != rune[_TEMPLATE] else entry
        else:
            entry = remove_item(entry, path[:-1], int(path[-1]))
    for path, script in _list_scripts(entry):
        names, source = script.get(_CONSUMES), script.get("source")
        if isinstance(names, list) and local in names and re.search(rf"\b{re.escape(local)}\b", str(source)) is None:
            entry = set_value(entry, (*path, _CONSUMES), [name for name in names if name != local])
    return entry


def _find_places(local: str) -> re.Pattern[str]:
    """Also of a part of its value, which is the group."""
    return re.compile(rf"(?<!\\)\{{\{{\s*{re.escape(local)}((?:[.\[][^{{}}]*)?)\s*\}}\}}", re.IGNORECASE)


def _list_prompts(entry: object) -> Iterator[Part]:
    for path, rune in _list_runes(entry, "prompt"):
        if isinstance(rune.get(_TEMPLATE), str):
            yield path, rune


def _list_scripts(entry: object) -> Iterator[Part]:
    main = find_value(entry, (_MAIN,))
    if isinstance(main, Mapping):
        yield (_MAIN,), main
    yield from _list_runes(entry, "script")


def _list_runes(entry: object, rune_type: str) -> Iterator[Part]:
    for name in _LISTS:
        runes = find_value(entry, (name,))
        for index, rune in enumerate(runes if isinstance(runes, list) else ()):
            if isinstance(rune, Mapping) and rune.get("runeType") == rune_type and rune.get("enabled") is not False:
                yield (name, index), rune
