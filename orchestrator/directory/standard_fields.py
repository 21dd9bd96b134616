"""The fields that every portal has before anybody changes it."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from bitrix.catalogue.names import CRM, to_universal
from orchestrator.directory.reference_data import Field
from orchestrator.language.lexicon import load_lexicon

_LEXICON: Final = load_lexicon("standard_portal")
_ONLY_ITEMS: Final = "items"


def list_standard_fields(name: str) -> Mapping[str, Field]:
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
        for code in ways[way].split() if in_items or way != _ONLY_ITEMS else ():
            book = books_by_code.get(code, "")
            options = {"type": "crm_status" if book else "", "status_entity_id": book, "read_only": way == "given"}
            yield Field(code=to_universal(code, kind) if in_items else code, title="", upper_name=code if in_items else "", **options)
