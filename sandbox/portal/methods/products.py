"""Sandbox portal, methods for product rows, both old (`crm.deal.productrows.*`) and universal (`crm.item.productrow.*`).

A `set` call replaces all product rows of a record. The sum of a deal, quote or smart process item follows its product rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sandbox.portal import query, records
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, classic, missing_parameter
from sandbox.portal.schema import BY_TYPE_ID, PRODUCTROW, Field, Row
from sandbox.portal.values import parse, show_classic, show_universal, to_int

_SCHEMAS = {schema.code: schema for schema in BY_TYPE_ID.values() if schema.stage_field}
_KINDS = {code: schema.kind for code, schema in _SCHEMAS.items()}


def _of(call: Call, code: str, owner: int) -> list[Row]:
    return [row for row in call.store.find("productrow", "OWNER_ID", owner) if row["OWNER_TYPE"] == code]


def _read(given: Any, names: Mapping[str, Field]) -> Row:
    values: Row = {"PRODUCT_ID": 0, "PRODUCT_NAME": "", "PRICE": 0.0, "QUANTITY": 1.0, "TAX_INCLUDED": "N", "SORT": 0}
    for name, raw in given.items() if isinstance(given, dict) else ():
        field = names.get(name)
        if field is not None and field.name != "ID":
            values[field.name] = parse(field, raw)
    return values


def _replace(call: Call, code: str, owner: int, rows: list[Row]) -> None:
    call.store.remove_where("productrow", lambda r: r["OWNER_TYPE"] == code and r["OWNER_ID"] == owner)
    for row in rows:
        call.store.add("productrow", {**row, "OWNER_TYPE": code, "OWNER_ID": owner})
    _recount(call, code, owner)


def _recount(call: Call, code: str, owner: int) -> None:
    if _SCHEMAS[code].sums:
        records.recount_sum(call, _SCHEMAS[code], owner)


def _classic_set(code: str, call: Call) -> bool:
    owner = call.classic_id()
    rows = call.any_case("rows")
    if not isinstance(rows, list):
        raise query.as_array_error("rows")
    if call.store.get(_KINDS[code], owner) is None:
        raise classic("Not found")
    _replace(call, code, owner, [_read(row, PRODUCTROW.fields) for row in rows])
    return True


def _classic_get(code: str, call: Call) -> list[Row]:
    owner = call.classic_id()
    if call.store.get(_KINDS[code], owner) is None:
        raise classic("Not found")
    return [show_classic(PRODUCTROW, row, PRODUCTROW.fields) for row in _of(call, code, owner)]


def _shown(row: Row) -> Row:
    return show_universal(PRODUCTROW, row, PRODUCTROW.fields)


def _owner(call: Call, code: Any, number: Any) -> tuple[str, int]:
    owner = to_int(number)
    if str(code) not in _KINDS or call.store.get(_KINDS[str(code)], owner) is None:
        raise PortalError(400, "OWNER_NOT_FOUND", "Владелец не найден")
    return str(code), owner


def _set(call: Call) -> Row:
    code, owner = _owner(call, call.required("ownerType"), call.required("ownerId"))
    rows = call.arg("productRows")
    if not isinstance(rows, list):
        raise missing_parameter("productRows")
    _replace(call, code, owner, [_read(row, PRODUCTROW.by_camel) for row in rows])
    return {"productRows": [_shown(row) for row in _of(call, code, owner)]}


def _add(call: Call) -> Row:
    fields = call.required_map("fields")
    for name in ("ownerId", "ownerType"):
        if not fields.get(name):
            raise missing_parameter(name)
    code, owner = _owner(call, fields["ownerType"], fields["ownerId"])
    values = _read(fields, PRODUCTROW.by_camel) | {"OWNER_TYPE": code, "OWNER_ID": owner}
    product = call.store.get("product", values["PRODUCT_ID"]) if values["PRODUCT_ID"] and not values["PRODUCT_NAME"] else None
    number = call.store.add("productrow", values | ({"PRODUCT_NAME": product["NAME"]} if product else {}))
    _recount(call, code, owner)
    return {"productRow": _shown(call.store.get("productrow", number) or {})}


def _find(call: Call) -> Row:
    row = call.store.get("productrow", to_int(call.required("id")))
    if row is None:
        raise PortalError(400, "NOT_FOUND", "Товарная позиция не найдена")
    return row


def _get(call: Call) -> Row:
    return {"productRow": _shown(_find(call))}


def _update(call: Call) -> Row:
    row = _find(call)
    given = call.required_map("fields")
    fresh = _read(given, PRODUCTROW.by_camel)
    named = {PRODUCTROW.by_camel[name].name for name in given if name in PRODUCTROW.by_camel}
    kept = {name: value for name, value in fresh.items() if name in named - {"OWNER_ID", "OWNER_TYPE"}}
    call.store.put("productrow", row | kept)
    _recount(call, row["OWNER_TYPE"], row["OWNER_ID"])
    return {"productRow": _shown(row | kept)}


def _delete(call: Call) -> None:
    row = _find(call)
    call.store.remove("productrow", row["ID"])
    _recount(call, row["OWNER_TYPE"], row["OWNER_ID"])


def _list(call: Call) -> query.Page:
    filters = call.required_map("filter")
    for name in ("=ownerType", "=ownerId"):
        if filters.get(name) is None:
            raise missing_parameter(name)
    plan = call.rights.narrow(query.plan_universal(PRODUCTROW, call.params), call.store)
    page = query.run(call.store.table("productrow"), plan)
    return query.Page([_shown(row) for row in page.rows], page.total, page.next, box="productRows")


METHODS: dict[str, Callable[[Call], Any]] = {
    "crm.deal.productrows.get": partial(_classic_get, "D"),
    "crm.deal.productrows.set": partial(_classic_set, "D"),
    "crm.lead.productrows.get": partial(_classic_get, "L"),
    "crm.lead.productrows.set": partial(_classic_set, "L"),
    "crm.item.productrow.set": _set,
    "crm.item.productrow.add": _add,
    "crm.item.productrow.get": _get,
    "crm.item.productrow.update": _update,
    "crm.item.productrow.delete": _delete,
    "crm.item.productrow.list": _list,
}
