"""How much of the mirror is there, as sentences need it."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

PartStatus = Literal["waiting", "loading", "ready", "no_scope", "no_right", "absent"]
"""`absent`: this portal has no such records. `no_scope` and `no_right`: the webhook may not read them."""
PARTS: Final = ("deals", "leads", "activities", "calls", "tasks", "invoices", "history", "older_history")
"""In the order in which they are loaded. `history` is of the last 13 months."""


@dataclass(frozen=True, slots=True)
class PartState:
    status: PartStatus
    percent: int
    """100 of what is ready or cannot be read."""


@dataclass(frozen=True, slots=True)
class MirrorState:
    """`as_of` is the moment of the data by the portal's clock; None before the deals are there."""

    parts: Mapping[str, PartState]
    as_of: datetime | None
    utc_offset_minutes: int
    calls: Literal["voximplant", "activities"]
    """What to count calls with, never both."""
    history_since: datetime | None
    """Moves before it are not there yet; None if all are."""
    unread_fields: int
    """List fields of the portal beyond those that are mirrored."""
    refreshed: str
    """The mark of the clock at the last refresh; "" before the first."""
    mirrored_fields: tuple[str, ...] = ()
    """"deal.UF_CRM_1": the list fields whose values stand in `choice`."""

    def is_ready(self, *parts: str) -> bool:
        return all(self.parts[part].status == "ready" for part in parts)

    def measure_loaded(self, *parts: str) -> int:
        """Percent of these parts; below 100 while one is loading."""
        percents = [self.parts[part].percent for part in parts or PARTS[:-1]]
        return min(99 if min(percents) < 100 else 100, sum(percents) // len(percents))  # noqa: PLR2004 - percent


def read_state(connection: sqlite3.Connection) -> MirrorState:
    marks = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    parts = {part: _read_part(part, marks) for part in PARTS}
    since = marks.get("history.since")
    return MirrorState(
        parts=parts,
        as_of=_to_moment(marks.get("as_of")),
        utc_offset_minutes=int(marks.get("utc_offset", 0)),
        calls="voximplant" if marks.get("calls") == "voximplant" else "activities",
        history_since=None if parts["older_history"].status == "ready" else _to_moment(since),
        unread_fields=int(marks.get("fields.unread", 0)),
        refreshed=marks.get("refreshed", ""),
        mirrored_fields=tuple(marks.get("fields", "").split()),
    )


def _read_part(part: str, marks: Mapping[str, str]) -> PartState:
    status = marks.get(f"part.{part}", "waiting")
    if status not in {"waiting", "loading"}:
        return PartState(status, 100)  # type: ignore[arg-type]
    done, total = int(marks.get(f"done.{part}", 0)), int(marks.get(f"total.{part}", 0))
    percent = min(99, done * 100 // total) if total else 0
    return PartState("loading" if status == "loading" else "waiting", percent)


def _to_moment(seconds: str | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(int(seconds), UTC)
