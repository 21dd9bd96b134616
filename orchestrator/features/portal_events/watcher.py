"""The portal's session: takes events and reads changed records seconds later (a probe). A message may be sent twice."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.address import parse_target
from orchestrator.features.portal_events.authors import count_events
from orchestrator.features.portal_events.catch_up import compare_with_portal, restore_recent_writes, scan_records
from orchestrator.features.portal_events.news import Audience, RefreshActor
from orchestrator.features.portal_events.probe import RecordProbe, Records
from orchestrator.features.portal_events.recent_writes import RecentWrites
from orchestrator.reports.record_changes import extract_values, find_watched_fields
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.clock import Clock, format_iso, generate_id, parse_iso
from state.events.portal import PortalEventReceived, PortalLookFailed, RecordsSeen
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, OutboxRow, StoreError, Timer
from state.model.session_state import PortalState

log = logging.getLogger(__name__)

SESSION: Final = "portal:"
TIMER: Final = "portal_look"
LOOK_AFTER: Final = timedelta(seconds=3)
"""More than a second: a change within it has the same `ts` and counts as a duplicate."""
CALM: Final = timedelta(seconds=15)
"""Minimum time between two messages."""
MAX_LOOK: Final = 500
_SLOWEST: Final = timedelta(minutes=10)

START: Final = "portal_start"


class PortalWatcher:
    """One instance per process."""

    def __init__(
        self, reads: PortalReader, naming: Naming, store: AsyncStore, clock: Clock, *, audience: Audience, present: RefreshActor
    ) -> None:
        """Rights at the time of each message count."""
        self._reads = reads
        self._store = store
        self._audience = audience
        self.recent_writes = RecentWrites(reads.catalogue, clock)
        self._look = RecordProbe(reads, naming, self.recent_writes, audience=audience, present=present)

    @property
    def session(self) -> str:
        return f"{SESSION}{self._reads.client.portal}"

    def build_start_row(self, now: datetime) -> InboxRow:
        row_id = generate_id()
        actor = {"key": "system", "name": "system"}
        source = f"{START}:{row_id}"
        return InboxRow(id=row_id, source=source, session=self.session, lane="express", kind=START, actor=actor, body={}, received_at=now)

    async def receive_event(self, row: InboxRow, session: Session, _tools: Tools) -> None:
        event = PortalEventReceived.model_validate(row.body)
        self._reads.reference.discard_for_event(event.event)
        target = event.target if find_watched_fields(event.target) else ""
        look_at = _find_next_probe_time(session) if target and not _is_set(session) else None
        event = event.model_copy(update={"target": target, "look_at": format_iso(look_at) if look_at else ""})
        timers = [_build_timer(session, look_at)] if look_at else []
        await session.commit(event, actor="portal", timers=timers, inbox_done=[row.id])

    async def find_missed(self, row: InboxRow, session: Session, _tools: Tools) -> None:
        """If the portal cannot be read, its next event tells the change."""
        await restore_recent_writes(self.recent_writes, self._store, session.now)
        state, due_at = _get_state(session), _find_next_probe_time(session)
        records = await scan_records(self._reads, self._audience.list_watched_users(), state.seen)
        events = compare_with_portal(state, records, self._reads.catalogue.entities, now=session.now, look_at=due_at)
        sets = any(isinstance(event, PortalEventReceived) and event.look_at for event in events)
        await session.commit(*events, actor="system", timers=[_build_timer(session, due_at)] if sets else [], inbox_done=[row.id])

    async def probe_due(self, row: InboxRow, session: Session, _tools: Tools) -> None:
        """Later if the portal cannot be read."""
        due = _get_state(session).due
        targets = list(due)[:MAX_LOOK]
        if not targets:
            await session.commit(actor="system", timers=[_build_timer(session, None)], inbox_done=[row.id])
            return
        try:
            records = await self._look.read(targets)
            events = await count_events(self._store, session.stream, {target: entry["ts"] for target, entry in due.items()})
            news = await self._look.collect_news({target: due[target]["action"] for target in targets}, records, session, events=events)
            messages = await self._look.build_messages(news, session)
        except BitrixError as error:
            log.warning("changed records cannot be read: %s", error, extra={"action": "portal_look_failed"})
            await self._reschedule_probe(row, session, str(error))
        except StoreError:
            raise
        except Exception as error:  # a bug must not end the probes for good
            log.exception("changed records cannot be told of", extra={"action": "portal_look_failed"})
            await self._reschedule_probe(row, session, type(error).__name__)
        else:
            await self._commit_probe(row, session, records, messages)

    async def reschedule(self, row: InboxRow, session: Session, _tools: Tools) -> None:
        """Without a timer the records of a probe that crashed would never be read."""
        await self._reschedule_probe(row, session, "given up")

    async def _commit_probe(self, row: InboxRow, session: Session, records: Records, messages: Sequence[OutboxRow]) -> None:
        rest = len(_get_state(session).due) > len(records)
        next_look = session.now + (CALM if messages else LOOK_AFTER) if rest else None
        event = RecordsSeen(
            records={target: extract_values(parse_target(target)[0], record) for target, record in records.items() if record is not None},
            gone=[target for target, record in records.items() if record is None],
            told=[message.session for message in messages],
            look_at=format_iso(next_look) if next_look else "",
        )
        await session.commit(event, actor="system", outbox=messages, timers=[_build_timer(session, next_look)], inbox_done=[row.id])

    async def _reschedule_probe(self, row: InboxRow, session: Session, reason: str) -> None:
        tries = _get_state(session).tries + 1
        next_look = session.now + min(_SLOWEST, timedelta(seconds=5 * 2 ** min(tries, 10)))
        event = PortalLookFailed(reason=reason[:300], tries=tries, look_at=format_iso(next_look))
        await session.commit(event, actor="system", timers=[_build_timer(session, next_look)], inbox_done=[row.id])


def _get_state(session: Session) -> PortalState:
    return session.state.portal or PortalState()


def _is_set(session: Session) -> bool:
    """A time too far away is of a clock that was set back."""
    portal = _get_state(session)
    return bool(portal.due and portal.look_at) and parse_iso(portal.look_at) <= session.now + _SLOWEST


def _find_next_probe_time(session: Session) -> datetime:
    """Not before `CALM` after the last message."""
    soon = session.now + LOOK_AFTER
    told_at = _get_state(session).told_at
    return max(soon, min(parse_iso(told_at), session.now) + CALM) if told_at else soon


def _build_timer(session: Session, due_at: datetime | None) -> Timer:
    """Marked for deletion if `due_at` is None."""
    return Timer(id=f"{TIMER}:{session.key}", due_at=due_at or session.now, session=session.key, kind=TIMER, delete=due_at is None)
