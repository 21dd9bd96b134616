"""Sandbox portal, the old CRM methods `crm.{deal,lead,contact,company,quote}.*`.

They answer with strings and nulls and silently ignore much of what they cannot use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from sandbox.portal import query, records, stages
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, classic
from sandbox.portal.multifields import classic_changes
from sandbox.portal.rendering import Rows, to_json
from sandbox.portal.schema import CRM, Field, Row, Schema
from sandbox.portal.schema_smart import DEFAULT_CATEGORY, SETTINGS
from sandbox.portal.store import Store, Table
from sandbox.portal.values import show_classic, to_int

Handler = Callable[[Call], Any]


_UNIVERSAL = {"OBSERVERS"}
"""Fields of which only `crm.item.*` knows."""


def _fields_argument(call: Call) -> Row:
    given = call.any_case("fields")
    if isinstance(given, dict):
        return given
    if isinstance(given, list):
        return {}
    raise query.as_array_error("fields")


def _known(schema: Schema, given: Row) -> list[tuple[Field, Any]]:
    """Return the given fields that the old CRM methods accept, with their raw values.

    Fields with an unknown name or an invalid value are left out without an error.
    """
    pairs = []
    for name, raw in given.items():
        field = schema.fields.get(name)
        if field is None or field.name in _UNIVERSAL or (field.name == "CONTACT_IDS" and not isinstance(raw, list)):
            continue
        try:
            records.read_fields(schema, [(field, raw)])
        except ValueError:
            continue
        pairs.append((field, raw))
    return pairs


def _find(schema: Schema, call: Call, verb: str) -> Row:
    row = call.store.get(schema.kind, call.classic_id())
    if row is not None:
        if not call.rights.may_see(call.store, row):
            raise classic("Access denied.")
        return row
    if schema.kind in {"contact", "company"} and verb != "get":
        code = "ERROR_CORE" if (schema.kind, verb) == ("contact", "delete") else ""
        raise PortalError(400, code, f"{schema.kind.capitalize()} is not found")
    raise classic("Not found")


def _add(schema: Schema, call: Call) -> int:
    given = _fields_argument(call)
    values = records.read_fields(schema, _known(schema, given))
    fm = classic_changes(call.store, [], given) if "PHONE" in schema.fields else []
    return records.create(call, schema, values, fm)


def _get(schema: Schema, call: Call) -> Row:
    row = _find(schema, call, "get")
    names = [f.name for f in schema.fields.values() if f.name not in {"CONTACT_IDS", *_UNIVERSAL}]
    return show_classic(schema, row, names)


def _list(schema: Schema, call: Call) -> query.Page:
    params = call.folded()
    plan = query.plan_classic(schema, params)
    names = query.classic_names(schema, params)
    table = call.store.table(schema.kind)
    page = query.run(table, call.rights.narrow(plan, call.store))
    return query.Page([], page.total, page.next, ready=_ready(schema, table, page.rows, tuple(names)))


def make_ready(store: Store, kind: str) -> None:
    """Render every record of a kind as JSON in advance, as list methods with `select: ["*", "UF_*"]` return it.

    The portal then answers such lists without rendering, so that a benchmark with many records measures the client and not the sandbox.
    """
    schema, table = CRM[kind], store.table(kind)
    names = tuple(query.classic_names(schema, {"select": ["*", "UF_*"]}))
    _ready(schema, table, table.walk(), names)


def _ready(schema: Schema, table: Table, rows: Iterable[Row], names: tuple[str, ...]) -> Rows:
    """Return the rows of a page as rendered JSON with the fields `names`. The JSON of an unchanged row is reused."""
    kept, blobs = table.shown(names), []
    for row in rows:
        row_id = row["ID"]
        blob = kept.get(row_id)
        if blob is None:
            blob = kept[row_id] = bytes(memoryview(to_json(show_classic(schema, row, names))))  # a copy: orjson over-allocates
        blobs.append(blob)
    return Rows(blobs)


def _update(schema: Schema, call: Call) -> bool:
    old = _find(schema, call, "update")
    given = _fields_argument(call)
    values = records.read_fields(schema, _known(schema, given), old)
    values.pop("CATEGORY_ID", None)  # the old family cannot move a deal to another funnel and ignores this silently
    stage = values.get(schema.stage_field)
    if schema.stage_field and schema.stage_field in values:
        book = stages.book_of(schema, old.get("CATEGORY_ID") or 0)
        if stage is None or stages.find(call.store, book, stage) is None:
            del values[schema.stage_field]
    values.pop("CLOSED", None)  # follows from the stage
    fm = classic_changes(call.store, old.get("FM", []), given) if "PHONE" in schema.fields else []
    if not records.change(call, schema, old, values, fm):
        records.touch(call, schema, old)
    return True


def _delete(schema: Schema, call: Call) -> bool:
    records.delete(call, schema, _find(schema, call, "delete"))
    return True


_BOOKS = {"TYPE_ID": "{}_TYPE", "SOURCE_ID": "SOURCE", "HONORIFIC": "HONORIFIC", "COMPANY_TYPE": "COMPANY_TYPE"}
_BOOKS |= {"INDUSTRY": "INDUSTRY", "EMPLOYEES": "EMPLOYEES"}
_PARENTS = {"crm_company": 4, "crm_lead": 1, "crm_quote": 7, "crm_deal": 2, "crm_entity": 2}


def describe(schema: Schema, field: Field, *, title: str) -> Row:
    """Return the description of one field as `crm.*.fields` gives it: type, flags, title, list items and settings."""
    shown: Row = {
        "type": field.type,
        "isRequired": field.required,
        "isReadOnly": field.read_only,
        "isImmutable": "I" in field.flags,
        "isMultiple": field.multiple,
        "isDynamic": field.custom,
    }
    if field.choices:
        shown["items"] = [{"ID": str(number), "VALUE": text} for number, text in field.choices]
    if field.type == "crm_status":
        shown["statusType"] = _book(schema, field)
    shown["title"] = title
    if field.custom:
        shown |= {"listLabel": field.title, "formLabel": field.title, "filterLabel": field.title}
        shown["settings"] = SETTINGS[field.type]
    elif field.type in _PARENTS:
        shown["settings"] = {"parentEntityTypeId": _PARENTS[field.type]}
    return shown


def _book(schema: Schema, field: Field) -> str:
    """Return the name of the status book (a list of allowed codes, such as `SOURCE`) from which a field takes its values."""
    if field.name in {schema.stage_field, "PREVIOUS_STAGE_ID"}:
        return stages.book_of(schema, DEFAULT_CATEGORY if schema.smart else 0)
    return _BOOKS[field.name].format(schema.kind.upper())


def _fields(schema: Schema, _: Call) -> Row:
    shown = (field for field in schema.fields.values() if field.name not in _UNIVERSAL)
    return {field.name: describe(schema, field, title=field.name if field.custom else field.title) for field in shown}


def _contact_items(call: Call) -> list[Row]:
    ids = _find(CRM["deal"], call, "get").get("CONTACT_IDS") or []
    return [
        {"CONTACT_ID": number, "SORT": (place + 1) * 10, "ROLE_ID": 0, "IS_PRIMARY": "N" if place else "Y"}
        for place, number in enumerate(ids)
    ]


def _bind_contacts(call: Call, ids: list[int]) -> bool:
    deal = CRM["deal"]
    old = _find(deal, call, "update")
    values = records.read_fields(deal, [(deal.fields["CONTACT_IDS"], ids)], old)
    values = values or {"CONTACT_IDS": [], "CONTACT_ID": None}
    records.change(call, deal, old, values, [])
    return True


def _contact_items_set(call: Call) -> bool:
    items = call.any_case("items")
    if not isinstance(items, list):
        raise query.as_array_error("items")
    known = [item for item in items if isinstance(item, dict) and item.get("CONTACT_ID")]
    known.sort(key=lambda item: item.get("IS_PRIMARY") != "Y")
    return _bind_contacts(call, [to_int(item["CONTACT_ID"]) for item in known])


def _contact_items_delete(call: Call) -> bool:
    return _bind_contacts(call, [])


def _contact_add(call: Call) -> bool:
    number = to_int(_fields_argument(call).get("CONTACT_ID"))
    ids = _find(CRM["deal"], call, "update").get("CONTACT_IDS") or []
    if not number or call.store.get("contact", number) is None:
        raise classic("Contact is not found")
    return False if number in ids else _bind_contacts(call, [*ids, number])


def _contact_delete(call: Call) -> bool:
    number = to_int(_fields_argument(call).get("CONTACT_ID"))
    ids = _find(CRM["deal"], call, "update").get("CONTACT_IDS") or []
    return _bind_contacts(call, [i for i in ids if i != number]) if number in ids else False


_VERBS = {
    "add": _add,
    "get": _get,
    "list": _list,
    "update": _update,
    "delete": _delete,
    "fields": _fields,
}

METHODS: dict[str, Handler] = {
    f"crm.{kind}.{verb}": partial(action, schema) for kind, schema in CRM.items() for verb, action in _VERBS.items()
} | {
    "crm.deal.contact.items.get": _contact_items,
    "crm.deal.contact.items.set": _contact_items_set,
    "crm.deal.contact.items.delete": _contact_items_delete,
    "crm.deal.contact.add": _contact_add,
    "crm.deal.contact.delete": _contact_delete,
}
