"""Sandbox portal, schema: the fields of each kind of record, with their types and their names in the old methods and in `crm.item.*`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sandbox.portal import schema_data, schema_smart

Row = dict[str, Any]

LINK_TYPES = frozenset({"user", "crm_company", "crm_contact", "crm_lead", "crm_quote", "crm_category"})
NUMBER_TYPES = LINK_TYPES | {"integer", "double", "enumeration", "employee", "crm_deal", "crm_entity"}
_CAMEL = {
    "DATE_CREATE": "createdTime",
    "DATE_MODIFY": "updatedTime",
    "CREATED_BY_ID": "createdBy",
    "MODIFY_BY_ID": "updatedBy",
    "MOVED_BY_ID": "movedBy",
    "STATUS_ID": "stageId",
    "STATUS_SEMANTIC_ID": "stageSemanticId",
    "COMPANY_TYPE": "typeId",
}
_KEEPS_CASE = frozenset({"history", "status", "task", "type", "requisite", "bank_detail", "vat", "phone_call", "product", "template"})


@dataclass(frozen=True)
class Field:
    """One field of a record: `name` is its name in the old methods (`STAGE_ID`), `camel` the one in `crm.item.*` (`stageId`)."""

    name: str
    type: str
    flags: str
    title: str
    camel: str
    upper: str
    choices: tuple[tuple[int, str], ...] = ()

    @property
    def read_only(self) -> bool:
        """Whether only the portal itself writes the field."""
        return "R" in self.flags

    @property
    def multiple(self) -> bool:
        """Whether the field holds a list of values."""
        return "M" in self.flags

    @property
    def required(self) -> bool:
        """Whether the `*.fields` methods describe the field as required."""
        return "Q" in self.flags

    @property
    def custom(self) -> bool:
        """Whether it is a custom field (UF_...)."""
        return "D" in self.flags


@dataclass(frozen=True)
class Schema:
    """The fields of one kind of record, by their old names (`fields`) and by their camelCase names (`by_camel`)."""

    kind: str
    fields: MappingProxyType[str, Field]
    by_camel: MappingProxyType[str, Field]
    type_id: int = 0
    stage_field: str = ""
    default_title: str = ""
    code: str = ""
    plain: tuple[str, ...] = field(default=())

    @property
    def funnels(self) -> bool:
        """Whether records of this kind belong to funnels."""
        return self.stage_field != "" and "CATEGORY_ID" in self.fields

    @property
    def smart(self) -> bool:
        """Whether this kind is a smart process (a record kind that the company has defined itself), as smart invoices are too."""
        return self.type_id >= 128 or self.type_id == schema_smart.INVOICE_TYPE_ID

    @property
    def sums(self) -> bool:
        """Whether the sum of such a record can be computed from its product rows."""
        return self.funnels or self.kind == "quote"


def camel_name(name: str) -> str:
    """Return the camelCase name that `crm.item.*` uses for a field of the old methods."""
    if found := re.fullmatch(r"UF_CRM_(\d+)_(\d+)", name):
        return f"ufCrm{found[1]}_{found[2]}"
    if re.fullmatch(r"UF_CRM_\d+_[A-Z_]+", name) is None and name.startswith("UF_CRM_") and name != "UF_CRM_TASK":
        return "ufCrm_" + name.removeprefix("UF_CRM_")
    head, *rest = name.lower().split("_")
    return head + "".join(word.capitalize() for word in rest)


_OPEN: dict[str, tuple[dict[str, Field], dict[str, Field]]] = {}
"""By kind the fields behind `Schema.fields` and `Schema.by_camel`, for the custom fields that a seed file adds."""


def _schema(kind: str, text: str, **more: Any) -> Schema:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    fields = {field.name: field for field in (_field(kind, line, schema_smart.CHOICES.get(line.split(" ", 1)[0], ())) for line in lines)}
    plain = tuple(f.name for f in fields.values() if not f.multiple and not f.custom and f.type not in {"crm_multifield", "raw"})
    by_camel = {f.camel: f for f in fields.values()}
    _OPEN[kind] = fields, by_camel
    return Schema(kind, MappingProxyType(fields), MappingProxyType(by_camel), plain=plain, **more)


def _field(kind: str, line: str, choices: tuple[tuple[int, str], ...]) -> Field:
    """Return the field that one line describes, in the format of `schema_data`."""
    name, type_, flags, title = line.split(" ", 3)
    camel = {} if kind in _KEEPS_CASE else _CAMEL
    upper = schema_smart.SMART_UPPER.get(name, name) if kind.startswith(("dynamic_", "smart_")) else name
    return Field(name, type_, flags, title, camel.get(name) or camel_name(name), upper, choices)


def add_field(kind: str, line: str, choices: tuple[tuple[int, str], ...] = ()) -> None:
    """Add a custom field to a kind of records, for all portals of this process. Raises ValueError for one that is there already."""
    fields, by_camel = _OPEN[kind]
    field = _field(kind, line, choices)
    if field.name in fields:
        raise ValueError(f"there is a field {field.name} already")
    fields[field.name] = by_camel[field.camel] = field


def remove_field(kind: str, name: str) -> None:
    """Take a field away that `add_field` has added."""
    fields, by_camel = _OPEN[kind]
    del by_camel[fields.pop(name).camel]


DEAL = _schema("deal", schema_data.DEAL + schema_smart.DEAL_OWN, type_id=2, stage_field="STAGE_ID", default_title="Сделка", code="D")
LEAD = _schema("lead", schema_data.LEAD, type_id=1, stage_field="STATUS_ID", default_title="Лид", code="L")
CONTACT = _schema("contact", schema_data.CONTACT, type_id=3, code="C")
COMPANY = _schema("company", schema_data.COMPANY, type_id=4, default_title="Компания", code="CO")
ACTIVITY = _schema("activity", schema_data.ACTIVITY)
TASK = _schema("task", schema_data.TASK)
USER = _schema("user", schema_data.USER)
COMMENT = _schema("comment", schema_data.COMMENT)
HISTORY = _schema("history", schema_data.HISTORY)
PRODUCTROW = _schema("productrow", schema_data.PRODUCTROW)
STATUS = _schema("status", schema_data.STATUS)

QUOTE = _schema("quote", schema_smart.QUOTE, type_id=7, stage_field="STATUS_ID", default_title="Предложение", code="Q")
CONTRACT = _schema(
    f"dynamic_{schema_smart.CONTRACT_TYPE_ID}",
    schema_smart.CONTRACT,
    type_id=schema_smart.CONTRACT_TYPE_ID,
    stage_field="STAGE_ID",
    default_title=schema_smart.CONTRACT_TITLE,
    code=f"T{schema_smart.CONTRACT_TYPE_ID:x}",
)
INVOICE = _schema(
    "smart_invoice", schema_smart.INVOICE, type_id=schema_smart.INVOICE_TYPE_ID, stage_field="STAGE_ID", default_title="Счёт", code="SI"
)
TYPE = _schema("type", schema_smart.TYPE)
REQUISITE = _schema("requisite", schema_smart.REQUISITE)
BANK_DETAIL = _schema("bank_detail", schema_smart.BANK_DETAIL)
VAT = _schema("vat", schema_smart.VAT)
PHONE_CALL = _schema("phone_call", schema_smart.PHONE_CALL)
PRODUCT = _schema("product", schema_smart.PRODUCT)
TEMPLATE = _schema("template", schema_smart.TEMPLATE)

CRM = MappingProxyType({s.kind: s for s in (LEAD, DEAL, CONTACT, COMPANY, QUOTE)})
BY_TYPE_ID = MappingProxyType({s.type_id: s for s in (*CRM.values(), CONTRACT, INVOICE)})
_OTHERS = (ACTIVITY, TASK, USER, COMMENT, HISTORY, PRODUCTROW, STATUS, TYPE, REQUISITE, BANK_DETAIL, VAT, PHONE_CALL, PRODUCT, TEMPLATE)
ALL = MappingProxyType({s.kind: s for s in (*BY_TYPE_ID.values(), *_OTHERS)})
