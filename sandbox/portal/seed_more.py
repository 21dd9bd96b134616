"""Sandbox portal, more sample data: contracts, quotes and small reference tables of the sample company. It changes no record of `seed`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from sandbox.portal import records
from sandbox.portal import seed_more_data as data
from sandbox.portal.context import Call
from sandbox.portal.schema import BANK_DETAIL, CONTRACT, PHONE_CALL, PRODUCT, QUOTE, REQUISITE, TEMPLATE, TYPE, VAT, Row, Schema
from sandbox.portal.schema_smart import CONTRACT_TITLE, CONTRACT_TYPE_ID
from sandbox.portal.store import Store
from sandbox.portal.values import store_moment

CallOf = Callable[[int, int], Call]  # by whom, how many days ago
DateOf = Callable[[int], str]  # a number of days from now


def fill(store: Store, now: datetime, call_of: CallOf, date_of: DateOf) -> None:
    """Write the contracts, quotes and reference tables into the store, with dates relative to `now`.

    `call_of(user, days_ago)` builds the Call of a user at that time. `date_of(days)` returns the date that many days from now.
    """
    made = store_moment(now - timedelta(days=90))
    _smart_process(store, made)
    _contracts(call_of, date_of)
    _quotes(call_of, date_of)
    _books(store, now, made)


def _smart_process(store: Store, made: str) -> None:
    flags: Row = {name: "Y" for name, field in TYPE.fields.items() if field.type == "boolean"}
    flags |= {"IS_PAYMENTS_ENABLED": "N", "IS_COUNTERS_ENABLED": "N", "IS_OBSERVERS_ENABLED": "N"}
    row = {"ID": 5, "TITLE": CONTRACT_TITLE, "CODE": "", "CREATED_BY": 1, "ENTITY_TYPE_ID": CONTRACT_TYPE_ID, "CUSTOM_SECTION_ID": None}
    store.add("type", row | flags | {"CREATED_TIME": made, "UPDATED_TIME": made, "UPDATED_BY": 1})
    for number, name, sort, default in data.CONTRACT_FUNNELS:
        funnel = {"ID": number, "NAME": name, "SORT": sort, "IS_DEFAULT": default, "ENTITY_TYPE_ID": CONTRACT_TYPE_ID}
        store.put("smart_category", funnel)
        book = f"DYNAMIC_{CONTRACT_TYPE_ID}_STAGE_{number}"
        _stages(store, book, f"DT{CONTRACT_TYPE_ID}_{number}:", data.CONTRACT_STAGES, number)
    _stages(store, "QUOTE_STATUS", "", data.QUOTE_STATUSES, None)


def _stages(store: Store, book: str, prefix: str, entries: tuple[tuple[str, str, str | None, str], ...], category: int | None) -> None:
    for place, (code, name, semantics, colour) in enumerate(entries, 1):
        row = {"ENTITY_ID": book, "STATUS_ID": prefix + code, "NAME": name, "NAME_INIT": "", "SORT": place * 10}
        row |= {"SYSTEM": "N" if code in {"SIGNING", "UNANSWERED"} else "Y", "CATEGORY_ID": category}
        store.add("status", row | {"COLOR": colour, "SEMANTICS": semantics})


def _contracts(call_of: CallOf, date_of: DateOf) -> None:
    for number, title, funnel, stage, amount, who, company, deal, code, kind, closes in data.CONTRACTS:
        values = {
            "ID": number,
            "TITLE": title,
            "CATEGORY_ID": funnel,
            "STAGE_ID": f"DT{CONTRACT_TYPE_ID}_{funnel}:{stage}",
            "OPPORTUNITY": float(amount),
            "IS_MANUAL_OPPORTUNITY": "Y",
            "ASSIGNED_BY_ID": who,
            "COMPANY_ID": company,
            "CONTACT_ID": company + 22,
            "CONTACT_IDS": [company + 22],
            "PARENT_ID_2": deal,
            "BEGINDATE": date_of(closes - 365),
            "CLOSEDATE": date_of(closes),
            "UF_CRM_5_1747310201": code,
            "UF_CRM_5_1747310202": kind,
        }
        records.create(call_of(who, 20), CONTRACT, values, [])


def _quotes(call_of: CallOf, date_of: DateOf) -> None:
    for number, title, status, amount, who, company, deal in data.QUOTES:
        values = {
            "ID": number,
            "TITLE": title,
            "STATUS_ID": status,
            "OPPORTUNITY": float(amount),
            "ASSIGNED_BY_ID": who,
            "COMPANY_ID": company,
            "CONTACT_ID": company + 22,
            "CONTACT_IDS": [company + 22],
            "DEAL_ID": deal,
            "BEGINDATE": date_of(-6),
            "CLOSEDATE": date_of(8),
        }
        records.create(call_of(who, 6), QUOTE, values, [])


def _books(store: Store, now: datetime, made: str) -> None:
    for number, company, name, inn, kpp, ogrn, director in data.REQUISITES:
        row: Row = {"ID": number, "ENTITY_TYPE_ID": 4, "ENTITY_ID": company, "PRESET_ID": 1, "NAME": "Организация", "SORT": 500}
        row |= {"DATE_CREATE": made, "CREATED_BY_ID": 1, "ACTIVE": "Y", "ADDRESS_ONLY": "N", "RQ_COMPANY_NAME": name}
        _add(store, REQUISITE, row | {"RQ_INN": inn, "RQ_KPP": kpp, "RQ_OGRN": ogrn, "RQ_DIRECTOR": director})
    for number, requisite, name, bank, code, account in data.BANK_DETAILS:
        row = {"ID": number, "ENTITY_ID": requisite, "COUNTRY_ID": 1, "NAME": name, "ACTIVE": "Y", "SORT": 500, "RQ_BANK_NAME": bank}
        _add(store, BANK_DETAIL, row | {"RQ_BIK": code, "RQ_ACC_NUM": account})
    for number, name, rate, sort in data.VATS:
        _add(store, VAT, {"ID": number, "TIMESTAMP_X": made, "ACTIVE": "Y", "C_SORT": sort, "NAME": name, "RATE": rate})
    for number, name, quantity, price, vat in data.PRODUCTS:
        row = {"ID": number, "NAME": name, "QUANTITY": quantity, "AVAILABLE": "Y" if quantity else "N", "PURCHASING_PRICE": price}
        _add(store, PRODUCT, data.ANY_PRODUCT | row | {"VAT_ID": vat, "XML_ID": str(number), "DATE_CREATE": made, "TIMESTAMP_X": made})
    for number, name, bound in data.TEMPLATES:
        row = {"ID": number, "NAME": name, "SORT": 100 * number, "CREATE_TIME": made, "UPDATE_TIME": made, "ENTITY_TYPE_ID": list(bound)}
        _add(store, TEMPLATE, data.ANY_TEMPLATE | row)
    for number, who, phone, way, seconds, code, reason, contact, hours in data.PHONE_CALLS:
        row = {"ID": number, "PORTAL_USER_ID": who, "PHONE_NUMBER": phone, "CALL_TYPE": way, "CALL_DURATION": seconds}
        row |= {"CALL_ID": f"externalCall.{number:08}", "CALL_FAILED_CODE": code, "CALL_FAILED_REASON": reason, "CRM_ENTITY_ID": contact}
        _add(store, PHONE_CALL, data.ANY_CALL | row | {"CALL_START_DATE": store_moment(now - timedelta(hours=hours))})


def _add(store: Store, schema: Schema, row: Row) -> None:
    store.add(schema.kind, dict.fromkeys(schema.fields) | row)
