"""Words for parameters, from data/language/card_*params.yaml. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from bitrix.catalogue.names import to_field_key
from orchestrator.domain.errors import SettingsError
from orchestrator.language.lexicon import load_lexicon, read_language_file
from orchestrator.language.text import Locale, format_number

_FILES: Final = ("card_params", "card_crm_params", "card_office_params")
_Row = tuple[str, ...]
_PROPERTY: Final = re.compile(r"PROPERTY_([0-9]{1,15})", re.ASCII)
_PROPERTY_WORDS: Final = load_lexicon("card_fields").read_titles("own_property")


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    choices: dict[str, dict[str, _Row]]
    common: dict[str, _Row]
    records: dict[str, dict[str, _Row]]
    methods: dict[str, dict[str, _Row]]


@dataclass(frozen=True, kw_only=True)
class ParamWords:
    """`kind` is one of the catalogue (money) or of the head of card_params.yaml (crm, read); `detail` follows it there."""

    names: Mapping[Locale, str]
    kind: str = ""
    detail: str = ""
    choices: Mapping[str, Mapping[Locale, str]] = field(default_factory=dict)
    """By value in lower case."""
    codes: Mapping[str, str] = field(default_factory=dict)


def find_param_words(method: str, entity: str, name: str) -> ParamWords | None:
    """For this method, or else for this kind of record."""
    key = to_field_key(name)
    for words in _list_tables(method):
        if key in words:
            return words[key]
    kind = entity.partition(":")[0] if ":" in entity else entity
    return _ALL.records[kind].get(key) if kind in _ALL.records else None


@lru_cache(maxsize=2048)  # as many as there are methods
def _list_tables(method: str) -> "tuple[_Words, ...]":
    lower = method.lower()
    prefixes = sorted((prefix for prefix in _ALL.methods if lower.startswith(prefix)), key=len, reverse=True)
    return tuple(_ALL.methods[prefix] for prefix in prefixes)


def find_common_words(name: str) -> ParamWords | None:
    own = _PROPERTY.fullmatch(name)
    if own is not None:
        return ParamWords(names={locale: f"{word} {format_number(own[1], locale)}" for locale, word in _PROPERTY_WORDS.items()})
    return _ALL.common.get(to_field_key(name))


_Words = Mapping[str, ParamWords]


@dataclass(frozen=True, kw_only=True)
class _AllWords:
    methods: Mapping[str, _Words]
    records: Mapping[str, _Words]
    common: _Words


def _load_words() -> _AllWords:
    """Raises SettingsError."""
    shared, crm, office = (read_language_file(name) for name in _FILES)
    try:
        content = _File.model_validate({**shared, "methods": {**crm, **office}})
        return _parse_file(content)
    except (ValidationError, KeyError, IndexError) as error:
        raise SettingsError(f"data/language/{', '.join(_FILES)}: {error}") from None


def _parse_file(content: _File) -> _AllWords:
    def parse(table: Mapping[str, _Row]) -> dict[str, ParamWords]:
        return {to_field_key(name): _parse_row(row, content.choices) for several, row in table.items() for name in several.split()}

    methods: dict[str, dict[str, ParamWords]] = {}
    for several, table in content.methods.items():
        for prefix in several.split():
            methods.setdefault(prefix.lower(), {}).update(parse(table))
    return _AllWords(
        methods=methods, records={entity: parse(table) for entity, table in content.records.items()}, common=parse(content.common)
    )


def _parse_row(row: _Row, choices: Mapping[str, Mapping[str, _Row]]) -> ParamWords:
    kind, _, detail = (row[2] if len(row) > 2 else "").partition(" ")  # noqa: PLR2004 - name, name, kind
    table = choices[detail] if kind == "choice" else {}
    return ParamWords(
        names=_to_titles(row),
        kind=kind,
        detail=detail,
        choices={code.lower(): _to_titles(words) for code, words in table.items()},
        codes={code.lower(): code for code in table},
    )


def _to_titles(row: _Row) -> Mapping[Locale, str]:
    return {"ru": row[0], "en": row[1]}


_ALL: Final = _load_words()
