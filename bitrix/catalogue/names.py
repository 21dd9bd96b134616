"""Names of fields in the classic spelling (UPPER_CASE) and the universal one (camelCase, in crm.item.*), and names of methods."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

CRM: Final = {1: "lead", 2: "deal", 3: "contact", 4: "company"}
"""The kinds that both method families know, by entityTypeId."""
MULTIFIELDS: Final = ("PHONE", "EMAIL", "WEB", "IM", "LINK")
"""Separate fields in the classic family, all under `fm` in the universal one."""
LINKS: Final = frozenset({"ufcrmtask", "crmfields", "ufcrmcalevent"})
"""Keys of fields that tie tasks and events to records, each written with the letter of its kind: D_481."""

_RECORDS: Final = frozenset({*CRM.values(), "item"})
_SHORT_KINDS: Final = {"l": "lead", "d": "deal", "c": "contact", "co": "company", "q": "item:7", "si": "item:31", "o": "item:14"}
_DYNAMIC_KIND: Final = re.compile(r"dynamic_([0-9]{1,9})|t([0-9a-f]{1,8})", re.ASCII)
_KIND_NUMBER: Final = re.compile(r"[0-9]{1,15}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class _Pair:
    classic: str
    universal: str
    kinds: frozenset[str] = frozenset()


_PAIRS: Final = (
    _Pair(classic="DATE_CREATE", universal="createdTime"),
    _Pair(classic="DATE_MODIFY", universal="updatedTime"),
    _Pair(classic="MODIFY_BY_ID", universal="updatedBy"),
    _Pair(classic="MOVED_BY_ID", universal="movedBy"),
    _Pair(classic="CREATED_BY_ID", universal="createdBy", kinds=_RECORDS),
    _Pair(classic="STATUS_ID", universal="stageId", kinds=frozenset({"lead"})),
    _Pair(classic="STATUS_SEMANTIC_ID", universal="stageSemanticId", kinds=frozenset({"lead"})),
    _Pair(classic="COMPANY_TYPE", universal="typeId", kinds=frozenset({"company"})),
)
_ONE_WAY: Final = {("item", "STATUS_ID"): "stageId"}
"""Names that callers use although that kind has no such field; `to_classic` never returns them."""

_OWN: Final = re.compile(r"UF_CRM_([A-Z0-9_]+)", re.ASCII)
_OWN_WORDS: Final = re.compile(r"([0-9]+)_([A-Z]+(?:_[A-Z]+)*)", re.ASCII)
_OWN_NUMBER: Final = re.compile(r"([0-9]+)_([0-9]+)", re.ASCII)
_CAMEL_KEPT: Final = re.compile(r"ufCrm_([A-Z0-9_]+)", re.ASCII)
_CAMEL_WORDS: Final = re.compile(r"ufCrm([0-9]+)((?:[A-Z][a-z]*)+)", re.ASCII)
_CAMEL_NUMBER: Final = re.compile(r"ufCrm([0-9]+)_([0-9]+)", re.ASCII)
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")
_BEFORE_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def to_universal(name: str, entity: str = "") -> str:
    if not is_classic(name):
        return name
    kind = _normalize_kind(entity)
    own = _OWN.fullmatch(name)
    if own is not None:
        return _custom_to_universal(own[1])
    pair = next((pair for pair in _list_pairs(kind) if pair.classic == name), None)
    if pair is not None:
        return pair.universal
    head, *tail = name.lower().split("_")
    return _ONE_WAY.get((kind, name)) or head + "".join(word.capitalize() for word in tail)


def to_classic(name: str, entity: str = "") -> str:
    if is_classic(name):
        return name
    own = _custom_to_classic(name)
    if own:
        return own
    pair = next((pair for pair in _list_pairs(_normalize_kind(entity)) if pair.universal == name), None)
    return pair.classic if pair is not None else _BEFORE_CAPITAL.sub("_", name).upper()


def is_classic(name: str) -> bool:
    return name == name.upper()


def is_custom_field(name: str) -> bool:
    return _OWN.fullmatch(name) is not None or (name[:5] == "ufCrm" and bool(_custom_to_classic(name)))


@lru_cache(maxsize=8192)
def to_field_key(name: str, entity: str = "") -> str:
    """A key that is equal for all spellings of a field. Some custom fields share one: compare by it, do not choose."""
    key = _flatten(name)
    pair = next((pair for pair in _list_pairs(_normalize_kind(entity)) if _flatten(pair.universal) == key), None)
    return _flatten(pair.classic) if pair is not None else key


def to_kind(code: str) -> str:
    """ "deal" for 2, D and DEAL, "item:177" for 177, dynamic_177 and Tb1."""
    text = code.strip().lower()
    dynamic = _DYNAMIC_KIND.fullmatch(text)
    if dynamic is not None:
        number = int(dynamic[1]) if dynamic[1] else int(dynamic[2], 16)
    elif _KIND_NUMBER.fullmatch(text):
        number = int(text)
    else:
        return _SHORT_KINDS.get(text, text)
    return CRM.get(number, f"item:{number}")


def find_kind_number(kind: str) -> int | None:
    number = kind.removeprefix("item:")
    if number != kind:
        return int(number)
    return next((known for known, name in CRM.items() if name == kind), None)


def list_origin_fields(*, in_items: bool) -> tuple[str, str]:
    return ("originatorId", "originId") if in_items else ("ORIGINATOR_ID", "ORIGIN_ID")


def _flatten(name: str) -> str:
    return name.replace("_", "").lower()


def _normalize_kind(entity: str) -> str:
    return entity.partition(":")[0]


@lru_cache(maxsize=64)
def _list_pairs(kind: str) -> tuple[_Pair, ...]:
    own = tuple(pair for pair in _PAIRS if kind in pair.kinds)
    return own + tuple(pair for pair in _PAIRS if not pair.kinds)


def _custom_to_universal(rest: str) -> str:
    """3_DIGIT gives ufCrm3Digit; a name that could not be converted back keeps all but its prefix."""
    words = _OWN_WORDS.fullmatch(rest)
    if words is not None:
        return f"ufCrm{words[1]}" + "".join(word.capitalize() for word in words[2].split("_"))
    number = _OWN_NUMBER.fullmatch(rest)
    return f"ufCrm{number[1]}_{number[2]}" if number is not None else f"ufCrm_{rest}"


def _custom_to_classic(name: str) -> str:
    plain, words, number = _CAMEL_KEPT.fullmatch(name), _CAMEL_WORDS.fullmatch(name), _CAMEL_NUMBER.fullmatch(name)
    if plain is not None:
        return f"UF_CRM_{plain[1]}"
    if words is not None:
        return f"UF_CRM_{words[1]}_" + _CAPITAL.sub("_", words[2]).upper()
    return f"UF_CRM_{number[1]}_{number[2]}" if number is not None else ""


# The portal answers the same method as `x.json`, `x/`, `/x` and `X`: only one plain spelling is accepted.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*", re.ASCII)
_SUFFIXES = (".json", ".xml")
_MAX_LENGTH = 100


def is_method_name(name: str) -> bool:
    """Words of Latin letters, digits and underscores joined by dots, without a suffix such as ".json"."""
    return len(name) <= _MAX_LENGTH and _NAME.fullmatch(name) is not None and not name.lower().endswith(_SUFFIXES)
