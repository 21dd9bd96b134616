from collections.abc import Iterator
from dataclasses import dataclass

from state.sql.backlog import OPEN, Backlog


@dataclass(frozen=True, kw_only=True)
class QueueRow:
    """`oldest` is ISO 8601, "" if unknown."""

    kind: str
    count: int
    oldest: str = ""
    is_bad: bool = False
    """Whether nothing should be here."""


def list_queue(backlog: Backlog) -> Iterator[QueueRow]:
    for lane in ("turn", "express"):
        waiting = backlog.inbox.get(lane)
        yield QueueRow(kind=f"inbox-{lane}", count=waiting.count if waiting else 0, oldest=waiting.oldest if waiting else "")
    for status in ("new", "failed"):
        rows = [waiting for (_, state), waiting in backlog.outbox.items() if state == status]
        oldest = min((row.oldest for row in rows if row.oldest), default="")
        count = sum(row.count for row in rows)
        yield QueueRow(kind=f"outbox-{status}", count=count, oldest=oldest, is_bad=status == "failed" and count > 0)
    for status in OPEN:
        waiting = backlog.effects.get(status)
        count = waiting.count if waiting else 0
        yield QueueRow(
            kind=f"effects-{status}", count=count, oldest=waiting.oldest if waiting else "", is_bad=status == "unknown" and count > 0
        )
    for status in ("running", "waiting", "paused"):
        yield QueueRow(kind=f"runs-{status}", count=sum(count for (_, state), count in backlog.runs.items() if state == status))
    yield QueueRow(kind="timers", count=backlog.timers)
    yield QueueRow(kind="timers-due", count=backlog.timers_due)
