import re
from collections.abc import Mapping
from html import unescape
from typing import Annotated, Final

import pydantic
from pydantic import AliasChoices, BeforeValidator, ConfigDict

from bitrix.catalogue.names import CRM
from orchestrator.directory.answers import Number, Text, Title
from orchestrator.domain.frozen import View
from state.stored import JsonObject

_STAGE_FUNNEL: Final = re.compile(r"(?:C|DT[0-9]{1,9}_)([0-9]{1,9}):", re.ASCII)
_STAGE_ENTITY_IDS: Final = {"31": "SMART_INVOICE_STAGE", "36": "SMART_DOCUMENT_STAGE"}
_OWN_KINDS: Final = {str(number): kind for number, kind in CRM.items()}
QUOTE: Final = "item:7"
INVOICE: Final = "item:31"


def _parse_choices(items: object) -> dict[str, str]:
    """By id: name ("79" → «Элемент списка»), from {ID, VALUE} or a mapping."""
    if isinstance(items, Mapping):
        return {str(key): unescape(str(value)) for key, value in items.items() if isinstance(value, str | int)}
    rows = items if isinstance(items, list) else []
    return {str(item.get("ID")): unescape(str(item.get("VALUE"))) for item in rows if isinstance(item, Mapping)}


_Flag = Annotated[bool, BeforeValidator(lambda value: value is True)]
_YesNo = Annotated[bool, BeforeValidator(lambda value: value in ("Y", True))]
_Choices = Annotated[Mapping[str, str], BeforeValidator(_parse_choices)]
_Settings = Annotated[JsonObject, BeforeValidator(lambda value: value if isinstance(value, Mapping) else {})]


class ReferenceRow(View):
    """By the portal's names (STATUS_ID) or those of the class."""

    model_config = ConfigDict(validate_by_name=True)


class Stage(ReferenceRow):
    id: Text = pydantic.Field(validation_alias="STATUS_ID")
    name: Title = pydantic.Field(validation_alias="NAME")
    sort: Number = pydantic.Field(0, validation_alias="SORT")


class Category(ReferenceRow):
    id: int
    name: Title
    default: _YesNo = pydantic.Field(False, validation_alias="isDefault")


class Department(ReferenceRow):
    """0: no `parent`, no `head`."""

    id: Number = pydantic.Field(0, validation_alias="ID")
    name: Title = pydantic.Field("", validation_alias="NAME")
    parent: Number = pydantic.Field(0, validation_alias="PARENT")
    head: Number = pydantic.Field(0, validation_alias="UF_HEAD")


class SmartType(ReferenceRow):
    """A kind of record that the company defined: 177 in "item:177"."""

    id: int = pydantic.Field(validation_alias="entityTypeId")
    title: Title = ""


class ProductCatalog(ReferenceRow):
    """A catalogue of variations also names the one of its products."""

    iblock: Number = pydantic.Field(0, validation_alias="iblockId")
    name: Title = ""
    products: Number = pydantic.Field(0, validation_alias="productIblockId")


class Field(ReferenceRow):
    """`title` is "" if there is only the code."""

    code: str
    title: Title
    type: Text = ""
    custom: _Flag = pydantic.Field(False, validation_alias="isDynamic")
    multiple: _Flag = pydantic.Field(False, validation_alias="isMultiple")
    required: _Flag = pydantic.Field(False, validation_alias=AliasChoices("isRequired", "required"))
    read_only: _Flag = pydantic.Field(False, validation_alias="isReadOnly")
    immutable: _Flag = pydantic.Field(False, validation_alias="isImmutable")
    upper_name: Text = pydantic.Field("", validation_alias="upperName")
    """As classic methods have it (STAGE_ID); "" unless crm.item.fields gives it."""
    status_entity_id: Text = pydantic.Field("", validation_alias="statusType")
    """SOURCE, DEAL_STAGE; "" for other types than crm_status."""
    choices: _Choices = pydantic.Field({}, validation_alias=AliasChoices("items", "values"))
    """Of a list field: id → name."""
    settings: _Settings = pydantic.Field({})


def to_own_kind(entity: str) -> str:
    """ "deal" for "item:2"; kinds without a short name stay."""
    family, _, number = entity.partition(":")
    return _OWN_KINDS.get(number, entity) if family == "item" else entity


def to_type_number(entity: str) -> int | None:
    """entityTypeId: 2 for "deal", 177 for "item:177"."""
    family, _, number = entity.partition(":")
    if family == "item" and number.isascii() and number.isdecimal():
        return int(number)
    return next((int(number) for number, kind in _OWN_KINDS.items() if kind == entity), None)


def find_stage_entity_id(entity: str, category: int) -> str:
    """ "DEAL_STAGE_1"; "" for kinds without stages."""
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
    """1 in "C1:NEW", 10 in "DT177_10:NEW"."""
    match = _STAGE_FUNNEL.match(stage_id)
    return int(match[1]) if match else None


def has_funnels(entity: str) -> bool:
    """False for deals, whose default funnel always has the id 0."""
    kind = to_own_kind(entity)
    return kind.startswith("item:") and kind != QUOTE
