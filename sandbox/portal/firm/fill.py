"""Sandbox portal, fills a store that holds the sample firm with the invented firm's life; the same hour, size and seed give the same."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from random import Random

from sandbox.portal import schema
from sandbox.portal.firm.deals import Client, Deals, Fate
from sandbox.portal.firm.invoices import Invoices, build_goods
from sandbox.portal.firm.leads import Leads
from sandbox.portal.firm.moments import DAY, write_moment
from sandbox.portal.firm.size import Firm
from sandbox.portal.firm.staff import Staff
from sandbox.portal.firm.words import (
    COMPANY_ENDS,
    COMPANY_KINDS,
    COMPANY_STARTS,
    CURRENCY,
    DEPARTMENT,
    FIRST_NAMES,
    GOODS,
    INVOICE_FUNNEL,
    INVOICE_STAGES,
    LAST_NAMES,
    PEOPLE,
)
from sandbox.portal.firm.work import Work
from sandbox.portal.records import history_kind
from sandbox.portal.schema import Row
from sandbox.portal.schema_smart import INVOICE_TYPE_ID
from sandbox.portal.seed_more_data import ANY_PRODUCT
from sandbox.portal.store import Store

_EMPTIED = ("deal", "lead", "activity", "task", "task_history", "comment", "phone_call", "productrow", "quote", "dynamic_177")
_OWN_KIND = "deal"


def fill_firm(store: Store, now: datetime, firm: Firm, seed: int) -> None:
    """Add people, books and, if the firm has deals, two years of records. `now` is a full hour; all that happened lies before it."""
    second = int(now.timestamp())
    _add_people(store, second)
    _add_books(store, second, firm)
    if not firm.deals:
        for kind in (*_EMPTIED, *(history_kind(number) for number in schema.BY_TYPE_ID)):
            store.remove_where(kind, lambda _: True)
        return
    with _pause_collector():
        _add_life(store, second, firm, f"firm:{seed}")


def _add_life(store: Store, second: int, firm: Firm, salt: str) -> None:
    staff = Staff(second, without_sample=firm.aside)
    clients = _add_clients(store, staff, max(20, firm.deals // 16), Random(f"{salt}:clients"))
    first_lead, first_deal = (1, 1) if firm.aside else (store.preview_id("lead"), store.preview_id("deal"))
    leads = Leads(staff, clients, first_lead, salt)
    store.fill("lead", leads.build(firm.deals // 5), first=first_lead)
    deals = Deals(firm, staff, clients, leads.converted, first_deal, salt)
    store.fill("deal", _fill_own_values(deals.build(), firm, Random(f"{salt}:own")), first=first_deal)
    invoices = Invoices(second, deals.fates, store.preview_id(schema.INVOICE.kind), salt)
    store.fill(schema.INVOICE.kind, invoices.build())
    for number, moves in ((1, leads.moves), (2, deals.moves), (INVOICE_TYPE_ID, invoices.moves)):
        store.fill(history_kind(number), (row for _, row in sorted(moves, key=lambda move: move[0])))
    _add_work(store, Work(staff, clients, deals.fates, leads.fates, salt), deals.fates, salt)


@contextmanager
def _pause_collector() -> Iterator[None]:
    """Keep Python's collector from looking through half a million new rows again and again; they have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def list_own_fields(firm: Firm) -> list[str]:
    """Return the names of the custom fields of deals that the firm adds."""
    return [f"UF_CRM_WIDE_{place:03}" for place in range(1, firm.own_fields + 1)]


def add_own_fields(firm: Firm) -> None:
    """Define the custom fields of a firm. They are those of all portals of this process until `remove_own_fields`."""
    for place, name in enumerate(list_own_fields(firm), 1):
        choices = tuple((place * 10 + number, f"Вариант {number}") for number in range(1, 4)) if place % 3 == 0 else ()
        schema.add_field(_OWN_KIND, f"{name} {'enumeration' if choices else 'string'} D Поле {place}", choices)


def remove_own_fields(firm: Firm) -> None:
    """Take the custom fields of a firm away again."""
    for name in list_own_fields(firm):
        schema.remove_field(_OWN_KIND, name)


def _fill_own_values(rows: Iterable[Row], firm: Firm, chance: Random) -> Iterator[Row]:
    """Give every second deal a value of one of the custom fields that the firm adds."""
    fields = [schema.DEAL.fields[name] for name in list_own_fields(firm)]
    for row in rows:
        if fields and chance.random() < 0.5:
            field = chance.choice(fields)
            row[field.name] = chance.choice(field.choices)[0] if field.choices else f"Значение {chance.randrange(100)}"
        yield row


def _add_people(store: Store, now: int) -> None:
    blank = {"XML_ID": "", "SECOND_NAME": "", "IS_ONLINE": "N", "PERSONAL_GENDER": "", "PERSONAL_MOBILE": "", "USER_TYPE": "employee"}
    for number, name, last, post, department, is_active in PEOPLE:
        row = {"ID": number, "ACTIVE": is_active, "NAME": name, "LAST_NAME": last, "EMAIL": f"colleague{number}@example.ru"}
        row |= {"LAST_LOGIN": write_moment(now - number * 3600), "DATE_REGISTER": write_moment(now - 800 * DAY), "IS_ADMIN": False}
        row |= {"TIME_ZONE": "Europe/Moscow", "WORK_POSITION": post, "WORK_PHONE": f"+7 495 555-01-{number:02}"}
        store.add("user", blank | row | {"UF_DEPARTMENT": [department]})
    number, name, parent, head = DEPARTMENT
    store.add("department", {"ID": number, "NAME": name, "SORT": 500, "PARENT": parent, "UF_HEAD": head})


def _add_books(store: Store, now: int, firm: Firm) -> None:
    number, name, sort = INVOICE_FUNNEL
    funnel = {"ID": number, "NAME": name, "SORT": sort, "IS_DEFAULT": "Y", "ENTITY_TYPE_ID": INVOICE_TYPE_ID}
    store.put("smart_category", funnel)
    for place, (code, title, semantics, colour) in enumerate(INVOICE_STAGES, 1):
        row: Row = {"ENTITY_ID": f"SMART_INVOICE_STAGE_{number}", "STATUS_ID": f"DT{INVOICE_TYPE_ID}_{number}:{code}", "NAME": title}
        row |= {"NAME_INIT": "", "SORT": place * 10, "SYSTEM": "Y", "CATEGORY_ID": number, "COLOR": colour, "SEMANTICS": semantics}
        store.add("status", row)
    made = write_moment(now - 700 * DAY)
    for number, name, price in GOODS:
        row = {"ID": number, "NAME": name, "QUANTITY": 100, "AVAILABLE": "Y", "PURCHASING_PRICE": round(price * 0.7, 2), "VAT_ID": 3}
        row |= {"XML_ID": str(number), "DATE_CREATE": made, "TIMESTAMP_X": made}
        store.add("product", dict.fromkeys(schema.PRODUCT.fields) | ANY_PRODUCT | row)
    if not firm.unrated:
        code, names, rate, units, sort, sign = CURRENCY
        store.add("currency", {"CODE": code, "NAMES": list(names), "AMOUNT": rate, "AMOUNT_CNT": units, "SORT": sort, "SIGN": sign})


def _add_clients(store: Store, staff: Staff, count: int, chance: Random) -> list[Client]:
    first, first_contact = store.preview_id("company"), store.preview_id("contact")
    clients: list[Client] = []
    companies: list[Row] = []
    contacts: list[Row] = []
    for place in range(count):
        bare = f"{COMPANY_STARTS[place % 12]}{COMPANY_ENDS[place // 12 % 10]}" + (f"-{place // 120}" if place >= 120 else "")
        made = staff.now - chance.randrange(1, 900) * DAY
        seller = staff.pick_seller(chance, made)
        common = {"ASSIGNED_BY_ID": seller, "CREATED_BY_ID": 1, "MODIFY_BY_ID": 1, "OPENED": "Y", "DATE_CREATE": write_moment(made)}
        common["DATE_MODIFY"] = write_moment(made + chance.random() * (staff.now - 1 - made))
        has_contact = chance.random() < 0.6
        title = f"{chance.choice(COMPANY_KINDS)} «{bare}»"
        clients.append(Client(first + place, bare, first_contact + len(contacts) if has_contact else 0))
        companies.append(common | {"TITLE": title, "COMPANY_TYPE": "CUSTOMER", "INDUSTRY": chance.choice(("MANUFACTURING", "RETAIL"))})
        if has_contact:
            person = {"NAME": chance.choice(FIRST_NAMES), "LAST_NAME": chance.choice(LAST_NAMES), "COMPANY_ID": first + place}
            contacts.append(common | person | {"TYPE_ID": "CLIENT", "EXPORT": "Y"})
    store.fill("company", companies)
    store.fill("contact", contacts)
    return clients


def _add_work(store: Store, work: Work, deals: list[Fate], salt: str) -> None:
    store.fill("activity", work.build_activities(len(deals)))
    store.fill("phone_call", work.build_calls(len(deals) // 2))
    store.fill("task", work.build_tasks(max(20, len(deals) // 10)))
    store.fill("productrow", build_goods(deals, salt))
