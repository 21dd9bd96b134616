"""Verifies the journal now and then while somebody looks, and remembers the result.

In a thread, once an hour at most, with a fifth of a processor.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Thread
from typing import Final

from orchestrator.reports.consistency import EffectChecker
from state.clock import Clock, read_boottime
from state.findings import Finding
from state.journal.store import EffectRow, StoredEvent
from state.verify.journal import JournalReport, verify_journal

log = logging.getLogger(__name__)

EVERY: Final = 3600.0
"""Seconds between the beginnings of two checks."""
_REST: Final = 4.0
"""A check sleeps so many times as long as it has worked."""
_LONGEST_REST: Final = 1.0
_AT_ONCE: Final = 100

Verify = Callable[[Callable[[], None]], JournalReport]
"""Calls the given function often, which may sleep. Raises FileNotFoundError if there is no database."""


@dataclass(frozen=True, kw_only=True)
class JournalHealth:
    """The result of the last check that ended, and whether one is under way."""

    checked_at: datetime | None = None
    """None if none has ended yet."""
    records: int = 0
    faults: Sequence[str] = field(default=())
    """Place and reason of each."""
    is_running: bool = False
    cannot: bool = False
    """The database cannot be checked from here, as one in memory."""


class JournalWatch:
    def __init__(self, verify: Verify, clock: Clock) -> None:
        self._verify, self._clock = verify, clock
        self._known = JournalHealth()
        self._began = float("-inf")

    def look(self) -> JournalHealth:
        """Return what is known now, and begin a check in a thread if an hour has passed."""
        if not self._known.is_running and read_boottime() - self._began >= EVERY:
            self._began = read_boottime()
            self._known = replace(self._known, is_running=True)
            Thread(target=self.check, name="journal-watch", daemon=True).start()
        return self._known

    def check(self) -> None:
        try:
            report = self._verify(_Pace().rest)
        except FileNotFoundError:
            self._known = JournalHealth(cannot=True)
            return
        except Exception:
            log.exception("the journal could not be verified", extra={"action": "journal_not_verified"})
            self._known = replace(self._known, is_running=False)
            return
        faults = tuple(f"{finding.place}: {finding.why}" for finding in report.findings if finding.kind != "note")
        if faults:
            log.error("the journal is damaged: run `sdelka journal verify`", extra={"action": "journal_damaged", "faults": len(faults)})
        cannot = bool(report.uncheckable) and not faults
        self._known = JournalHealth(checked_at=self._clock.now(), records=report.records, faults=faults, cannot=cannot)


def watch_database(url: str, clock: Clock) -> JournalWatch:

    def verify(rest: Callable[[], None]) -> JournalReport:
        if url.removesuffix("/") in {"sqlite:", "sqlite:/"}:
            raise FileNotFoundError("a database in memory is read by its own process alone")
        return verify_journal(url, judge=lambda stream: _PacedChecker(stream, rest), anchors={}, progress=lambda _: rest())

    return JournalWatch(verify, clock)


class _Pace:
    def __init__(self) -> None:
        self._since = time.perf_counter()

    def rest(self) -> None:
        time.sleep(min(_LONGEST_REST, _REST * (time.perf_counter() - self._since)))
        self._since = time.perf_counter()


class _PacedChecker:
    def __init__(self, stream: str, rest: Callable[[], None]) -> None:
        self._checker, self._rest, self._events = EffectChecker(stream), rest, 0

    def add_event(self, event: StoredEvent) -> None:
        self._events += 1
        if self._events % _AT_ONCE == 0:
            self._rest()
        self._checker.add_event(event)

    def list_findings(self, rows: Sequence[EffectRow]) -> Sequence[Finding]:
        return list(self._checker.list_findings(rows))

    @property
    def count(self) -> int:
        return self._checker.count
