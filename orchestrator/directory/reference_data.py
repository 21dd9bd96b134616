"""Defines the portal's reference data as parsed objects: stages, funnels, departments, fields, smart processes."""

import re
from collections.abc import Mapping
from typing import Annotated, Final

import pydantic
from pydantic import AliasChoices, BeforeValidator, ConfigDict

from bitrix.catalogue.names import CRM
from orchestrator.directory.rows import Number, Text
from orchestrator.domain.frozen import View
from state.stored import JsonObject

_STAGE_FUNNEL: Final = re.compile(r"(?:C|DT[0-9]{1,9}_)([0-9]{1,9}):", re.ASCII)
_STAGE_ENTITY_IDS: Final = {"31": "SMART_INVOICE_STAGE", "36": "SMART_DOCUMENT_STAGE"}
_OWN_KINDS: Final = {str(number): kind for number, kind in CRM.items()}
QUOTE: Final = "item:7"
INVOICE: Final = "item:31"


def _parse_choices(items: object) -> dict[str, str]:
    """Return the values of a list field, id → name ("79" → «Элемент списка»).

    The portal gives them as a list of {ID, VALUE}, or as a mapping in the answer of tasks.task.getFields.
    """
    if isinstance(items, Mapping):
        return {str(key): str(value) for key, value in items.items() if isinstance(value, str | int)}
    return {str(item.get("ID")): str(item.get("VALUE")) for item in items if isinstance(item, Mapping)} if isinstance(items, list) else {}


_Flag = Annotated[bool, BeforeValidator(lambda value: value is True)]
_YesNo = Annotated[bool, BeforeValidator(lambda value: value in ("Y", True))]
_Choices = Annotated[Mapping[str, str], BeforeValidator(_parse_choices)]
_Settings = Annotated[JsonObject, BeforeValidator(lambda value: value if isinstance(value, Mapping) else {})]


class ReferenceRow(View):
    """Base class of one parsed row of reference data.

    The fields can be given by the portal's names (STATUS_ID), as in the portal's answers, or by the names of the class (`id`), as in code.
    """

    model_config = ConfigDict(validate_by_name=True)


class Stage(ReferenceRow):
    """A stage of a funnel, a status of leads, or an entry of another CRM status list."""

    id: Text = pydantic.Field(validation_alias="STATUS_ID")
    name: Text = pydantic.Field(validation_alias="NAME")
    sort: Number = pydantic.Field(0, validation_alias="SORT")


class Category(ReferenceRow):
    """A funnel of deals, of a smart process or of invoices."""

    id: int
    name: Text
    default: _YesNo = pydantic.Field(False, validation_alias="isDefault")


class Department(ReferenceRow):
    """A department. `parent` is the id of the department above it, `head` the employee id of its head; 0 means none."""

    id: Number = pydantic.Field(0, validation_alias="ID")
    name: Text = pydantic.Field("", validation_alias="NAME")
    parent: Number = pydantic.Field(0, validation_alias="PARENT")
    head: Number = pydantic.Field(0, validation_alias="UF_HEAD")


class SmartType(ReferenceRow):
    """A smart process (a kind of record that the company defined): its number, 177 in "item:177", and its title."""

    id: int = pydantic.Field(validation_alias="entityTypeId")
    title: Text = ""


class ProductCatalog(ReferenceRow):
    """A catalogue of products. Methods about products name it by `iblock`; a catalogue of variations also names the one of its products."""

    iblock: Number = pydantic.Field(0, validation_alias="iblockId")
    name: Text = ""
    products: Number = pydantic.Field(0, validation_alias="productIblockId")


class Field(ReferenceRow):
    """The description of a field of a record. `title` is "" if the portal gives the field no title other than its code."""

    code: str
    title: str
    type: Text = ""
    custom: _Flag = pydantic.Field(False, validation_alias="isDynamic")
    multiple: _Flag = pydantic.Field(False, validation_alias="isMultiple")
    required: _Flag = pydantic.Field(False, validation_alias=AliasChoices("isRequired", "required"))
    read_only: _Flag = pydantic.Field(False, validation_alias="isReadOnly")
    immutable: _Flag = pydantic.Field(False, validation_alias="isImmutable")
    upper_name: Text = pydantic.Field("", validation_alias="upperName")
    """The field's name in the classic methods (STAGE_ID); "" unless crm.item.fields gives it."""
    status_entity_id: Text = pydantic.Field("", validation_alias="statusType")
    """The status list (SOURCE, DEAL_STAGE) that a field of the type crm_status takes its values from; "" for other types."""
    choices: _Choices = pydantic.Field({}, validation_alias=AliasChoices("items", "values"))
    """The values of a list field: id → name."""
    settings: _Settings = pydantic.Field({})


def to_own_kind(entity: str) -> str:
    """Return the short name of a kind of record: "deal" for "item:2".

    Only leads, deals, contacts and companies have a short name. Other kinds are returned unchanged.
    """
    family, _, number = entity.partition(":")
    return _OWN_KINDS.get(number, entity) if family == "item" else entity


def to_type_number(entity: str) -> int | None:
    """Return the portal's number (entityTypeId) of a kind of record: 2 for "deal", 177 for "item:177"; None if it has none."""
    family, _, number = entity.partition(":")
    if family == "item" and number.isascii() and number.isdecimal():
        return int(number)
    return next((int(number) for number, kind in _OWN_KINDS.items() if kind == entity), None)


def find_stage_entity_id(entity: str, category: int) -> str:
    """Return the ENTITY_ID under which the portal lists a funnel's stages ("DEAL_STAGE_1"); "" for kinds without stages."""
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
    """Return the id of the funnel in a stage id (1 in "C1:NEW", 10 in "DT177_10:NEW"); None if the stage id contains none."""
    found = _STAGE_FUNNEL.match(stage_id)
    return int(found[1]) if found else None


def has_funnels(entity: str) -> bool:
    """Return whether this kind of record has funnels whose ids need not begin at 0, as smart processes and invoices have.

    For deals the result is False, since their default funnel always has the id 0.
    """
    kind = to_own_kind(entity)
    return kind.startswith("item:") and kind != QUOTE
