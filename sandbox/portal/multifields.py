"""Sandbox portal, multifields: applies writes to the phones, e-mails and messengers of a record. These fields hold several entries each."""

from __future__ import annotations

from typing import Any

from sandbox.portal.errors import PortalError
from sandbox.portal.schema import Row
from sandbox.portal.store import Store
from sandbox.portal.values import MULTIFIELDS, to_flag


def classic_changes(store: Store, old: list[Row], fields: Row) -> list[Row]:
    """Apply a write of the old CRM methods to the phones and e-mails in `old` and return all entries after it.

    An element without an ID adds an entry. An element with an ID changes that entry, or removes it if it has DELETE=Y or no VALUE. Entries
    that the write does not mention stay. Raises PortalError for an invalid e-mail.
    """
    result = list(old)
    for kind in MULTIFIELDS:
        given = fields.get(kind)
        for element in _elements(given):
            _check_email(kind, element)
            result = _classic_one(store, result, kind, element)
    return result


def universal_changes(store: Store, old: list[Row], fm: Any) -> list[Row]:
    """Apply a write of `crm.item.*` to the phones and e-mails in `old` and return all entries after it. `fm` is the field of that name.

    A list adds its elements. A map changes the entry whose id is the key (an empty value removes it) and adds an element under any other
    key, such as `n0`. An element with a missing or unknown `typeId` is ignored.
    """
    if isinstance(fm, list):
        return old + [entry for element in fm for entry in _universal_new(store, element)]
    result = list(old)
    for key, element in fm.items() if isinstance(fm, dict) else ():
        if not isinstance(element, dict) or element.get("typeId") not in MULTIFIELDS:
            continue
        known = [m["ID"] for m in result]
        if str(key).isdecimal() and int(key) in known:
            result = _replace(result, int(key), element.get("valueType"), element.get("value"))
        else:
            result += _universal_new(store, element)
    return result


def _elements(given: Any) -> list[Row]:
    items = list(given.values()) if isinstance(given, dict) else given if isinstance(given, list) else []
    return [item for item in items if isinstance(item, dict)]


def _classic_one(store: Store, entries: list[Row], kind: str, element: Row) -> list[Row]:
    value = str(element.get("VALUE") or "")
    mine = str(element.get("ID") or "")
    if mine.isdecimal() and any(m["ID"] == int(mine) and m["TYPE_ID"] == kind for m in entries):
        gone = to_flag(element.get("DELETE")) == "Y"
        return _replace(entries, int(mine), element.get("VALUE_TYPE"), "" if gone else value)
    return entries + _new(store, kind, element.get("VALUE_TYPE"), value) if value else entries


def _replace(entries: list[Row], number: int, value_type: Any, value: Any) -> list[Row]:
    if not value:
        return [m for m in entries if m["ID"] != number]
    return [{**m, "VALUE": str(value), "VALUE_TYPE": str(value_type or m["VALUE_TYPE"])} if m["ID"] == number else m for m in entries]


def _universal_new(store: Store, element: Any) -> list[Row]:
    if not isinstance(element, dict) or element.get("typeId") not in MULTIFIELDS or not element.get("value"):
        return []
    return _new(store, element["typeId"], element.get("valueType"), str(element["value"]))


def _new(store: Store, kind: str, value_type: Any, value: str) -> list[Row]:
    number = store.next_id("multifield")
    return [{"ID": number, "TYPE_ID": kind, "VALUE_TYPE": str(value_type or "WORK"), "VALUE": value}]


def _check_email(kind: str, element: Row) -> None:
    value = element.get("VALUE")
    if kind == "EMAIL" and value and "@" not in str(value):
        raise PortalError(400, "ERROR_CORE", "Некорректный e-mail")
