"""The words of the page, read from data files: its texts in both languages, and the words for each call of the portal."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sandbox.telegram.wire import JsonObject

LANGUAGES = ("ru", "en")
_HERE = Path(__file__).parent


@cache
def load_texts(language: str) -> JsonObject:
    """Return the texts of the page in one of LANGUAGES."""
    texts: JsonObject = _read("texts", f"{language}.yaml")
    return texts


@cache
def load_tour(language: str) -> list[JsonObject]:
    """Return the scenes of the tour with their texts in one of LANGUAGES."""
    scenes: list[JsonObject] = [_translate(scene, language) for scene in _read("tour.yaml")["tour"]]
    return scenes


def describe_call(method: str, params: object) -> JsonObject:
    """Return the words for a call of the portal, as keys of `calls` in the page's texts: `kind` (of record) and `verb`.

    The result also has `number`, the number of the record, or None if the call has none.
    """
    table = _load_calls()
    given = params if isinstance(params, Mapping) else {}
    name = method.lower()
    if name.startswith("crm.item."):
        name = name.replace("crm.item", table["types"].get(_to_number(given.get("entityTypeId")), "crm.item"), 1)
    starts = [start for start in table["kinds"] if name == start or name.startswith(f"{start}.")]
    verb = table["verbs"].get(name.rpartition(".")[2], "other")
    forms = table["kinds"][max(starts, key=len)] if starts else {"one": "other", "many": "other"}
    number = next((found for key in table["numbers"] if (found := _to_number(given.get(key))) is not None), None)
    return {"kind": forms["many" if verb in table["many"] else "one"], "verb": verb, "number": number}


@cache
def _load_calls() -> Any:
    return _read("calls.yaml")


def _read(*path: str) -> Any:
    return yaml.safe_load(_HERE.joinpath(*path).read_text(encoding="utf-8"))


def _translate(value: Any, language: str) -> Any:
    """Return a value of the tour with every {ru: …, en: …} replaced by the text of the language."""
    if isinstance(value, dict) and set(value) == set(LANGUAGES):
        return value[language]
    if isinstance(value, dict):
        return {key: _translate(inner, language) for key, inner in value.items()}
    if isinstance(value, list):
        return [_translate(inner, language) for inner in value]
    return value


def _to_number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() else None
