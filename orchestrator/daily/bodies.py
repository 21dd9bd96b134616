"""Outbox rows of daily help, as data for the doors: kinds "daily" (digest, /today, evening summary) and "reminder". Ring 2, pure."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from orchestrator.directory.today import Agenda
from orchestrator.outgoing import channel_of
from state.clock import new_id
from state.store import OutboxRow

SHOWN = {"digest": 10, "today": 30}
"""So many rows of each list are shown; its count and sum are those of all."""


def daily_row(session: str, body: Mapping[str, Any], now: datetime) -> OutboxRow:
    """A digest, a summary or an answer to /today."""
    return _row(session, "daily", body, now, key="")


def reminder_row(session: str, body: Mapping[str, Any], now: datetime, *, key: str) -> OutboxRow:
    """A reminder or what became of it; the message of that key is changed in place."""
    return _row(session, "reminder", body, now, key=key)


def agenda_body(what: str, agenda: Agenda, day: date) -> dict[str, Any]:
    """The lists of a day, with no more rows than people read."""
    most = SHOWN[what]
    tables = [
        (notice, table.model_copy(update={"rows": table.rows[:most], "shown": min(most, len(table.rows))}))
        for notice, table in agenda.sections
    ]
    return {
        "what": what,
        "day": day.isoformat(),
        "sections": [{"code": notice.code, "table": table.model_dump(mode="json")} for notice, table in tables],
        "team": [asdict(line) for line in agenda.team],
        "unread": list(agenda.unread),
        "without_user": agenda.without_user,
    }


def _row(session: str, kind: str, body: Mapping[str, Any], now: datetime, *, key: str) -> OutboxRow:
    return OutboxRow(id=new_id(), session=session, channel=channel_of(session), kind=kind, body=body, key=key, created_at=now, due_at=now)
