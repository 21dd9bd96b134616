"""Resolves "@field:Площадка" to a code and "@option:Север" to an id. A reference to a field may also be a key: {">=@field:Бюджет": 100}."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from bitrix.catalogue import names
from bitrix.catalogue.names import CRM
from orchestrator.directory import ranking
from orchestrator.directory.answers import Ambiguous, Option, Resolution, Resolved, Unresolved, build_choice, to_number
from orchestrator.directory.date_places import split_operator
from orchestrator.directory.naming import Naming, pick_field
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.reference_data import Field, to_own_kind
from orchestrator.directory.value_references import find_fields
from orchestrator.domain.outputs import Notice
from orchestrator.language.text import to_visible_line
from state.stored import JsonObject

_FIELD_KEY: Final = re.compile(r"([^\w@\s]{0,3})(@field:\S.*)", re.DOTALL)
_SHOWN: Final = 20
_BEYOND_TITLES: Final = 10**15
"""No title that is a number («3») counts as the number of a candidate."""


@dataclass(frozen=True, kw_only=True)
class _Words:
    which: str
    nearest: str
    missing: str
    thing: str


_FIELD: Final = _Words(which="which-field", nearest="nearest-field", missing="field-not-found", thing="field")
_OPTION: Final = _Words(which="which-option", nearest="nearest-option", missing="option-not-found", thing="option")


class FieldReferences:
    """May raise BitrixError."""

    def __init__(self, reads: PortalReader, naming: Naming) -> None:
        self._reads = reads
        self._naming = naming

    async def resolve_field(self, words: str, method: str, params: JsonObject) -> Resolution:
        """In the spelling of the method: UF_CRM_PLACE, or ufCrmPlace for crm.item.*."""
        kind = self._find_kind(method, params)
        if not kind:
            return _refuse(_FIELD, words, (), f"{method} has no fields of records")

        def list_titles(fields: Mapping[str, Field]) -> list[tuple[str, str]]:
            return [(code, title) for code, field in fields.items() for title in self._list_titles(kind, code, field)]

        def has(fields: Mapping[str, Field]) -> bool:
            return words in fields or not isinstance(_match(words, list_titles(fields)), ranking.NoMatch)

        fields = await self._reads.reference.load_fields(kind, has=has)
        if words in fields:
            return Resolved(value=words, named_by_person=True)
        labels = {code: f"{to_visible_line(field.title, limit=60) or code} ({code})" for code, field in fields.items()}
        return _choose(_FIELD, words, list_titles(fields), labels)

    async def resolve_option(self, words: str, reference: str, method: str, params: JsonObject) -> Resolution:
        names_of_fields = {split_operator(one)[1] for one in find_fields(reference, params)}
        kind = self._find_kind(method, params)
        if len(names_of_fields) != 1 or not kind:
            detail = f"{reference!r} stands in {len(names_of_fields)} fields: write it as the value of one list field"
            return _refuse(_OPTION, words, (), detail)
        name = names_of_fields.pop()
        fields = await self._reads.reference.load_fields(
            kind, has=lambda fields: words in _list_own_options(pick_field(fields, name, to_own_kind(kind))).values()
        )
        field = pick_field(fields, name, to_own_kind(kind))
        options = await self._load_options(field)
        if not options:
            return _refuse(_OPTION, words, (), f"{name} is no list field of {kind}: it has no options")
        labels = {number: to_visible_line(title, limit=60) or number for number, title in options.items()}
        return _choose(_OPTION, words, list(options.items()), labels)

    async def _load_options(self, field: Field | None) -> Mapping[str, str]:
        """{} for other fields."""
        if field is not None and field.type == "crm_status" and field.status_entity_id:
            return {entry.id: entry.name for entry in await self._reads.reference.load_status_entries(field.status_entity_id)}
        return _list_own_options(field)

    def _find_kind(self, method: str, params: JsonObject) -> str:
        """In crm.item.* as "item:2"; "" for none."""
        spec = self._reads.catalogue.find(method)
        if spec is not None and spec.entity == "item":
            number = to_number(params.get("entityTypeId"))
            return f"item:{number}" if number else ""
        kind = spec.entity if spec is not None else ""
        return kind if kind in {*CRM.values(), "task"} else ""

    def _list_titles(self, kind: str, code: str, field: Field) -> Iterable[str]:
        """Of the portal, and of the catalogue for standard fields."""
        entity = self._reads.catalogue.entities[to_own_kind(kind).partition(":")[0]]
        known = entity.by_key.get(names.to_field_key(code, entity.name)) if not field.custom else None
        info = entity.fields[known] if known else None
        return [title for title in (field.title, *((info.ru, info.en) if info is not None else ())) if title]


def _list_own_options(field: Field | None) -> Mapping[str, str]:
    return field.choices if field is not None and field.type == "enumeration" else {}


def _match(words: str, titles: Sequence[tuple[str, str]]) -> ranking.Match[str]:
    """Several titles of one code are one match."""
    candidates = _build_candidates(titles)
    ranked = ranking.find_match(words, candidates, me=None, limit=len(candidates) or 1)
    if isinstance(ranked, ranking.SeveralMatches):
        unique = {candidate.item: candidate for candidate in reversed(ranked.candidates)}
        distinct = tuple(candidate for candidate in ranked.candidates if unique[candidate.item] is candidate)
        if len(distinct) == 1:
            return ranking.OneMatch(distinct[0])
        return ranking.SeveralMatches(distinct) if len(distinct) <= ranking.LIMIT else ranking.TooManyMatches(len(distinct))
    return ranked


def _build_candidates(titles: Sequence[tuple[str, str]]) -> list[ranking.Candidate[str]]:
    return [ranking.Candidate(id=_BEYOND_TITLES + number, title=title, item=code) for number, (code, title) in enumerate(titles)]


def _choose(kind: _Words, words: str, titles: Sequence[tuple[str, str]], labels: Mapping[str, str]) -> Resolution:
    ranked = _match(words, titles)
    match ranked:
        case ranking.OneMatch():
            return Resolved(value=ranked.found.item, label=labels[ranked.found.item], named_by_person=True)
        case ranking.SeveralMatches():
            options = tuple(Option(value=candidate.item, label=labels[candidate.item]) for candidate in ranked.candidates)
            return build_choice(Notice(code=kind.which, args={"name": words}), options)
        case ranking.NoMatch() if near := ranking.find_nearest(words, _build_candidates(titles), me=None):
            codes = dict.fromkeys(candidate.item for candidate in near)
            guesses = tuple(Option(value=code, label=labels[code]) for code in codes)
            return Ambiguous(ask=Notice(code=kind.nearest, args={"name": words}), options=guesses, is_guess=True)
        case ranking.NoMatch() | ranking.TooManyMatches():
            return _refuse(kind, words, tuple(dict.fromkeys(title for _, title in titles)), "")
        case _:
            assert_never(ranked)


def _refuse(kind: _Words, words: str, known: Sequence[str], detail: str) -> Unresolved:
    known_names = ", ".join([*(to_visible_line(one, limit=40) for one in known[:_SHOWN]), *(["…"] if len(known) > _SHOWN else [])])
    notice = Notice(code=kind.missing, args={"name": words, "known": known_names or "—"})
    return Unresolved(notice=notice, detail=detail or f"no single {kind.thing} is called {words!r}; there are: {known_names or 'none'}")


def find_key_reference(key: object) -> str:
    """Empty if the key is none."""
    match = _FIELD_KEY.fullmatch(key) if isinstance(key, str) else None
    return match[2] if match else ""


def replace_key(key: object, values: Mapping[str, object]) -> object:
    match = _FIELD_KEY.fullmatch(key) if isinstance(key, str) else None
    return f"{match[1]}{values[match[2]]}" if match and match[2] in values else key


def find_doubled_keys(value: object, values: Mapping[str, object]) -> str:
    """A key that would stand twice once references are replaced: one value would be lost without a word."""
    return next(_list_doubled(value, values), "")


def _list_doubled(value: object, values: Mapping[str, object]) -> Iterator[str]:
    if isinstance(value, Mapping):
        new_keys = [str(replace_key(key, values)) for key in value]
        yield from (key for number, key in enumerate(new_keys) if key in new_keys[:number])
        for item in value.values():
            yield from _list_doubled(item, values)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _list_doubled(item, values)
