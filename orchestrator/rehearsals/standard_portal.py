"""What every portal has before anybody changes it, as the gate knows fields and values of a portal; for where none is connected."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from bitrix.catalogue.names import CRM, is_custom_field, to_universal
from orchestrator.directory.reference_data import Field
from orchestrator.language.lexicon import load_lexicon

_LEXICON: Final = load_lexicon("standard_portal")
_GENERATED: Final = re.compile(r"UC_[A-Z0-9]+|[0-9]+", re.ASCII)
"""A code that the portal makes for an entry which somebody adds to a list."""
_FUNNEL: Final = re.compile(r"(?:C[0-9]+|DT[0-9]+_[0-9]+):", re.ASCII)
"""What a stage begins with that is none of the first funnel."""
_OWN_OF_TASK: Final = re.compile(r"UF_[A-Z0-9_]+", re.ASCII)
"""The portal calls such a field of tasks UF_AUTO_… if nobody gives it a name."""
_OWN_LINK: Final = re.compile(r"parent_?id_?[0-9]+", re.ASCII | re.IGNORECASE)
"""The field that links a record to one of a smart process."""


def is_own_field(name: str, list_name: str) -> bool:
    """Return whether a field is one that the people of a portal made, so that only the portal knows it; `list_name` as in `list_fields`."""
    own = _OWN_OF_TASK.fullmatch(name) is not None if list_name == "task" else is_custom_field(name)
    return own or _OWN_LINK.fullmatch(name) is not None


def is_own_value(value: str) -> bool:
    """Return whether an entry of a list or a stage is one that the people of a portal made."""
    return _GENERATED.fullmatch(drop_funnel(value)) is not None


def drop_funnel(stage: str) -> str:
    """Return the code of a stage without its funnel: NEW for C5:NEW."""
    return _FUNNEL.sub("", stage.strip(), count=1)


def list_fields(name: str) -> Mapping[str, Field]:
    """Return the fields under the name of a list of fields ("deal", "item:2", "task"); none for kinds of a portal's own."""
    family, _, number = name.partition(":")
    kind = CRM.get(int(number), "") if family == "item" and number.isascii() and number.isdecimal() else family
    return _list_fields(kind, in_items=family == "item")


@cache
def _list_fields(kind: str, *, in_items: bool) -> Mapping[str, Field]:
    if kind not in _LEXICON.read_names("fields"):
        return {}
    return {field.code: field for field in _build_fields(kind, in_items=in_items)}


def _build_fields(kind: str, *, in_items: bool) -> Iterator[Field]:
    listed = _LEXICON.read_table("listed", kind) if kind in _LEXICON.read_names("listed") else {}
    ways = _LEXICON.read_table("fields", kind)
    for way in sorted(ways):  # `given` first: of two that have one name among items, such as both stages of a lead, the written one counts
        for code in ways[way].split():
            book = listed.get(code, "")
            told = {"type": "crm_status" if book else "", "status_entity_id": book, "read_only": way == "given"}
            yield Field(code=to_universal(code, kind) if in_items else code, title="", upper_name=code if in_items else "", **told)


@cache
def list_values() -> Mapping[str, Mapping[str, str]]:
    """Return the entries of all lists and the stages of first funnels, by the names under which the gate holds such lists."""
    books = {f"statuses:{book}": entries.split() for book, entries in _LEXICON.read_table("lists").items()}
    stages = {f"stages:{kind}:{number}": codes.split() for kind, codes in _LEXICON.read_table("stages").items() for number in ("", "0")}
    return {name: dict(zip(codes, codes, strict=True)) for name, codes in {**books, **stages}.items()}
