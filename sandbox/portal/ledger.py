"""Sandbox portal, ledger: one numbered feed of calls, changes and sent events for tests and live pages; never contains a token."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from sandbox.portal.schema import Row
from sandbox.portal.store import Change, Store
from sandbox.portal.values import store_moment

_SECRET_NAMES = frozenset({"auth", "access_token", "refresh_token"})
_QUIET = frozenset({"task_history", "outgoing", "binding", "notice_tag", "idempotency"})


class Ledger:
    """The feed; a line is kept in memory and in the store, and waiting readers are woken."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.lines: list[Row] = list(store.feed())
        self._grown = asyncio.Event()

    def open_call(self, method: str, params: Any, at: datetime, **more: Any) -> Row:
        """Start the line of one call; `close_call` completes it."""
        row: Row = {
            "seq": self._store.next_id("feed"),
            "kind": "call",
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "method": method,
            "params": _without_tokens(params),
            "status": None,
            "outcome": "open",
            "error_description": None,
            "applied": False,
            "batch": None,
            "key": None,
            "fault": None,
            **more,
        }
        self.lines.append(row)
        return row

    def close_call(self, row: Row, status: int | None, outcome: str | int, **more: Any) -> None:
        """Complete the line of a call: HTTP status, `ok` or the error code, whether it changed anything."""
        row.update(status=status, outcome=outcome, **more)
        self._store.append_feed(row["seq"], row)
        self.wake()

    def note_closed(self, row: Row, at: datetime) -> None:
        """Add the end of a call that readers have seen waiting."""
        end = {name: row[name] for name in ("method", "status", "outcome", "applied")}
        self._append({"kind": "closed", "time": store_moment(at), "call": row["seq"], **end})

    def note_change(self, change: Change, at: datetime, by: int | None) -> None:
        """Add what a write changed, field by field; `by` is None if it was made in the portal's pages."""
        if change.entity in _QUIET:
            return
        before, after = change.before or {}, change.after or {}
        names = [n for n in {**before, **after} if before.get(n) != after.get(n)]
        self._append(
            {
                "kind": "change",
                "time": store_moment(at),
                "entity": change.entity,
                "id": change.id,
                "action": change.action,
                "title": (after or before).get("TITLE") or (after or before).get("NAME"),
                "before": {n: before.get(n) for n in names},
                "after": {n: after.get(n) for n in names},
                "by": by,
                "source": "ui" if by is None else "rest",
            }
        )

    def note_event(self, event: str, handler: str, at: datetime, status: int | str) -> None:
        """Add that an event was sent to a handler, with the result."""
        self._append({"kind": "event", "time": store_moment(at), "event": event, "handler": handler, "status": status})
        self._store.commit()

    def calls(self, method: str | None = None, after: int = 0) -> list[Row]:
        """Return the calls, oldest first, optionally of one method only (any spelling)."""
        wanted = (method or "").lower()
        return [
            line
            for line in self.lines
            if line["kind"] == "call"
            and line["seq"] > after
            and (not wanted or wanted in {line["method"].lower(), str(line.get("name", "")).lower()})
        ]

    def after(self, seq: int) -> list[Row]:
        """Return all lines with a greater number; a waiting call has the outcome `open`, and its end comes as a `closed` line."""
        return [line for line in self.lines if line["seq"] > seq]

    def clear(self) -> None:
        """Remove the lines; the numbering continues."""
        self.lines.clear()
        self._store.clear_feed()

    async def grown(self) -> None:
        """Wait for the next line."""
        await self._grown.wait()

    def _append(self, row: Row) -> None:
        row = {"seq": self._store.next_id("feed"), **row}
        self.lines.append(row)
        self._store.append_feed(row["seq"], row)
        self.wake()

    def wake(self) -> None:
        """Wake the waiting readers."""
        woken, self._grown = self._grown, asyncio.Event()
        woken.set()


def _without_tokens(params: Any) -> Any:
    if isinstance(params, dict):
        return {k: "***" if k.lower() in _SECRET_NAMES else v for k, v in params.items()}
    return params
