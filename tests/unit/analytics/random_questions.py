"""Random questions of the grammar, most of them valid, with periods as days so that no words have to be read."""

from datetime import date, timedelta
from random import Random
from typing import Any, Final

from tests.unit.analytics.mirror_firm import FIELD, PEOPLE

_MONEY: Final = [
    "count",
    "sum",
    "avg",
    "median",
    "max",
    "won",
    "lost",
    "won_sum",
    "lost_sum",
    "win_rate",
    "days_to_close",
    "median_days_to_close",
]
_TIMES: Final = ["day", "week", "month", "quarter", "year", "weekday", "hour"]
SUBJECTS: Final[dict[str, dict[str, list[Any]]]] = {
    "deals": {
        "where": ["open", "won", "lost", "closed", "overdue", "no_activity", "idle:20", "repeat"],
        "by": ["created", "closed", "expected", "moved"],
        "group_by": [
            "person",
            "department",
            "source",
            "funnel",
            "stage",
            "company",
            "customer",
            "status",
            "lost_from",
            "type",
            "currency",
            FIELD,
            "created:month",
            "closed:week",
        ],
        "measures": [*_MONEY, "weighted", "days_in_stage", "median_days_in_stage", "days_idle", "companies"],
        "filter": [
            "ASSIGNED_BY_ID",
            "SOURCE_ID",
            "COMPANY_ID",
            "STAGE_ID",
            "CATEGORY_ID",
            "CURRENCY_ID",
            "OPPORTUNITY",
            "PROBABILITY",
            FIELD,
        ],
    },
    "leads": {
        "where": ["open", "won", "lost", "closed", "idle:10"],
        "by": ["created", "closed"],
        "group_by": ["person", "department", "source", "stage", "status", "currency"],
        "measures": ["count", "sum", "won", "lost", "conversion", "days_to_close", "median_days_to_close", "hours_to_first_call"],
        "filter": ["ASSIGNED_BY_ID", "SOURCE_ID", "STATUS_ID", "OPPORTUNITY"],
    },
    "calls": {
        "where": ["answered", "missed", "incoming", "outgoing"],
        "by": ["started"],
        "group_by": ["person", "department", "direction", "result"],
        "measures": ["count", "answered", "missed", "missed_rate", "outgoing", "incoming", "minutes", "avg_minutes"],
        "filter": ["PORTAL_USER_ID", "CALL_TYPE", "CALL_DURATION"],
    },
    "activities": {
        "where": ["open", "done", "overdue"],
        "by": ["deadline", "created", "started"],
        "group_by": ["person", "department", "type", "status"],
        "measures": ["count", "done", "overdue"],
        "filter": ["RESPONSIBLE_ID", "TYPE_ID", "COMPLETED"],
    },
    "tasks": {
        "where": ["open", "done", "overdue"],
        "by": ["deadline", "created", "done"],
        "group_by": ["person", "department", "author", "status"],
        "measures": ["count", "done", "overdue"],
        "filter": ["RESPONSIBLE_ID", "CREATED_BY"],
    },
    "moves": {
        "where": ["open", "won", "lost"],
        "by": ["entered", "left"],
        "group_by": ["person", "department", "source", "stage", "from_stage", "funnel", "status"],
        "measures": ["count", "deals", "days", "median_days"],
        "filter": ["ASSIGNED_BY_ID", "STAGE_ID", "CATEGORY_ID"],
    },
    "companies": {
        "where": ["repeat", "idle:90"],
        "by": ["last_won"],
        "group_by": ["company"],
        "measures": ["count", "sum", "avg", "deals"],
        "filter": ["WON_COUNT"],
    },
    "item:31": {
        "where": ["open", "won", "lost", "closed", "overdue", "idle:20"],
        "by": ["created", "closed", "expected", "moved"],
        "group_by": ["person", "department", "stage", "company", "status", "currency", "funnel"],
        "measures": [*_MONEY, "days_in_stage"],
        "filter": ["ASSIGNED_BY_ID", "STAGE_ID", "OPPORTUNITY"],
    },
}
_VALUES: Final[dict[str, list[Any]]] = {
    "SOURCE_ID": ["WEB", "CALL", ""],
    "COMPANY_ID": [1, 2, 3, ""],
    "STAGE_ID": ["NEW", "PREPARATION", "C1:EXECUTING", "DT31_1:S"],
    "STATUS_ID": ["CONVERTED", "JUNK"],
    "CATEGORY_ID": [0, 1],
    "CURRENCY_ID": ["RUB", "USD", "CNY"],
    "TYPE_ID": [1, 2, 4],
    "CALL_TYPE": [1, 2],
    "COMPLETED": [0, 1],
    FIELD: ["44", "45", ""],
}
_AMOUNTS: Final[dict[str, list[int]]] = {
    "OPPORTUNITY": [100_000, 250_000],
    "PROBABILITY": [30, 50],
    "CALL_DURATION": [60, 300],
    "WON_COUNT": [1, 2],
}


def draw_question(random: Random) -> dict[str, Any]:
    of = random.choice([*SUBJECTS, *["deals"] * 7])
    words = SUBJECTS[of]
    question: dict[str, Any] = {"of": of, "measures": random.sample(words["measures"], random.randint(1, min(5, len(words["measures"]))))}
    if random.random() < 0.6:
        question["where"] = random.sample(words["where"], random.choice([1, 1, 1, 2]))
    if random.random() < 0.5:
        question["filter"] = dict([_draw_condition(random, random.choice(words["filter"])) for _ in range(random.choice([1, 1, 2]))])
    if random.random() < 0.7:
        question["period"] = draw_period(random)
        if random.random() < 0.4:
            question["by"] = random.choice(words["by"])
        if random.random() < 0.4:
            question["compare"] = random.choice(["previous", "year_ago", draw_period(random)])
    names = [*words["group_by"], *(_TIMES if question.get("period") else _TIMES[2:])]
    question["group_by"] = random.sample(names, random.choice([0, 1, 1, 1, 2]))
    return question


def draw_period(random: Random) -> dict[str, str]:
    if random.random() < 0.6:
        month, length = random.randrange(2025 * 12 + 3, 2026 * 12 + 11), random.choice([1, 1, 3, 12])
        first, stop = date(month // 12, month % 12 + 1, 1), date((month + length) // 12, (month + length) % 12 + 1, 1)
        return {"from": first.isoformat(), "to": (stop - timedelta(days=1)).isoformat()}
    first = date(2026, 11, 28) - timedelta(days=random.randrange(5, 500))
    return {"from": first.isoformat(), "to": (first + timedelta(days=random.randrange(0, 200))).isoformat()}


def _draw_condition(random: Random, name: str) -> tuple[str, Any]:
    if name in _AMOUNTS:
        sign = random.choice(["<", "<=", ">", ">=", "="])
        return f"{sign}{name}", 0 if sign == "=" and name == "OPPORTUNITY" else random.choice(_AMOUNTS[name])
    values = _VALUES.get(name, list(PEOPLE))
    sign = random.choice(["", "=", "@", "!", "!="])
    return sign + name, random.sample(values, min(2, len(values))) if random.random() < 0.4 else random.choice(values)
