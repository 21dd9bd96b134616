"""The lists by which calls are judged: what every portal has before anybody changes it, and what the portal at hand says."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from bitrix.catalogue.names import is_custom_field, to_universal
from bitrix.errors import OutcomeUnknown, Refused
from orchestrator.directory.reference import Reference
from orchestrator.directory.reference_data import Field
from orchestrator.directory.standard_fields import list_standard_fields
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.param_kinds import WrittenValue
from orchestrator.gate.decide.field_checks import extract_names_to_check, find_list_name
from orchestrator.gate.decide.value_kinds import find_list_key, list_written_values, load_value_lists
from orchestrator.language.lexicon import load_lexicon
from orchestrator.rehearsals.call_sketch import OPEN_FIELD

_LEXICON: Final = load_lexicon("standard_portal")
_GENERATED: Final = re.compile(r"UC_[A-Z0-9]+|[0-9]+", re.ASCII)
"""A code that the portal makes for an added entry."""
_FUNNEL: Final = re.compile(r"(?:C[0-9]+|DT[0-9]+_[0-9]+):", re.ASCII)
"""Of a stage in another than the first funnel."""
_OWN_OF_TASK: Final = re.compile(r"UF_[A-Z0-9_]+", re.ASCII)
"""Tasks have UF_AUTO_… without a name."""
_OWN_LINK: Final = re.compile(r"parent_?id_?[0-9]+", re.ASCII | re.IGNORECASE)


def is_own_field(name: str, list_name: str) -> bool:
    """People of the portal made it; `list_name` as in `list_standard_fields`."""
    own = _OWN_OF_TASK.fullmatch(name) is not None if list_name == "task" else is_custom_field(name)
    return own or _OWN_LINK.fullmatch(name) is not None


def is_own_value(value: str) -> bool:
    return _GENERATED.fullmatch(drop_funnel(value)) is not None


def drop_funnel(stage: str) -> str:
    """Return NEW for C5:NEW."""
    return _FUNNEL.sub("", stage.strip(), count=1)


@cache
def list_values() -> Mapping[str, Mapping[str, str]]:
    """Also stages of first funnels, named as the gate names lists."""
    books = {f"statuses:{book}": entries.split() for book, entries in _LEXICON.read_table("lists").items()}
    stages = {f"stages:{kind}:{number}": codes.split() for kind, codes in _LEXICON.read_table("stages").items() for number in ("", "0")}
    return {name: dict(zip(codes, codes, strict=True)) for name, codes in {**books, **stages}.items()}


STAGED: Final = frozenset({"deal", "lead"})
"""Each of their stages is known."""
_OPEN_FIELDS: Final = {name: Field(code=name, title="") for name in (OPEN_FIELD, to_universal(OPEN_FIELD))}


@dataclass(frozen=True, kw_only=True)
class Lists:
    """`is_offline`: the fields are those of every portal."""

    facts: Facts
    stages: Mapping[str, str]
    is_offline: bool
    has_stages: bool = False
    is_silent: bool = False
    """A portal did not answer: what every portal has stands here."""

    def find_known(self, value: WrittenValue, call: Call) -> Mapping[str, str]:
        """Value → name."""
        words = value.param.words
        codes = words.codes if words is not None and value.kind == "code" else {}
        choices = value.field.choices if value.field is not None else {}
        entries = self.facts.value_lists.get(find_list_key(call, value, self.facts), {})
        return {**{code: code for code in codes.values()}, **choices, **entries, **(self.stages if value.kind == "stage" else {})}


def list_standard(call: Call) -> Lists:
    known, values = list_standard_fields(find_list_name(call)), list_values()
    return Lists(
        facts=_build_facts(call, known, values),
        stages=values.get(f"stages:{call.entity}:", {}) if call.written_fields else {},
        is_offline=True,
    )


def _build_facts(call: Call, known: Mapping[str, Field], values: Mapping[str, Mapping[str, str]]) -> Facts:
    return Facts(field_lists={find_list_name(call): {**known, **_OPEN_FIELDS}} if known else {}, value_lists=values)


async def ask_lists(call: Call, reference: Reference) -> Lists:
    """Raises BitrixError if something needed is not said."""
    name, names = find_list_name(call), frozenset(extract_names_to_check(call))
    known = await _load_fields(name, names, reference) if name and (names or call.spec.verb == "add") else {}
    facts = _build_facts(call, known or list_standard_fields(name), {})
    values = await load_value_lists(call, facts, reference)
    if any(key.startswith("statuses:") and key not in values for key in _list_keys(call, facts)):
        raise OutcomeUnknown("the portal does not tell of its lists")
    # the stages that the deals or leads which the call writes may have
    stages = await load_stages(call.entity, reference) if call.written_fields and call.entity in STAGED else {}
    return Lists(facts=replace(facts, value_lists=values), stages=stages, is_offline=not known, has_stages=True)


async def _load_fields(name: str, names: frozenset[str], reference: Reference) -> Mapping[str, Field]:
    """None for an unknown kind. Raises BitrixError."""
    family, _, number = name.partition(":")
    if family == "item" and not (number.isascii() and number.isdecimal()):  # a word, or what only a run knows
        return {}
    try:
        return await reference.load_fields(name, has=names.issubset)
    except Refused:
        return {}


def _list_keys(call: Call, facts: Facts) -> Iterator[str]:
    return (find_list_key(call, value, facts) for value in list_written_values(call, facts))


async def load_stages(entity: str, reference: Reference) -> Mapping[str, str]:
    """Raises BitrixError."""
    numbers = [row.id for row in await reference.load_categories(entity)] if entity == "deal" else []
    return {row.id: row.name for number in [None, *numbers] for row in await reference.load_stages(entity, number)}


async def load_entries(book: str, reference: Reference) -> Mapping[str, str]:
    """Value → name. Raises BitrixError."""
    return {row.id: row.name for row in await reference.load_status_entries(book)}
