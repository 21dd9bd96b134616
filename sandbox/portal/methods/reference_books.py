"""Sandbox portal, methods for reference data: requisites, bank details, VAT rates, goods, document templates, phone calls.

They only read, but for bank details.

The links between contacts and companies are here too, and those between activities and the records that they belong to (bindings).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sandbox.portal import query
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, classic
from sandbox.portal.schema import BANK_DETAIL, PHONE_CALL, PRODUCT, REQUISITE, TEMPLATE, VAT, Row
from sandbox.portal.seed_more_data import CATALOGUE, CATALOGUE_NAME, PRICES
from sandbox.portal.values import show_classic, show_universal, to_int

_STANDARD = tuple(name for name, field in TEMPLATE.fields.items() if not field.multiple)


def _owner_id(call: Call) -> int:
    number = to_int(call.any_case("id"))
    if number <= 0:
        raise classic("The parameter ownerEntityID is invalid or not defined.")
    return number


def _links(name: str, numbers: Iterable[int]) -> list[Row]:
    return [
        {name: number, "SORT": 100 + 10 * place, "ROLE_ID": 0, "IS_PRIMARY": "N" if place else "Y"} for place, number in enumerate(numbers)
    ]


def _companies_of(call: Call) -> list[Row]:
    """Return the link to the company of a contact, as a list of at most one row.

    An unknown contact gives an empty list. This is assumed: the documentation does not describe the case.
    """
    company = (call.store.get("contact", _owner_id(call)) or {}).get("COMPANY_ID")
    return _links("COMPANY_ID", [company] if company else [])


def _contacts_of(call: Call) -> list[Row]:
    company = _owner_id(call)
    return _links("CONTACT_ID", [row["ID"] for row in call.store.walk("contact") if row.get("COMPANY_ID") == company])


def _bindings(call: Call) -> list[Row]:
    row = call.store.get("activity", to_int(call.required("activityId")))
    if row is None:
        raise PortalError(400, "NOT_FOUND", "Элемент не найден")
    return [{"entityTypeId": row["OWNER_TYPE_ID"], "entityId": row["OWNER_ID"]}]


def _requisite(row: Row, names: Iterable[str] | None = None) -> Row:
    shown = show_classic(REQUISITE, row, names)
    return shown if shown.get("DATE_MODIFY", "") is not None else {**shown, "DATE_MODIFY": ""}


def _requisites(call: Call) -> query.Page:
    params = call.folded()
    page = query.run(call.store.table("requisite"), query.plan_classic(REQUISITE, params))
    names = query.classic_names(REQUISITE, params)
    return query.Page([_requisite(row, names) for row in page.rows], page.total, page.next)


def _requisite_get(call: Call) -> Row:
    number = call.classic_id()
    row = call.store.get("requisite", number)
    if row is None:
        raise classic(f"The Requisite with ID '{number}' is not found")
    return _requisite(row)


def _bank_details(call: Call) -> query.Page:
    params = call.folded()
    page = query.run(call.store.table("bank_detail"), query.plan_classic(BANK_DETAIL, params))
    names = query.classic_names(BANK_DETAIL, params)
    return query.Page([show_classic(BANK_DETAIL, row, names) for row in page.rows], page.total, page.next)


def _find_bank_detail(call: Call) -> Row:
    number = call.classic_id()
    row = call.store.get("bank_detail", number)
    if row is None:
        raise classic(f"The BankDetail with ID '{number}' is not found")
    return row


def _bank_detail_update(call: Call) -> bool:
    row, fields = _find_bank_detail(call), call.any_case("fields") or {}
    known = {name: value for name, value in fields.items() if name in BANK_DETAIL.fields and not BANK_DETAIL.fields[name].read_only}
    call.store.put("bank_detail", {**row, **known})
    return True


def _vats(call: Call) -> query.Page:
    params = call.folded()
    wanted = [str(name) for name in params.get("select") or []]
    if any(name != "*" and name not in VAT.fields for name in wanted):
        raise PortalError(400, "Inadmissible fields for selection", "Invalid fields for selection were provided.")
    page = query.run(call.store.table("vat"), query.plan_classic(VAT, params))
    names = VAT.plain if not wanted or "*" in wanted else wanted
    return query.Page([show_classic(VAT, row, names) for row in page.rows], page.total, page.next)


def _calls(call: Call) -> query.Page:
    """Return one page of phone calls. The parameters `sort` (one field) and `order` (ASC or DESC) give the order.

    Without them no order is promised: calls of more than one page come newest first here, so that a new call shifts the pages of a client
    that does not sort.
    """
    params, table = call.folded(), call.store.table("phone_call")
    sort, way = str(params.get("sort") or "").upper(), str(params.get("order") or "ASC")
    unsorted = {"CALL_START_DATE": "DESC"} if len(table) > query.PAGE else {}
    params["order"] = {sort: way} if sort and sort != "CALL_TYPE" else unsorted
    plan = call.rights.narrow(query.plan_classic(PHONE_CALL, params), call.store)
    page = query.run(table, plan)
    return query.Page([{**show_classic(PHONE_CALL, row), "RECORD_FILE_ID": None} for row in page.rows], page.total, page.next)


def _catalogs(_call: Call) -> query.Page:
    """Return the only product catalogue of the portal; it has no variations."""
    row = {"id": CATALOGUE, "iblockId": CATALOGUE, "iblockTypeId": "CRM_PRODUCT_CATALOG", "lid": "s1", "name": CATALOGUE_NAME}
    row |= {"productIblockId": None, "skuPropertyId": None, "subscription": "N", "vatId": None, "yandexExport": "N"}
    return query.Page([row], 1, None, box="catalogs")


def _product_request(call: Call) -> list[str]:
    """Check a request for goods and return the field names in its `select`.

    Raises PortalError if `select` lacks `id` or `iblockId`, or if the filter does not name the product catalogue of the portal
    (`iblockId`).
    """
    select = [str(name) for name in call.arg("select") or []]
    missing = [name for name in ("id", "iblockId") if name not in select]
    if missing:
        raise PortalError(400, 0, f"Required select fields: {', '.join(missing)}")
    filters = call.arg("filter") or {}
    if not isinstance(filters, dict):
        raise PortalError(400, 0, "Incorrect filter format")
    block = filters.get("iblockId", filters.get("=iblockId"))
    if block is None:
        raise PortalError(400, 0, "Required filter fields: iblockId")
    if to_int(block) != CATALOGUE:
        raise PortalError(400, 200040300000, "Iblock Not Found")
    return select


def _products(call: Call) -> query.Page:
    names = [PRODUCT.by_camel[name].name for name in _product_request(call) if name in PRODUCT.by_camel]
    page = query.run(call.store.table("product"), query.plan_universal(PRODUCT, call.params))
    rows = [_nulls(show_universal(PRODUCT, row, names), row) for row in page.rows]
    return query.Page(rows, page.total, page.next, box="products")


def _product_get(call: Call) -> Row:
    row = call.store.get("product", to_int(call.required("id")))
    if row is None:
        raise PortalError(400, 200040300010, "Product does not exist")
    return {"product": _nulls(show_universal(PRODUCT, row, list(PRODUCT.fields)), row)}


def _prices(call: Call) -> query.Page:
    """Return the prices of the goods; the filter may name `productId` only, one or several."""
    filters = call.required_map("filter") if call.arg("filter") else {}
    wanted = next((value for name, value in filters.items() if name.lstrip("=@") == "productId"), None)
    numbers = {to_int(one) for one in (wanted if isinstance(wanted, list) else [wanted])}
    rows = [
        {"id": number, "productId": product, "price": price, "priceScale": price, "currency": "RUB", **_ANY_PRICE}
        for number, product, price in PRICES
        if wanted is None or product in numbers
    ]
    return query.Page(rows, len(rows), None, box="prices")


_ANY_PRICE = {"catalogGroupId": 1, "extraId": None, "quantityFrom": None, "quantityTo": None}


def _nulls(shown: Row, row: Row) -> Row:
    """Return the product `shown` with None in place of 0 for numbers that are not set in its stored record `row`.

    CRM methods show 0 there, those of the product catalogue null.
    """
    return {name: None if row.get(PRODUCT.by_camel[name].name) is None else value for name, value in shown.items()}


def _template(row: Row, wanted: list[str]) -> Row:
    names = [*_STANDARD] if "*" in wanted else []
    names += [TEMPLATE.by_camel[name].name for name in wanted if name in TEMPLATE.by_camel]
    shown = {TEMPLATE.fields[name].camel: value for name, value in show_classic(TEMPLATE, row, dict.fromkeys(["ID", *names])).items()}
    download = f"/bitrix/services/main/ajax.php?action=crm.documentgenerator.template.download&SITE_ID=s1&id={row['ID']}"
    machine = f"/rest/crm.documentgenerator.template.download.json?auth=sandbox-machine&token=sandbox-file-{row['ID']}"
    return {**shown, "download": download, "downloadMachine": machine}


def _templates(call: Call) -> query.Page:
    """Return one page of document templates, as a map from id to template.

    Deleted templates are left out, unless the filter has a condition on `isDeleted`.
    """
    filters = call.arg("filter") or {}
    if isinstance(filters, dict) and not any(str(key).endswith("isDeleted") for key in filters):
        filters = {**filters, "isDeleted": "N"}
    page = query.run(call.store.table("template"), query.plan_universal(TEMPLATE, {**call.params, "filter": filters}))
    wanted = [str(name) for name in call.arg("select") or ["*"]]
    by_number = {str(row["ID"]): _template(row, wanted) for row in page.rows}
    return query.Page([], page.total, page.next, box="templates", keyed=by_number)


METHODS: dict[str, Callable[[Call], Any]] = {
    "crm.contact.company.items.get": _companies_of,
    "crm.company.contact.items.get": _contacts_of,
    "crm.activity.binding.list": _bindings,
    "crm.requisite.list": _requisites,
    "crm.requisite.get": _requisite_get,
    "crm.requisite.bankdetail.list": _bank_details,
    "crm.requisite.bankdetail.get": lambda call: show_classic(BANK_DETAIL, _find_bank_detail(call)),
    "crm.requisite.bankdetail.update": _bank_detail_update,
    "crm.vat.list": _vats,
    "crm.documentgenerator.template.list": _templates,
    "catalog.catalog.list": _catalogs,
    "catalog.product.list": _products,
    "catalog.product.get": _product_get,
    "catalog.price.list": _prices,
    "voximplant.statistic.get": _calls,
}
