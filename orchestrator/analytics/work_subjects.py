"""Calls, activities and tasks."""

from typing import Final

from orchestrator.analytics.crm_subjects import DEPARTMENT
from orchestrator.analytics.vocabulary import Dimension, Field, Measure, Subject, build_count, build_share, build_span

_COUNT: Final = Measure("count", ("count(*)",))
_PERSON: Final = Dimension("d.person", "person")
_INCOMING: Final = "d.direction IN (2, 3)"
_MISSED: Final = f"{_INCOMING} AND coalesce(d.code, '') = '304'"
_ANSWERED: Final = "coalesce(d.code, '') = '200'"

CALLS: Final = Subject(
    name="calls",
    record="call",
    source="call d",
    times={"started": Field("d.started", "moment")},
    usual_time="started",
    states={
        "answered": _ANSWERED,
        "missed": _MISSED,
        "incoming": _INCOMING,
        "outgoing": f"NOT {_INCOMING}",
    },
    measures={
        "count": _COUNT,
        "answered": build_count(_ANSWERED),
        "missed": build_count(_MISSED),
        "missed_rate": build_share(_MISSED, _INCOMING),
        "outgoing": build_count(f"NOT {_INCOMING}"),
        "incoming": build_count(_INCOMING),
        "minutes": Measure("minutes", ("coalesce(sum(d.seconds), 0)",), scale=1 / 60),
        "avg_minutes": build_span(f"CASE WHEN {_ANSWERED} THEN d.seconds END", unit="minutes"),
    },
    dimensions={
        "person": _PERSON,
        "department": DEPARTMENT,
        "direction": Dimension(f"CASE WHEN {_INCOMING} THEN 'incoming' ELSE 'outgoing' END"),
        "result": Dimension(f"CASE WHEN {_ANSWERED} THEN 'answered' WHEN {_MISSED} THEN 'missed' ELSE 'failed' END"),
    },
    fields={
        "PORTAL_USER_ID": Field("d.person", "number"),
        "CALL_TYPE": Field("d.direction", "number"),
        "CALL_FAILED_CODE": Field("d.code", "code"),
        "CALL_DURATION": Field("d.seconds", "number"),
        "CALL_START_DATE": Field("d.started", "moment"),
    },
)
_IN_ACTIVITY: Final = "d.direction = 1"
CALL_ACTIVITIES: Final = Subject(
    name="calls",
    record="activity",
    source="activity d",
    condition="d.type = 2",
    times={"started": Field("d.started", "moment")},
    usual_time="started",
    states={"incoming": _IN_ACTIVITY, "outgoing": f"NOT coalesce({_IN_ACTIVITY}, 0)"},
    measures={
        "count": _COUNT,
        "outgoing": build_count(f"NOT coalesce({_IN_ACTIVITY}, 0)"),
        "incoming": build_count(f"coalesce({_IN_ACTIVITY}, 0)"),
    },
    dimensions={
        "person": _PERSON,
        "department": DEPARTMENT,
        "direction": Dimension(f"CASE WHEN {_IN_ACTIVITY} THEN 'incoming' ELSE 'outgoing' END"),
    },
    fields={
        "PORTAL_USER_ID": Field("d.person", "number"),
        "RESPONSIBLE_ID": Field("d.person", "number"),
        "CALL_START_DATE": Field("d.started", "moment"),
    },
)
"""Without the statistics of telephony calls are activities, which know neither their length nor whether somebody answered."""
ACTIVITIES: Final = Subject(
    name="activities",
    record="activity",
    source="activity d",
    times={
        "deadline": Field("d.deadline", "moment"),
        "created": Field("d.created", "moment"),
        "started": Field("d.started", "moment"),
    },
    usual_time="deadline",
    states={"open": "d.is_done = 0", "done": "d.is_done = 1", "overdue": "d.is_done = 0 AND d.deadline < :now"},
    measures={
        "count": _COUNT,
        "done": build_count("d.is_done = 1"),
        "overdue": build_count("d.is_done = 0 AND coalesce(d.deadline < :now, 0)"),
    },
    dimensions={
        "person": _PERSON,
        "department": DEPARTMENT,
        "type": Dimension("d.type"),
        "status": Dimension("CASE WHEN d.is_done = 1 THEN 'done' ELSE 'undone' END"),
    },
    fields={
        "ID": Field("d.id", "number"),
        "RESPONSIBLE_ID": Field("d.person", "number"),
        "TYPE_ID": Field("d.type", "number"),
        "PROVIDER_ID": Field("d.provider", "code"),
        "DIRECTION": Field("d.direction", "number"),
        "COMPLETED": Field("d.is_done", "flag"),
        "OWNER_ID": Field("d.owner", "number"),
        "OWNER_TYPE_ID": Field("d.owner_type", "number"),
        "DEADLINE": Field("d.deadline", "moment"),
        "START_TIME": Field("d.started", "moment"),
        "CREATED": Field("d.created", "moment"),
    },
)
_LATE: Final = "d.deadline IS NOT NULL AND d.deadline < coalesce(d.done, :now)"
TASKS: Final = Subject(
    name="tasks",
    record="task",
    source="task d",
    times={
        "deadline": Field("d.deadline", "moment"),
        "created": Field("d.created", "moment"),
        "done": Field("d.done", "moment"),
    },
    usual_time="deadline",
    states={"open": "d.done IS NULL", "done": "d.done IS NOT NULL", "overdue": _LATE},
    measures={"count": _COUNT, "done": build_count("d.done IS NOT NULL"), "overdue": build_count(_LATE)},
    dimensions={
        "person": _PERSON,
        "department": DEPARTMENT,
        "author": Dimension("d.author", "person"),
        "status": Dimension("CASE WHEN d.done IS NULL THEN 'undone' ELSE 'done' END"),
    },
    fields={
        "ID": Field("d.id", "number"),
        "RESPONSIBLE_ID": Field("d.person", "number"),
        "CREATED_BY": Field("d.author", "number"),
        "STATUS": Field("d.status", "number"),
        "DEADLINE": Field("d.deadline", "moment"),
        "CREATED_DATE": Field("d.created", "moment"),
        "CLOSED_DATE": Field("d.done", "moment"),
    },
)
