"""What every portal has before anybody changes it."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from bitrix.catalogue.names import CRM, is_custom_field, to_universal
from orchestrator.directory.reference_data import Field
from orchestrator.language.lexicon import load_lexicon

_LEXICON: Final = load_lexicon("standard_portal")
_GENERATED: Final = re.compile(r"UC_[A-Z0-9]+|[0-9]+", re.ASCII)
"""A code that the portal makes for an added entry."""
_FUNNEL: Final = re.compile(r"(?:C[0-9]+|DT[0-9]+_[0-9]+):", re.ASCII)
"""Of a stage in another than the first funnel."""
_OWN_OF_TASK: Final = re.compile(r"UF_[A-Z0-9_]+", re.ASCII)
"""Tasks have UF_AUTO_… without a name."""
_OWN_LINK: Final = re.compile(r"parent_?id_?[0-9]+", re.ASCII | re.IGNORECASE)


def is_own_field(name: str, list_name: str) -> bool:
    """People of the portal made it; `list_name` as in `list_fields`."""
    own = _OWN_OF_TASK.fullmatch(name) is not None if list_name == "task" else is_custom_field(name)
    return own or _OWN_LINK.fullmatch(name) is not None


def is_own_value(value: str) -> bool:
    return _GENERATED.fullmatch(drop_funnel(value)) is not None


def drop_funnel(stage: str) -> str:
    """Return NEW for C5:NEW."""
    return _FUNNEL.sub("", stage.strip(), count=1)


def list_fields(name: str) -> Mapping[str, Field]:
    """Names are "deal", "item:2", "task"; none for a portal's own kinds."""
    family, _, number = name.partition(":")
    kind = CRM.get(int(number), "") if family == "item" and number.isascii() and number.isdecimal() else family
    return _list_fields(kind, in_items=family == "item")


@cache
def _list_fields(kind: str, *, in_items: bool) -> Mapping[str, Field]:
    if kind not in _LEXICON.read_names("fields"):
        return {}
    return {field.code: field for field in _build_fields(kind, in_items=in_items)}


def _build_fields(kind: str, *, in_items: bool) -> Iterator[Field]:
    books_by_code = _LEXICON.read_table("listed", kind) if kind in _LEXICON.read_names("listed") else {}
    ways = _LEXICON.read_table("fields", kind)
    for way in sorted(ways):  # `given` first: of two that have one name among items, such as both stages of a lead, the written one counts
        for code in ways[way].split():
            book = books_by_code.get(code, "")
            options = {"type": "crm_status" if book else "", "status_entity_id": book, "read_only": way == "given"}
            yield Field(code=to_universal(code, kind) if in_items else code, title="", upper_name=code if in_items else "", **options)


@cache
def list_values() -> Mapping[str, Mapping[str, str]]:
    """Also stages of first funnels, named as the gate names lists."""
    books = {f"statuses:{book}": entries.split() for book, entries in _LEXICON.read_table("lists").items()}
    stages = {f"stages:{kind}:{number}": codes.split() for kind, codes in _LEXICON.read_table("stages").items() for number in ("", "0")}
    return {name: dict(zip(codes, codes, strict=True)) for name, codes in {**books, **stages}.items()}
