"""Sandbox portal, seed: fills an empty store with the sample company, with all dates relative to the last full hour."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from itertools import count
from random import Random

from sandbox.portal import records, seed_more, stages
from sandbox.portal import seed_data as data
from sandbox.portal.context import Call
from sandbox.portal.schema import COMPANY, CONTACT, DEAL, LEAD, TASK, Row
from sandbox.portal.seed_more_data import DEAL_OWN
from sandbox.portal.store import Contents, Store
from sandbox.portal.values import PORTAL_ZONE, day, store_moment

_MANAGERS = (7, 8, 9)
_FIRST_COMPANY, _FIRST_CONTACT, _FIRST_LEAD = 21, 43, 101
_OWN = tuple(name for name in DEAL.fields if name.startswith("UF_CRM_17473101"))
_OPEN = ("NEW", "PREPARATION", "PREPAYMENT_INVOICE", "EXECUTING", "FINAL_INVOICE")


def fill(store: Store, now: datetime, bulk_deals: int = 0, seed: int = 0) -> None:
    """Write all sample data into an empty store, and `bulk_deals` further deals for measurements.

    The same hour and `seed` give the same data. `seed` changes only the random values of the further deals.
    """
    hour = now.replace(minute=0, second=0, microsecond=0)
    store.refill(_firm(hour))
    _bulk(store, hour, bulk_deals, Random(seed))


@lru_cache(maxsize=4)
def _firm(now: datetime) -> Contents:
    """Return the records of the sample company, without the further deals for measurements.

    The result is cached, because a reset needs it again and its four hundred records take long to create.
    """
    store = Store(None)
    _people(store, now)
    _books(store)
    _contacts(store, now)
    _companies(store, now)
    _deals(store, now)
    _leads(store, now)
    _work(store, now)
    seed_more.fill(store, now, lambda user, days_ago: _call(store, user, now, days_ago), lambda days: _date(now, days))
    contents = store.contents()
    store.close()
    return contents


def _call(store: Store, user: int, now: datetime, days_ago: int) -> Call:
    return Call(store, user, False, now - timedelta(days=days_ago), {}, lambda _event, _data: None, ())


def _date(now: datetime, days: int) -> str:
    return (day(now) + timedelta(days=days)).isoformat()


def _hour(now: datetime, days: int, hour: int) -> str:
    at = now.astimezone(PORTAL_ZONE) + timedelta(days=days)
    return store_moment(at.replace(hour=hour, minute=0, second=0, microsecond=0))


def _people(store: Store, now: datetime) -> None:
    for number, name, last, post, department, email, active in data.USERS:
        store.add(
            "user",
            {
                "ID": number,
                "XML_ID": "",
                "ACTIVE": active,
                "NAME": name,
                "LAST_NAME": last,
                "SECOND_NAME": "",
                "EMAIL": email,
                "LAST_LOGIN": store_moment(now - timedelta(hours=number)),
                "DATE_REGISTER": store_moment(now - timedelta(days=700 - number)),
                "TIME_ZONE": data.ZONES.get(number, "Europe/Moscow"),
                "IS_ONLINE": "N",
                "PERSONAL_GENDER": "",
                "PERSONAL_MOBILE": "",
                "WORK_POSITION": post,
                "WORK_PHONE": f"+7 495 555-01-{number:02}",
                "UF_DEPARTMENT": [department],
                "USER_TYPE": "employee",
                "IS_ADMIN": number == 1,
            },
        )
    for number, name, parent, head in data.DEPARTMENTS:
        store.add("department", {"ID": number, "NAME": name, "SORT": 500, "PARENT": parent, "UF_HEAD": head})


def _books(store: Store) -> None:
    for number, name, sort in data.CATEGORIES:
        store.put("category", {"ID": number, "NAME": name, "SORT": sort})
    for book, prefix, entries, category in (
        ("STATUS", "", data.LEAD_STAGES, None),
        ("DEAL_STAGE", "", data.DEAL_STAGES, 0),
        ("DEAL_STAGE_1", "C1:", data.TENDER_STAGES, 1),
    ):
        for place, (code, name, semantics, colour) in enumerate(entries, 1):
            row = {"ENTITY_ID": book, "STATUS_ID": prefix + code, "NAME": name, "NAME_INIT": "", "SORT": place * 10}
            row |= {"SYSTEM": "N" if prefix else "Y", "CATEGORY_ID": category, "COLOR": colour}
            store.add("status", row | {"SEMANTICS": semantics})
    for book, names in data.BOOKS.items():
        for place, (code, name) in enumerate(names, 1):
            row = {"ENTITY_ID": book, "STATUS_ID": code, "NAME": name, "NAME_INIT": name, "SORT": place * 10}
            store.add("status", row | {"SYSTEM": "N", "CATEGORY_ID": None, "COLOR": None, "SEMANTICS": None})


def _fm(store: Store, *entries: tuple[str, str, str]) -> list[Row]:
    """Return phones and e-mails as stored entries with new ids.

    The first of all ids is 156, because tests expect contact 43 to have an entry with this id.
    """
    return [
        {"ID": store.next_id("multifield", at_least=156), "TYPE_ID": kind, "VALUE_TYPE": use, "VALUE": value}
        for kind, use, value in entries
    ]


def _contacts(store: Store, now: datetime) -> None:
    for place in range(40):
        number = _FIRST_CONTACT + place
        female = place % 2
        last = (data.LAST_NAMES_F if female else data.LAST_NAMES_M)[place // 10]
        values = {
            "ID": number,
            "NAME": data.FIRST_NAMES[place % 10],
            "LAST_NAME": last,
            "POST": data.POSTS[place % 4],
            "COMPANY_ID": _FIRST_COMPANY + place % 15,
            "ASSIGNED_BY_ID": _MANAGERS[place % 3],
            "SOURCE_ID": ("CALL", "WEB", "EMAIL", "PARTNER")[place % 4],
        }
        phones = [("PHONE", "WORK", f"+7 495 555-10-{place:02}")]
        phones += [("PHONE", "MOBILE", f"+7 916 555-20-{place:02}")] if place % 3 == 0 else []
        fm = _fm(store, *phones, ("EMAIL", "WORK", f"contact{number}@example.ru"))
        records.create(_call(store, 7, now, 200 - place), CONTACT, values, fm)


def _companies(store: Store, now: datetime) -> None:
    for place, title in enumerate(data.COMPANIES):
        values = {
            "ID": _FIRST_COMPANY + place,
            "TITLE": title,
            "ASSIGNED_BY_ID": _MANAGERS[place % 3],
            "INDUSTRY": ("MANUFACTURING", "CONSTRUCTION", "RETAIL")[place % 3],
            "EMPLOYEES": f"EMPLOYEES_{place % 3 + 1}",
            "REVENUE": 1_000_000.0 * (place + 3),
        }
        fm = _fm(store, ("PHONE", "WORK", f"+7 812 555-30-{place:02}"), ("EMAIL", "WORK", f"office{place}@example.ru"))
        records.create(_call(store, 6, now, 300 - place), COMPANY, values, fm)


def _deals(store: Store, now: datetime) -> None:
    ready = {row[0]: row for row in data.SPECIAL_DEALS}
    for number in [*range(410, 457), 481]:
        _, title, funnel, stage, amount, who, company, closes = ready.get(number) or _ordinary_deal(number)
        values = {
            "ID": number,
            "TITLE": title,
            "CATEGORY_ID": funnel,
            "STAGE_ID": stage,
            "OPPORTUNITY": float(amount),
            "ASSIGNED_BY_ID": who,
            "COMPANY_ID": _FIRST_COMPANY + company,
            "CONTACT_ID": _FIRST_CONTACT + company,
            "CONTACT_IDS": [_FIRST_CONTACT + company],
            "CLOSEDATE": _date(now, closes),
            "BEGINDATE": _date(now, closes - 30),
            "PROBABILITY": 10 * (number % 10),
            "SOURCE_ID": ("WEB", "CALL", "PARTNER")[number % 3],
            "COMMENTS": data.INJECTION if title == "Северный ветер" else "",
        }
        own = dict(zip(_OWN, DEAL_OWN.get(number, ()), strict=False))
        values |= {name: value for name, value in own.items() if value is not None}
        records.create(_call(store, who, now, 30 - closes), DEAL, values, [])


def _ordinary_deal(number: int) -> tuple[int, str, int, str, int, int, int, int]:
    """Return the values of one ordinary deal: id, title, funnel, stage, sum, manager, company index, days until the close date.

    The values follow from the number. Some of these deals are overdue, some are due soon, some are closed, some are in the second funnel.
    """
    place = number - 424
    company = 4 + place % 11
    funnel = 1 if place % 7 == 6 else 0
    stage = ("WON", "LOSE")[place % 2] if place % 6 == 5 else _OPEN[place % 5]
    name = data.COMPANIES[company].split(" ", 1)[1]
    title = f"{name}: {data.DEAL_TOPICS[(place + place // 11) % 11]}"
    closes = (3, -3, 1, 8, 0, 15, -8, 2, 30, -1)[place % 10]
    who = _MANAGERS[place % 3]
    return number, title, funnel, ("C1:" if funnel else "") + stage, 15_000 * (place + 2), who, company, closes


def _leads(store: Store, now: datetime) -> None:
    for place in range(60):
        poisoned = place == 17
        topic, wish = data.LEAD_TOPICS[place % 5], data.LEAD_WISHES[place % 6]
        values = {
            "ID": _FIRST_LEAD + place,
            "TITLE": "Заявка с сайта: «Полярный экспресс»" if poisoned else f"{topic}: {wish}",
            "NAME": data.FIRST_NAMES[(place + 3) % 10],
            "STATUS_ID": ("NEW", "IN_PROCESS", "PROCESSED", "NEW", "JUNK")[place % 5],
            "OPPORTUNITY": 5_000.0 * (place % 12),
            "ASSIGNED_BY_ID": _MANAGERS[place % 3],
            "SOURCE_ID": ("WEB", "CALL", "EMAIL", "PARTNER")[place % 4],
            "COMMENTS": data.LEAD_INJECTION if poisoned else "",
        }
        fm = _fm(store, ("PHONE", "MOBILE", f"+7 903 555-40-{place:02}"))
        records.create(_call(store, _MANAGERS[place % 3], now, 60 - place), LEAD, values, fm)


def _work(store: Store, now: datetime) -> None:
    for number, (title, who, state, due, deal) in zip(count(8017), data.TASKS, strict=False):
        made = store_moment(now - timedelta(days=12))
        row: Row = dict.fromkeys(TASK.fields) | {
            "ID": number,
            "TITLE": title,
            "DESCRIPTION": "",
            "STATUS": state,
            "REAL_STATUS": state,
            "PRIORITY": 1,
            "RESPONSIBLE_ID": who,
            "CREATED_BY": 6,
            "CHANGED_BY": 6,
            "GROUP_ID": 0,
            "PARENT_ID": 0,
            "COMMENTS_COUNT": 0,
            "CREATED_DATE": made,
            "CHANGED_DATE": made,
            "DEADLINE": None if due is None else _hour(now, due, 18),
            "CLOSED_DATE": made if state == 5 else None,
            "UF_CRM_TASK": [f"D_{deal}"] if deal else None,
        }
        store.add("task", row)
        store.add("task_history", {"TASK_ID": number, "FIELD": "NEW", "FROM": None, "TO": None, "USER_ID": 6, "CREATED": made})
    for number, (deal, text, author) in zip(count(301), data.COMMENTS, strict=False):
        created = store_moment(now - timedelta(days=5, hours=number % 9))
        row = {"ID": number, "ENTITY_ID": deal, "ENTITY_TYPE": "deal", "COMMENT": text, "CREATED": created}
        store.add("comment", row | {"AUTHOR_ID": author, "FILES": []})
    for number, (deal, title, who, due, done) in zip(count(1501), data.TODOS, strict=False):
        store.add("activity", _todo(now, number, deal, title) | _todo_state(now, who, due, done))


def _todo(now: datetime, number: int, deal: int, title: str) -> Row:
    made = store_moment(now - timedelta(days=7))
    return {
        "ID": number,
        "OWNER_ID": deal,
        "OWNER_TYPE_ID": 2,
        "TYPE_ID": 6,
        "PROVIDER_ID": "CRM_TODO",
        "PROVIDER_TYPE_ID": "TODO",
        "SUBJECT": title,
        "DESCRIPTION": "",
        "CREATED": made,
        "LAST_UPDATED": made,
        "PRIORITY": 2,
        "DIRECTION": 0,
        "SETTINGS": [],
    }


def _todo_state(now: datetime, who: int, due: int, done: str) -> Row:
    at = _hour(now, due, 12)
    state = {"COMPLETED": done, "STATUS": 2 if done == "Y" else 1, "DEADLINE": at, "START_TIME": at, "END_TIME": at}
    return state | {"RESPONSIBLE_ID": who, "AUTHOR_ID": who, "EDITOR_ID": who}


def _bulk(store: Store, now: datetime, amount: int, chance: Random) -> None:
    """Add `amount` plain deals for measurements, with random values drawn from `chance`.

    They have only the fields that have a value, to save memory in a large portal.
    """
    made = store_moment(now - timedelta(days=1))
    first = stages.entries(store, "DEAL_STAGE")[0]["STATUS_ID"]
    common = {
        "CATEGORY_ID": 0,
        "STAGE_ID": first,
        "STAGE_SEMANTIC_ID": "P",
        "CURRENCY_ID": "RUB",
        "IS_MANUAL_OPPORTUNITY": "N",
        "DATE_CREATE": made,
        "DATE_MODIFY": made,
        "CREATED_BY_ID": 1,
        "MODIFY_BY_ID": 1,
        "OPENED": "Y",
        "CLOSED": "N",
        "IS_NEW": "Y",
        "BEGINDATE": _date(now, 0),
        "CLOSEDATE": _date(now, 7),
        "CONTACT_IDS": [],
    }
    store.fill(
        "deal",
        (
            common
            | {"TITLE": f"Замер {place + 1}", "OPPORTUNITY": float(chance.randrange(1_000_000)), "ASSIGNED_BY_ID": chance.choice(_MANAGERS)}
            for place in range(amount)
        ),
    )
