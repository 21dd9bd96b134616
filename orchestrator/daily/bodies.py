"""Outbox rows of daily help, as data for the doors: kinds "daily" (digest, /today, evening summary) and "reminder". Ring 2, pure."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from orchestrator.directory.today import Agenda
from orchestrator.outgoing import parse_channel
from state.clock import generate_id
from state.store import OutboxRow

MAX_ROWS = {"digest": 10, "today": 30}
"""So many rows of each list are shown; its count and sum are those of all."""


def build_daily_row(session: str, body: Mapping[str, Any], now: datetime) -> OutboxRow:
    """A digest, a summary or an answer to /today."""
    return _build_row(session, "daily", body, now, key="")


def build_reminder_row(session: str, body: Mapping[str, Any], now: datetime, *, key: str) -> OutboxRow:
    """A reminder or what became of it; the message of that key is changed in place."""
    return _build_row(session, "reminder", body, now, key=key)


def build_agenda_body(what: str, agenda: Agenda, day: date) -> dict[str, Any]:
    """The lists of a day, with no more rows than people read."""
    most = MAX_ROWS[what]
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


def _build_row(session: str, kind: str, body: Mapping[str, Any], now: datetime, *, key: str) -> OutboxRow:
    return OutboxRow(
        id=generate_id(), session=session, channel=parse_channel(session), kind=kind, body=body, key=key, created_at=now, due_at=now
    )
