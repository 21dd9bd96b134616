"""Names of the grammar: what else people and models call them, and the nearest one to a name that is none."""

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Final

_NEAR_ENOUGH: Final = 0.72
_LONGEST: Final = 60

SUBJECT_SYNONYMS: Final[Mapping[str, str]] = {
    "deal": "deals",
    "lead": "leads",
    "call": "calls",
    "activity": "activities",
    "task": "tasks",
    "move": "moves",
    "stage_moves": "moves",
    "company": "companies",
    "clients": "companies",
    "customers": "companies",
    "product": "products",
    "invoices": "item:31",
    "invoice": "item:31",
}
DIMENSION_SYNONYMS: Final[Mapping[str, str]] = {
    "manager": "person",
    "responsible": "person",
    "user": "person",
    "employee": "person",
    "owner": "person",
    "assigned_by_id": "person",
    "responsible_id": "person",
    "category": "funnel",
    "category_id": "funnel",
    "pipeline": "funnel",
    "client": "company",
    "company_id": "company",
    "source_id": "source",
    "stage_id": "stage",
    "status_id": "stage",
    "type_id": "type",
    "currency_id": "currency",
    "days": "day",
    "weeks": "week",
    "months": "month",
    "quarters": "quarter",
    "years": "year",
}
MEASURE_SYNONYMS: Final[Mapping[str, str]] = {
    "revenue": "won_sum",
    "sales": "won_sum",
    "amount": "sum",
    "total": "sum",
    "number": "count",
    "quantity": "count",
    "avg_check": "avg",
    "average": "avg",
    "mean": "avg",
    "forecast": "weighted",
    "conversion_rate": "conversion",
    "winrate": "win_rate",
    "clients": "companies",
    "duration": "minutes",
}
STATE_SYNONYMS: Final[Mapping[str, str]] = {
    "pipeline": "open",
    "active": "open",
    "successful": "won",
    "success": "won",
    "failed": "lost",
    "completed": "done",
    "stuck": "idle",
    "without_activity": "no_activity",
}

_FORMER_OWNERS: Final = (
    "from_person", "former_person", "previous_person", "old_person", "to_person", "from_manager", "former_manager", "previous_manager",
    "from_responsible", "from_user", "from_owner", "former_owner", "previous_owner", "old_owner", "handed_by", "reassigned_by",
    "transferred_by",
)  # fmt: skip
_FORMER_SUMS: Final = ("from_sum", "former_sum", "previous_sum", "old_sum", "from_amount", "former_amount", "previous_amount", "old_amount")
_MOVERS: Final = ("moved_by", "moved_by_id", "mover")
UNKEPT: Final[Mapping[str, str]] = {
    **dict.fromkeys(_FORMER_OWNERS, "owners"),
    **dict.fromkeys(_FORMER_SUMS, "sums"),
    **dict.fromkeys(_MOVERS, "movers"),
}
"""Names of what the portal's API does not tell → the reason in data/analytics/words.yaml."""


def find_nearest(name: str, known: Iterable[str]) -> str:
    """ "" if none is near."""
    query = name.lower()[:_LONGEST]
    worth = {code: SequenceMatcher(None, query, code.lower(), autojunk=False).ratio() for code in known}
    best = max(worth, key=lambda code: (worth[code], code), default="")
    return best if best and worth[best] >= _NEAR_ENOUGH else ""


def suggest_name(name: str, known: Iterable[str]) -> str:
    """« (did you mean "deals"?)», or nothing."""
    nearest = find_nearest(name, known)
    return f' (did you mean "{nearest}"?)' if nearest else ""


def show_name(name: object) -> str:
    """As much of it as a sentence may quote."""
    line = " ".join(str(name).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
