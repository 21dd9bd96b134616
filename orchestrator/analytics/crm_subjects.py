"""Deals, leads, smart processes, moves between stages, and companies that bought."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from orchestrator.analytics.vocabulary import (
    Dimension,
    Field,
    Measure,
    Subject,
    build_count,
    build_median,
    build_share,
    build_span,
    build_sum,
)

DEPARTMENT: Final = Dimension("(SELECT p.department FROM person p WHERE p.id = d.person)", "department")
_PERSON: Final = Dimension("d.person", "person")
_WON: Final = "d.semantics = 'S'"
_LOST: Final = "d.semantics = 'F'"
_OPEN: Final = "d.semantics = 'P'"
_CLOSED: Final = "d.semantics <> 'P'"
_LENGTH: Final = "CASE WHEN d.semantics = :length_of THEN d.closed - d.created END"
_IN_STAGE: Final = f"CASE WHEN {_OPEN} THEN :now - d.moved END"
_IDLE: Final = f"CASE WHEN {_OPEN} THEN :now - d.active END"
CHANCE: Final = "(SELECT c.share FROM chance c WHERE c.funnel = d.funnel AND c.stage = d.stage)"
BOUGHT_BEFORE: Final = (
    "EXISTS (SELECT 1 FROM deal e WHERE e.company = d.company AND e.semantics = 'S' AND e.closed < coalesce(d.closed, :now + 1))"
)
"""Of others' deals no more than this yes or no: it is a quality of the record itself."""
WITHOUT_ACTIVITY: Final = "NOT EXISTS (SELECT 1 FROM activity a WHERE a.owner_type = 2 AND a.owner = d.id AND a.is_done = 0)"
"""Anybody's planned activity counts, for the same reason."""

_SUMS: Final[Mapping[str, Measure]] = MappingProxyType(
    {
        "count": Measure("count", ("count(*)",)),
        "sum": build_sum("d.base"),
        "avg": Measure("money", ("coalesce(sum(nullif(d.base, 0)), 0)", "count(nullif(d.base, 0))"), "ratio"),
        "avg_with_zeros": Measure("money", ("coalesce(sum(d.base), 0)", "count(d.base)"), "ratio"),
        "median": Measure("money", ("median(nullif(d.base, 0))",), "alone"),
        "median_with_zeros": Measure("money", ("median(d.base)",), "alone"),
        "max": Measure("money", ("max(d.base)",), "max"),
    }
)
_ENDS: Final[Mapping[str, Measure]] = MappingProxyType(
    {
        "won": build_count(_WON),
        "lost": build_count(_LOST),
        "won_sum": build_sum("d.base", _WON),
        "lost_sum": build_sum("d.base", _LOST),
        "win_rate": build_share(_WON, _CLOSED),
        "days_to_close": build_span(_LENGTH, of_state="closed"),
        "median_days_to_close": build_median(_LENGTH, of_state="closed"),
    }
)
_STANDING: Final[Mapping[str, Measure]] = MappingProxyType(
    {
        "days_in_stage": build_span(_IN_STAGE, of_state="open"),
        "median_days_in_stage": build_median(_IN_STAGE, of_state="open"),
    }
)
_STATES: Final[Mapping[str, str]] = MappingProxyType({"open": _OPEN, "won": _WON, "lost": _LOST, "closed": _CLOSED})
_IDLE_SINCE_MOVE: Final = f"{_OPEN} AND d.moved < :now - :days * 86400"
_OVERDUE: Final = f"{_OPEN} AND d.expected < :today"
_RECORD_FIELDS: Final[Mapping[str, Field]] = MappingProxyType(
    {
        "ID": Field("d.id", "number"),
        "ASSIGNED_BY_ID": Field("d.person", "number"),
        "SOURCE_ID": Field("d.source", "code"),
        "COMPANY_ID": Field("d.company", "number"),
        "CURRENCY_ID": Field("d.currency", "code"),
        "OPPORTUNITY": Field("d.base", "money"),
        "DATE_CREATE": Field("d.created", "moment"),
        "DATE_MODIFY": Field("d.modified", "moment"),
        "MOVED_TIME": Field("d.moved", "moment"),
    }
)
_RECORD_DIMENSIONS: Final[Mapping[str, Dimension]] = MappingProxyType(
    {
        "person": _PERSON,
        "department": DEPARTMENT,
        "source": Dimension("d.source", "source"),
        "stage": Dimension("d.stage", "stage"),
        "company": Dimension("d.company", "company"),
        "status": Dimension("d.semantics"),
        "currency": Dimension("d.currency"),
    }
)

DEALS: Final = Subject(
    name="deals",
    record="deal",
    source="deal d",
    times={
        "created": Field("d.created", "moment"),
        "closed": Field("d.closed", "moment"),
        "expected": Field("d.expected", "day"),
        "moved": Field("d.moved", "moment"),
    },
    usual_time="created",
    states={
        **_STATES,
        "overdue": _OVERDUE,
        "no_activity": f"{_OPEN} AND {WITHOUT_ACTIVITY}",
        "idle": _IDLE_SINCE_MOVE,
        "idle_by_activity": f"{_OPEN} AND d.active < :now - :days * 86400",
        "repeat": f"d.company IS NOT NULL AND {BOUGHT_BEFORE}",
    },
    measures={
        **_SUMS,
        **_ENDS,
        **_STANDING,
        "weighted": Measure(
            "money",
            (f"coalesce(sum(CASE WHEN {_OPEN} THEN CAST(round(d.base * coalesce(d.probability / 100.0, {CHANCE})) AS INTEGER) END), 0)",),
            of_state="open",
        ),
        "weighted_by_history": Measure(
            "money", (f"coalesce(sum(CASE WHEN {_OPEN} THEN CAST(round(d.base * {CHANCE}) AS INTEGER) END), 0)",), of_state="open"
        ),
        "weighted_by_field": Measure(
            "money",
            (f"coalesce(sum(CASE WHEN {_OPEN} THEN CAST(round(d.base * d.probability / 100.0) AS INTEGER) END), 0)",),
            of_state="open",
        ),
        "days_idle": build_span(_IDLE, of_state="open"),
        "median_days_idle": build_median(_IDLE, of_state="open"),
        "companies": Measure("count", ("count(DISTINCT d.company)",), "alone"),
    },
    dimensions={
        **_RECORD_DIMENSIONS,
        "funnel": Dimension("d.funnel", "funnel"),
        "type": Dimension("d.type", "type"),
        "customer": Dimension(f"CASE WHEN d.company IS NULL THEN NULL WHEN {BOUGHT_BEFORE} THEN 'repeat' ELSE 'new' END"),
        "lost_from": Dimension(
            "(SELECT m.came_from FROM move m WHERE m.deal = d.id AND m.type = 3 ORDER BY m.entered DESC, m.id DESC LIMIT 1)", "stage"
        ),
    },
    fields={
        **_RECORD_FIELDS,
        "STAGE_ID": Field("d.stage", "code"),
        "STAGE_SEMANTIC_ID": Field("d.semantics", "code"),
        "CATEGORY_ID": Field("d.funnel", "number"),
        "TYPE_ID": Field("d.type", "code"),
        "CONTACT_ID": Field("d.contact", "number"),
        "LEAD_ID": Field("d.lead", "number"),
        "PROBABILITY": Field("d.probability", "percent"),
        "CLOSEDATE": Field("d.expected", "day"),
        "LAST_ACTIVITY_TIME": Field("d.active", "moment"),
    },
)
_READ: Final = ("NULL",)
"""Counted by code from product rows."""
PRODUCTS: Final = Subject(
    name="products",
    record="deal",
    source="deal d",
    times=DEALS.times,
    usual_time="created",
    states=DEALS.states,
    measures={
        "sum": Measure("money", _READ),
        "quantity": Measure("count", _READ),
        "deals": Measure("count", _READ, "alone"),
        "discount": Measure("money", _READ),
        "discount_rate": Measure("percent", (*_READ, *_READ), "ratio", 100),
    },
    dimensions={**DEALS.dimensions, "product": Dimension("NULL", "product")},
    fields=DEALS.fields,
)
LEADS: Final = Subject(
    name="leads",
    record="lead",
    source="lead d",
    times={"created": Field("d.created", "moment"), "closed": Field("d.closed", "moment")},
    usual_time="created",
    states={**_STATES, "idle": _IDLE_SINCE_MOVE},
    measures={
        "count": _SUMS["count"],
        "sum": _SUMS["sum"],
        "won": _ENDS["won"],
        "lost": _ENDS["lost"],
        "conversion": build_share(_WON, "1"),
        "days_to_close": _ENDS["days_to_close"],
        "median_days_to_close": _ENDS["median_days_to_close"],
        **_STANDING,
        "hours_to_first_call": build_span("d.called - d.created", unit="hours"),
        "median_hours_to_first_call": build_median("d.called - d.created", unit="hours"),
    },
    dimensions=_RECORD_DIMENSIONS,
    fields={**_RECORD_FIELDS, "STATUS_ID": Field("d.stage", "code"), "STATUS_SEMANTIC_ID": Field("d.semantics", "code")},
)
COMPANIES: Final = Subject(
    name="companies",
    record="company",
    source=(
        "(SELECT company AS id, max(closed) AS last_won, min(closed) AS first_won, count(*) AS deals, coalesce(sum(base), 0) AS base"
        " FROM deal WHERE semantics = 'S' AND company IS NOT NULL{owner} GROUP BY company) d"
    ),
    owner="person",
    times={"last_won": Field("d.last_won", "moment"), "first_won": Field("d.first_won", "moment")},
    usual_time="last_won",
    states={"repeat": "d.deals > 1", "idle": "d.last_won < :now - :days * 86400"},
    measures={
        "count": _SUMS["count"],
        "sum": _SUMS["sum"],
        "avg": _SUMS["avg"],
        "avg_with_zeros": _SUMS["avg_with_zeros"],
        "deals": Measure("count", ("coalesce(sum(d.deals), 0)",)),
    },
    dimensions={"company": Dimension("d.id", "company")},
    fields={
        "ID": Field("d.id", "number"),
        "LAST_WON": Field("d.last_won", "moment"),
        "FIRST_WON": Field("d.first_won", "moment"),
        "WON_COUNT": Field("d.deals", "number"),
        "WON_SUM": Field("d.base", "money"),
    },
)
"""Those that have bought: of a restricted person, only by the deals that this person sees."""

_STAY: Final = "CASE WHEN d.left IS NOT NULL THEN d.left - d.entered END"
_SORT_BEFORE: Final = (
    "(SELECT s.sort FROM stage s WHERE s.kind = 'deal' AND s.funnel = d.funnel AND s.code = d.came_from AND s.semantics <> 'F')"
)
_SORT: Final = "(SELECT s.sort FROM stage s WHERE s.kind = 'deal' AND s.funnel = d.funnel AND s.code = d.stage)"
BACKWARDS: Final = f"d.semantics = 'P' AND {_SORT_BEFORE} > {_SORT}"
"""A deal that was lost and is worked on again has not moved back: the stages of failure come after all others."""
MOVES: Final = Subject(
    name="moves",
    record="deal",
    source="move d JOIN deal o ON o.id = d.deal",
    owner="o.person",
    times={"entered": Field("d.entered", "moment"), "left": Field("d.left", "moment")},
    usual_time="entered",
    states=_STATES,
    measures={
        "count": _SUMS["count"],
        "deals": Measure("count", ("count(DISTINCT d.deal)",), "alone"),
        "days": build_span(_STAY),
        "median_days": build_median(_STAY),
    },
    dimensions={
        "person": Dimension("o.person", "person"),
        "department": Dimension("(SELECT p.department FROM person p WHERE p.id = o.person)", "department"),
        "source": Dimension("o.source", "source"),
        "company": Dimension("o.company", "company"),
        "stage": Dimension("d.stage", "stage"),
        "from_stage": Dimension("d.came_from", "stage"),
        "funnel": Dimension("d.funnel", "funnel"),
        "status": Dimension("d.semantics"),
    },
    fields={
        "DEAL_ID": Field("d.deal", "number"),
        "STAGE_ID": Field("d.stage", "code"),
        "FROM_STAGE_ID": Field("d.came_from", "code"),
        "CATEGORY_ID": Field("d.funnel", "number"),
        "ASSIGNED_BY_ID": Field("o.person", "number"),
        "SOURCE_ID": Field("o.source", "code"),
        "COMPANY_ID": Field("o.company", "number"),
        "OPPORTUNITY": Field("o.base", "money"),
    },
)


def build_item_subject(type_number: int) -> Subject:
    return Subject(
        name=f"item:{type_number}",
        record=f"item:{type_number}",
        source="item d",
        condition=f"d.type = {type_number:d}",
        times={key: DEALS.times[key] for key in ("created", "closed", "expected", "moved")},
        usual_time="created",
        states={**_STATES, "overdue": _OVERDUE, "idle": _IDLE_SINCE_MOVE},
        measures={**_SUMS, **_ENDS, **_STANDING},
        dimensions={**_RECORD_DIMENSIONS, "funnel": DEALS.dimensions["funnel"]},
        fields={
            **_RECORD_FIELDS,
            "STAGE_ID": Field("d.stage", "code"),
            "CATEGORY_ID": Field("d.funnel", "number"),
            "DEAL_ID": Field("d.deal", "number"),
            "CLOSEDATE": Field("d.expected", "day"),
        },
    )
