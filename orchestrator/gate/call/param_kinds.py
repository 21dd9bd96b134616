"""Which kind of value a parameter or field takes. Pure.

Custom fields are described by the portal alone, which `gate/decide` asks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Entity, Method
from bitrix.client.batch import find_references
from orchestrator.directory.param_words import ParamWords, find_common_words, find_param_words
from orchestrator.directory.reference_data import Field
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import computed_once
from orchestrator.gate.call import fields
from orchestrator.language.lexicon import load_lexicon

ValueKind = Literal[
    "date", "datetime", "birthday", "own_date", "amount", "number", "quantity", "percent", "money", "duration", "user", "record", "kind",
    "crm", "stage", "category", "status", "choice", "code", "currency", "new_currency", "flag", "contacts", "rows", "reminder", "color",
    "zone", "email", "phone", "digits", "dialog", "access",
]  # fmt: skip
_DESCRIBED: Final[Mapping[str, ValueKind]] = {
    "date": "date",
    "datetime": "datetime",
    "money": "amount",
    "number": "number",
    "user": "user",
    "stage": "stage",
    "category": "category",
    "company": "record",
    "contact": "record",
    "flag": "flag",
    "multifield": "contacts",
}
_IN_WORDS: Final[Mapping[str, ValueKind]] = {
    "date": "date",
    "datetime": "datetime",
    "money": "amount",
    "user": "user",
    "kind": "kind",
    "crm": "crm",
    "seconds": "duration",
    "minutes": "duration",
    "reminder": "reminder",
    "dialog": "dialog",
    "access": "access",
    **dict.fromkeys(("id", "read", "record", "deal", "lead", "task", "activity", "company", "contact"), "record"),
}
_PARENT: Final = re.compile(r"parentid[0-9]{1,9}", re.ASCII)
_TEXTS: Final = frozenset({"text", "prose"})
_DATA: Final = load_lexicon("value_kinds")
_COMPLETE: Final = frozenset(_DATA.read_words("complete"))
_LISTS: Final = frozenset(_DATA.read_words("lists"))
_NEVER_EMPTY: Final = frozenset(_DATA.read_words("never_empty"))
EMPTY: Final[tuple[object, ...]] = (None, "", [], {})


@dataclass(frozen=True, kw_only=True)
class Span:
    """`last` must not lie before `first`; with `uses_record` the record's beginning counts too."""

    first: str
    last: str
    uses_record: bool


SPANS: Final = tuple(Span(first=row["first"], last=row["last"], uses_record=row["stored"] == "yes") for row in _DATA.read_rows("spans"))


def _parse_kinds(table: Mapping[str, str], where: str) -> Mapping[str, ValueKind]:
    known = {kind: kind for kind in get_args(ValueKind)}
    if table.keys() - known.keys():
        raise SettingsError(f"value_kinds.yaml: {where}: no kind {', '.join(sorted(table.keys() - known.keys()))}")
    return {key: known[kind] for kind, keys in table.items() for key in keys.split()}


_ALWAYS: Final = _parse_kinds(_DATA.read_table("always"), "always")
_OTHERWISE: Final = _parse_kinds(_DATA.read_table("otherwise"), "otherwise")
_BY_METHOD: Final = {name: _parse_kinds(_DATA.read_table("methods", name), name) for name in _DATA.read_names("methods")}


@dataclass(frozen=True, kw_only=True)
class Param:
    spec: Method
    entity: str
    info: Entity | None
    name: str

    @computed_once
    def code(self) -> str:
        return self.spec.stands_for.get(self.name, self.name)

    @computed_once
    def key(self) -> str:
        return fields.to_field_key(self.code, self.entity)

    @computed_once
    def words(self) -> ParamWords | None:
        return find_param_words(self.spec.name, self.entity, self.name) or find_common_words(self.name)


@dataclass(frozen=True, kw_only=True)
class WrittenValue:
    param: Param
    kind: ValueKind
    value: object
    field: Field | None = None

    @property
    def name(self) -> str:
        return self.param.name

    @computed_once
    def items(self) -> tuple[object, ...]:
        members = self.value.values() if isinstance(self.value, Mapping) else self.value if isinstance(self.value, list) else (self.value,)
        return tuple(item for item in members if item not in EMPTY and not find_references(item))


def find_described_kind(param: Param) -> ValueKind | None:
    """None for an undescribed field and for a choice."""
    key = param.key
    kind = _find_kinds_of_method(param.spec.name).get(key) or _ALWAYS.get(key)
    if kind is not None:
        return kind
    if key[:8] == "parentid" and _PARENT.fullmatch(key):
        return "record"
    info = fields.find_field_info(param.info, param.code)
    if info is None or info.kind == "enum":
        return None
    if info.kind == "number" and key.endswith("id"):
        return "record"
    return _DESCRIBED.get(info.kind)


@lru_cache(maxsize=2048)  # as many as there are methods
def _find_kinds_of_method(method: str) -> Mapping[str, ValueKind]:
    return next((kinds for prefix, kinds in _BY_METHOD.items() if method.startswith(prefix)), {})


def find_worded_kind(param: Param) -> ValueKind | None:
    """By the words of the cards, or else by the name alone."""
    words = param.words
    if words is not None and words.kind == "choice":
        return "flag" if words.detail == "flag" else "code"
    kind = _IN_WORDS.get(words.kind) if words is not None else None
    return kind or _OTHERWISE.get(param.key)


def find_kind(param: Param) -> ValueKind | None:
    described = find_described_kind(param)
    if described is not None:
        return described
    own = names.is_custom_field(param.code) and find_param_words(param.spec.name, param.entity, param.name) is None
    return None if own else find_worded_kind(param)


def may_be_empty(param: Param, kind: ValueKind) -> bool:
    """Whether an empty value means that the field is to be cleared."""
    return kind != "stage" and param.key not in _NEVER_EMPTY


def is_complete(words: ParamWords) -> bool:
    """Whether the codes with words are all that the portal knows."""
    return words.detail in _COMPLETE


def is_list(param: Param) -> bool:
    return param.key in _LISTS


def is_single(param: Param) -> bool:
    info = fields.find_field_info(param.info, param.code)
    return not is_list(param) and info is not None and info.kind not in _TEXTS
