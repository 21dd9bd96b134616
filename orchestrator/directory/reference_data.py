"""Defines the portal's reference data after parsing: stages, funnels, departments, fields, smart processes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bitrix.catalogue.names import CRM

Row = Mapping[str, Any]
_STAGE_FUNNEL: Final = re.compile(r"(?:C|DT[0-9]{1,9}_)([0-9]{1,9}):", re.ASCII)
_STAGE_ENTITY_IDS: Final = {"31": "SMART_INVOICE_STAGE", "36": "SMART_DOCUMENT_STAGE"}
_OWN_KINDS: Final = {str(number): kind for number, kind in CRM.items()}
QUOTE: Final = "item:7"
INVOICE: Final = "item:31"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage of a funnel, a status of leads, or an entry of another CRM status list."""

    id: str
    name: str
    sort: int


@dataclass(frozen=True, kw_only=True)
class Category:
    """A funnel of deals, of a smart process or of invoices."""

    id: int
    name: str
    default: bool


@dataclass(frozen=True, kw_only=True)
class Department:
    """A department; `parent` and `head` are 0 if it has none."""

    id: int
    name: str
    parent: int = 0
    head: int = 0


@dataclass(frozen=True, kw_only=True)
class SmartType:
    """A smart process: the number of `item:177`, and the portal's title for it."""

    id: int
    title: str


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field as the portal describes it. `title` is "" if the portal gives only the code."""

    code: str
    title: str
    type: str
    custom: bool = False
    multiple: bool = False
    required: bool = False
    read_only: bool = False
    immutable: bool = False
    upper_name: str = ""
    """Its name in the classic methods; only crm.item.fields gives it."""
    status_entity_id: str = ""
    """The status list of a crm_status field: SOURCE, DEAL_STAGE."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """The values of a list field: id → name."""
    settings: Mapping[str, Any] = field(default_factory=dict)


def to_own_kind(entity: str) -> str:
    """Return "deal" for "item:2": the four kinds with methods of their own are called by their own name."""
    family, _, number = entity.partition(":")
    return _OWN_KINDS.get(number, entity) if family == "item" else entity


def to_type_number(entity: str) -> int | None:
    """Return the entityTypeId of a kind of record, None if it has none."""
    family, _, number = entity.partition(":")
    if family == "item" and number.isascii() and number.isdecimal():
        return int(number)
    return next((int(number) for number, kind in _OWN_KINDS.items() if kind == entity), None)


def find_stage_entity_id(entity: str, category: int) -> str:
    """Return the ENTITY_ID of a funnel's stages, "" for kinds without stages."""
    kind = to_own_kind(entity)
    match kind:
        case "lead":
            return "STATUS"
        case "deal":
            return "DEAL_STAGE" if category == 0 else f"DEAL_STAGE_{category}"
        case "item:7" | "quote":
            return "QUOTE_STATUS"
    family, _, number = kind.partition(":")
    if family != "item" or not number:
        return ""
    return f"{_STAGE_ENTITY_IDS.get(number, f'DYNAMIC_{number}_STAGE')}_{category}"


def parse_funnel(stage_id: str) -> int | None:
    """Return the funnel in a stage id ("C1:NEW", "DT177_10:NEW"), None if the id names none."""
    found = _STAGE_FUNNEL.match(stage_id)
    return int(found[1]) if found else None


def has_funnels(entity: str) -> bool:
    """Return whether the stages of this kind belong to funnels, whose ids need not begin at 0."""
    kind = to_own_kind(entity)
    return kind.startswith("item:") and kind != QUOTE
