"""A firm with a life, as rows of the mirror: deterministic by its seed. What the portal's loader would derive is derived here by hand."""

import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

from state.mirror.schema import INDEXES, TABLES

ZONE: Final = "Europe/Moscow"
NOW: Final = datetime(2026, 11, 28, 15, 0, tzinfo=UTC)
OPEN: Final = ("NEW", "PREPARATION", "PREPAYMENT_INVOICE", "EXECUTING", "FINAL_INVOICE")
SORTS: Final = {
    code: 10 * place
    for place, code in enumerate(("NEW", "PREPARATION", "PREPAYMENT_INVOICE", "EXECUTING", "FINAL_INVOICE", "WON", "LOSE", "APOLOGY"), 1)
}
PEOPLE: Final = {
    7: (1, 1),
    8: (1, 1),
    9: (1, 1),
    11: (1, 1),
    12: (2, 1),
    13: (2, 1),
    14: (2, 1),
    15: (3, 1),
    16: (3, 1),
    17: (3, 1),
    18: (3, 0),
    19: (2, 0),
}
RATES: Final = {"RUB": 1.0, "USD": 92.5, "EUR": 100.25}
SOURCES: Final = ("CALL", "WEB", "ADVERTISING", "PARTNER", None)
FIELD: Final = "UF_CRM_1747310101"


@dataclass
class Firm:
    """Tables by name; each row a dict by column."""

    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        connection.executescript(TABLES + INDEXES)
        for table, rows in self.tables.items():
            if rows:
                columns = list(rows[0])
                marks = ", ".join("?" for _ in columns)
                connection.executemany(
                    f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})",  # noqa: S608 - of this file
                    ([row[name] for name in columns] for row in rows),
                )
        connection.commit()
        connection.execute("ANALYZE")
        connection.close()
        return path


def build_firm(deals: int = 600, seed: int = 23, now: datetime = NOW, zone: str = ZONE) -> Firm:
    random = Random(seed)  # noqa: S311 - questions are no secret
    firm = Firm({"meta": [{"name": "as_of", "value": str(int(now.timestamp()) - 120)}]})
    _add_books(firm)
    _add_deals(firm, deals, random, now, ZoneInfo(zone))
    _add_leads(firm, deals // 3, random, now)
    _add_items(firm, deals // 6, random, now, ZoneInfo(zone))
    _add_work(firm, deals, random, now)
    derive_chances(firm, now)
    return firm


def _add_books(firm: Firm) -> None:
    stages = []
    for funnel, prefix in ((0, ""), (1, "C1:")):
        stages += [
            {
                "kind": "deal",
                "funnel": funnel,
                "code": prefix + code,
                "sort": sort,
                "semantics": "S" if code == "WON" else "P" if code in OPEN else "F",
            }
            for code, sort in SORTS.items()
        ]
    lead_stages = (("NEW", "P"), ("IN_PROCESS", "P"), ("PROCESSED", "P"), ("CONVERTED", "S"), ("JUNK", "F"))
    stages += [
        {"kind": "lead", "funnel": 0, "code": code, "sort": 10 * place, "semantics": sign}
        for place, (code, sign) in enumerate(lead_stages, 1)
    ]
    item_stages = (("DT31_1:N", "P"), ("DT31_1:S", "P"), ("DT31_1:P", "S"), ("DT31_1:D", "F"))
    stages += [
        {"kind": "item:31", "funnel": 1, "code": code, "sort": 10 * place, "semantics": sign}
        for place, (code, sign) in enumerate(item_stages, 1)
    ]
    firm.tables["stage"] = stages
    firm.tables["person"] = [
        {"id": number, "department": department, "is_active": active} for number, (department, active) in PEOPLE.items()
    ]
    firm.tables["rate"] = [
        {"currency": code, "amount": rate, "is_base": int(code == "RUB"), "updated": "2026-11-27"} for code, rate in RATES.items()
    ]


def _choose_money(random: Random) -> tuple[str, int | None, int | None]:
    currency = random.choices(["RUB", "USD", "EUR", "CNY"], [92, 4, 3, 1])[0]
    amount = round(random.lognormvariate(11.6, 1.0) / (1 if currency == "RUB" else 92) * 100)
    if random.random() < 0.05:
        amount = random.choice([0, None])
    if amount is None:
        return currency, None, None
    return currency, amount, round(amount * RATES[currency]) if currency in RATES else (0 if amount == 0 else None)


def _choose_company(random: Random, count: int) -> int | None:
    """Some buy often, many once."""
    if random.random() < 0.07:
        return None
    return 1 + min(int(random.paretovariate(1.1) * 3), 60) if random.random() < 0.4 else 100 + random.randrange(max(10, count))


def _add_deals(firm: Firm, count: int, random: Random, now: datetime, zone: ZoneInfo) -> None:
    deals, moves, choices = [], [], []
    people, weights = list(PEOPLE), [9, 8, 5, 4, 8, 7, 6, 5, 5, 4, 3, 2]
    second = int(now.timestamp())
    for number in range(1, count + 1):
        funnel = int(random.random() < 0.18)
        prefix = "C1:" if funnel else ""
        created = second - int(random.betavariate(1, 1.25) * 760 * 86400) - random.randrange(86400)
        if random.random() < 0.1:  # at midnight, often of the first of a month
            day = datetime.fromtimestamp(created, zone).replace(hour=0, minute=0, second=0)
            created = int((day.replace(day=1) if random.random() < 0.7 else day).timestamp())
        path, semantics = _live(random, created, second, prefix, funnel)
        for place, (type_number, stage, sign, moment) in enumerate(path):
            moves.append(
                {
                    "id": 0, "deal": number, "type": type_number, "funnel": funnel, "stage": stage, "semantics": sign, "entered": moment,
                    "left": path[place + 1][3] if place + 1 < len(path) else None, "came_from": path[place - 1][1] if place else None,
                }
            )  # fmt: skip
        currency, amount, base = _choose_money(random)
        moved = path[-1][3]
        closed = moved if semantics != "P" else None
        has_history = number % 97 != 0
        if not has_history:
            moves = [move for move in moves if move["deal"] != number]
        known = path if has_history else path[-1:]
        reached = [SORTS[stage.removeprefix("C1:")] for _, stage, sign, _ in known if sign != "F"]
        end = moved if closed and random.random() < 0.95 else created + random.randrange(7, 120) * 86400
        active = min(second, moved + int(random.expovariate(1 / 48) * 3600))
        deals.append(
            {
                "id": number, "funnel": funnel, "stage": path[-1][1], "semantics": semantics,
                "person": random.choices(people, weights)[0] if random.random() > 0.01 else None,
                "company": _choose_company(random, count),
                "contact": None, "lead": None, "source": random.choices(SOURCES, [30, 35, 15, 14, 6])[0],
                "type": random.choice(["SALE", "SERVICES", "GOODS"]), "currency": currency, "amount": amount, "base": base,
                "probability": None if random.random() < 0.7 else random.choice([0, 10, 30, 50, 70, 90]) or None,
                "created": created, "modified": active, "moved": moved, "active": active,
                "expected": datetime.fromtimestamp(end, zone).date().isoformat() if random.random() > 0.03 else None,
                "closed": closed, "reached": max(reached, default=None),
            }
        )  # fmt: skip
        if random.random() < 0.6:
            values = random.sample(["44", "45", "46", "47"], random.choice([1, 1, 1, 2]))
            choices += [{"kind": "deal", "record": number, "field": FIELD, "value": value} for value in values]
            choices.append({"kind": random.choice(["lead", "item:31"]), "record": number, "field": FIELD, "value": "44"})
    moves.sort(key=lambda move: (move["entered"], move["deal"]))
    for place, move in enumerate(moves, 1):
        move["id"] = place
    firm.tables |= {"deal": deals, "move": moves, "choice": choices}


def _live(random: Random, created: int, now: int, prefix: str, funnel: int) -> tuple[list[tuple[int, str, str, int]], str]:
    moment, step, path = created, 0, [(1, prefix + OPEN[0], "P", created)]
    fate, final = random.random(), ""
    while True:
        moment += max(60, int(random.expovariate(1 / (4 + 3 * step)) * 86400))
        if moment >= now:
            break
        if random.random() < 0.06 and step > 0:
            step -= 1
            path.append((2, prefix + OPEN[step], "P", moment))
            continue
        if fate < 0.33 and step == 4:
            final = "WON"
        elif fate >= 0.33 and random.random() < 0.22:
            final = "LOSE" if random.random() < 0.8 else "APOLOGY"
        if final:
            path.append((3, prefix + final, "S" if final == "WON" else "F", moment))
            break
        if step < 4:
            step += 2 if step < 3 and random.random() < 0.08 else 1
            path.append((2, prefix + OPEN[step], "P", moment))
    if final and random.random() < 0.02 and moment + 3 * 86400 < now:  # reopened: open, with an old final row
        path.append((2, prefix + OPEN[3], "P", moment + 2 * 86400))
        return path, "P"
    return path, {"": "P", "WON": "S"}.get(final, "F")


def _add_leads(firm: Firm, count: int, random: Random, now: datetime) -> None:
    second, leads = int(now.timestamp()), []
    for number in range(1, count + 1):
        created = second - int(random.random() * 540 * 86400)
        stage, sign = random.choices(
            [("NEW", "P"), ("IN_PROCESS", "P"), ("PROCESSED", "P"), ("CONVERTED", "S"), ("JUNK", "F")], [4, 8, 6, 40, 42]
        )[0]
        moved = min(second, created + int(random.expovariate(1 / 3) * 86400))
        currency, amount, base = _choose_money(random)
        leads.append(
            {
                "id": number, "stage": stage, "semantics": sign, "person": random.choice(list(PEOPLE)), "company": None,
                "source": random.choices(SOURCES, [20, 50, 15, 10, 5])[0], "currency": currency, "amount": amount, "base": base,
                "created": created, "modified": moved, "moved": moved, "closed": moved if sign != "P" else None,
                "called": min(second, created + random.randrange(300, 200_000)) if random.random() < 0.6 else None,
            }
        )  # fmt: skip
    firm.tables["lead"] = leads


def _add_items(firm: Firm, count: int, random: Random, now: datetime, zone: ZoneInfo) -> None:
    second, items = int(now.timestamp()), []
    for number in range(1, count + 1):
        created = second - int(random.random() * 400 * 86400)
        stage, sign = random.choices([("DT31_1:N", "P"), ("DT31_1:S", "P"), ("DT31_1:P", "S"), ("DT31_1:D", "F")], [2, 3, 6, 1])[0]
        moved = min(second, created + random.randrange(1, 30) * 86400)
        currency, amount, base = _choose_money(random)
        items.append(
            {
                "type": 31, "id": number, "funnel": 1, "stage": stage, "semantics": sign, "person": random.choice(list(PEOPLE)),
                "company": random.randrange(1, 60), "deal": random.randrange(1, 100), "source": None, "currency": currency, "amount": amount,
                "base": base, "created": created, "modified": moved, "moved": moved,
                "expected": datetime.fromtimestamp(created + 14 * 86400, zone).date().isoformat(), "closed": moved if sign != "P" else None,
            }
        )  # fmt: skip
    firm.tables["item"] = items


def _add_work(firm: Firm, count: int, random: Random, now: datetime) -> None:
    second = int(now.timestamp())
    people = list(PEOPLE)
    activities, calls, tasks = [], [], []
    for number in range(1, count + 1):
        created = second - int(random.random() * 200 * 86400)
        kind = random.choices([1, 2, 4, 6], [10, 50, 20, 20])[0]
        activities.append(
            {
                "id": number, "owner_type": random.choice([2, 2, 2, 1]), "owner": random.randrange(1, count + 1), "type": kind, "provider": f"P{kind}",
                "person": random.choice(people), "direction": random.choice([1, 2]), "created": created, "started": created + 600,
                "deadline": created + random.randrange(1, 20) * 86400 if random.random() < 0.95 else None,
                "is_done": int(random.random() < 0.85), "modified": created,
            }
        )  # fmt: skip
        code = random.choices(["200", "304", "486", "603-S", None], [70, 18, 6, 4, 2])[0]
        calls.append(
            {
                "id": number, "person": random.choice(people) if random.random() > 0.02 else None, "direction": random.choices([1, 2, 3], [58, 38, 4])[0],
                "code": code, "seconds": random.randrange(5, 900) if code == "200" else 0, "started": second - int(random.random() * 180 * 86400),
                "owner_type": None, "owner": None,
            }
        )  # fmt: skip
        if number % 3 == 0:
            made = second - int(random.random() * 150 * 86400)
            done = min(second, made + random.randrange(1, 30) * 86400) if random.random() < 0.7 else None
            tasks.append(
                {
                    "id": number, "person": random.choice(people), "author": random.choice(people), "status": 5 if done else 2, "created": made,
                    "modified": done or made, "deadline": made + random.randrange(1, 25) * 86400 if random.random() < 0.8 else None, "done": done,
                }
            )  # fmt: skip
    firm.tables |= {"activity": activities, "call": calls, "task": tasks}


def derive_chances(firm: Firm, now: datetime) -> None:
    """The share of won among the deals that were on the stage and closed within a year; of a stage of fewer than 30 that of its funnel."""
    year_ago = int((now - timedelta(days=365)).timestamp())
    ended = {deal["id"]: deal for deal in firm.tables["deal"] if deal["closed"] is not None and deal["closed"] >= year_ago}
    visits: dict[tuple[int, str], set[int]] = {}
    for move in firm.tables["move"]:
        if move["deal"] in ended:
            visits.setdefault((move["funnel"], move["stage"]), set()).add(move["deal"])
    chances = []
    for stage in firm.tables["stage"]:
        if stage["kind"] != "deal" or stage["semantics"] != "P":
            continue
        visitors = [ended[number] for number in visits.get((stage["funnel"], stage["code"]), ())]
        if len(visitors) < 30:
            visitors = [deal for deal in ended.values() if deal["funnel"] == stage["funnel"]]
        if visitors:
            share = sum(deal["semantics"] == "S" for deal in visitors) / len(visitors)
            chances.append({"funnel": stage["funnel"], "stage": stage["code"], "share": share, "closed": len(visitors)})
    firm.tables["chance"] = chances
