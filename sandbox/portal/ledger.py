"""Sandbox portal, ledger: the fake portal's numbered log of the calls it received, of record changes and of the events it sent.

Tests and live pages read it to see what really happened. Tokens are replaced by `***`.
"""

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
    """The fake portal's log of received calls, record changes and sent events.

    Each line has a number and is held in memory and in the store. Readers, such as the live page, can wait for new lines with `grown`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.lines: list[Row] = list(store.feed())
        self._grown = asyncio.Event()

    def open_call(self, method: str, params: Any, at: datetime, **more: Any) -> Row:
        """Add a line for a call that begins, and return the line. `close_call` completes it.

        `more` sets further values of the line.
        """
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
        """Complete the line of a call with its HTTP status and its outcome, which is `ok` or the error code.

        `more` sets further values of the line, for example `applied`: whether the call changed a record.
        """
        row.update(status=status, outcome=outcome, **more)
        self._store.append_feed(row["seq"], row)
        self.wake()

    def note_closed(self, row: Row, at: datetime) -> None:
        """Add a line of the kind "closed", which gives the result of a delayed call.

        `row` is the line of the call itself, which readers got while the call was still open.
        """
        end = {name: row[name] for name in ("method", "status", "outcome", "applied")}
        self._append({"kind": "closed", "time": store_moment(at), "call": row["seq"], **end})

    def note_change(self, change: Change, at: datetime, by: int | None) -> None:
        """Add a line with the fields that a write changed, before and after.

        `by` is the user of the call, or None for a change made in the portal's web pages.
        """
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
        """Add a line about an event sent to a handler. `status` is the HTTP status of the answer, or the name of the transport error."""
        self._append({"kind": "event", "time": store_moment(at), "event": event, "handler": handler, "status": status})
        self._store.commit()

    def calls(self, method: str | None = None, after: int = 0) -> list[Row]:
        """Return the lines of calls with a number above `after`, oldest first; with `method` only the calls of that method.

        The name of the method may be given as it was sent or as it is documented, in any case.
        """
        wanted = (method or "").lower()
        return [
            line
            for line in self.lines
            if line["kind"] == "call"
            and line["seq"] > after
            and (not wanted or wanted in {line["method"].lower(), str(line.get("name", "")).lower()})
        ]

    def after(self, seq: int) -> list[Row]:
        """Return all lines with a number above `seq`.

        A call that is still being executed has the outcome `open`; its end appears later as a separate `closed` line.
        """
        return [line for line in self.lines if line["seq"] > seq]

    def clear(self) -> None:
        """Remove the lines; the numbering continues."""
        self.lines.clear()
        self._store.clear_feed()

    async def grown(self) -> None:
        """Wait until a line is added or completed."""
        await self._grown.wait()

    def _append(self, row: Row) -> None:
        row = {"seq": self._store.next_id("feed"), **row}
        self.lines.append(row)
        self._store.append_feed(row["seq"], row)
        self.wake()

    def wake(self) -> None:
        """Wake everybody who waits in `grown` for a new or completed line, such as the stream to a live page."""
        woken, self._grown = self._grown, asyncio.Event()
        woken.set()


def _without_tokens(params: Any) -> Any:
    if isinstance(params, dict):
        return {k: "***" if k.lower() in _SECRET_NAMES else v for k, v in params.items()}
    return params
