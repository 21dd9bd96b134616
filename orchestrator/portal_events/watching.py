"""The portal's own session: events come in, a look follows a few seconds later, and who answers for a record is told what changed. Ring 2.

Events of one storm share one look. Events, looks and messages are commits like any other: nothing is lost, somebody may be told twice.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

from bitrix.errors import BitrixError
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReads
from orchestrator.portal_events.audience import Audience, Present
from orchestrator.portal_events.catching_up import compared, look_around, remember
from orchestrator.portal_events.counting import counted
from orchestrator.portal_events.looking import Look, Records
from orchestrator.portal_events.recent import RecentWrites
from orchestrator.portal_events.watched import rule, target_of, values_of
from orchestrator.session import Session
from orchestrator.turns import Handler, Handlers, Tools
from state.clock import Clock, iso, new_id, parse_iso
from state.events import PortalEventReceived, PortalLookFailed, RecordsSeen
from state.store import InboxRow, OutboxRow, StoreError, Timer
from state.worker import AsyncStore

log = logging.getLogger(__name__)

SESSION: Final = "portal:"
TIMER: Final = "portal_look"
LOOK_AFTER: Final = timedelta(seconds=3)
"""Longer than the portal's clock tick of one second: a second change within the tick has the first one's ts and is taken for it."""
CALM: Final = timedelta(seconds=15)
"""Nobody is told more often than this, however long a storm lasts."""
MAX_LOOK: Final = 500
_SLOWEST: Final = timedelta(minutes=10)

START: Final = "portal_start"
"""The kind of the input that a start of the program is."""


def _alone(work: Callable[[InboxRow, Session], Awaitable[None]]) -> Handler:
    """As a handler: it needs nothing of what turns work with."""

    async def handler(row: InboxRow, session: Session, _: Tools) -> None:
        await work(row, session)

    return handler


class PortalWatch:
    """See the module docstring. Remembers nothing but the bot's own fresh writes; all else is in the session's state."""

    def __init__(
        self, reads: PortalReads, naming: Naming, store: AsyncStore, clock: Clock, *, audience: Audience, present: Present
    ) -> None:
        """`audience` and `present` are asked anew for every message: rights of now."""
        self._reads = reads
        self._store = store
        self._audience = audience
        self.recent = RecentWrites(reads.catalogue, clock)
        self._look = Look(reads, naming, self.recent, audience=audience, present=present)

    @property
    def session(self) -> str:
        """The key of the portal's own session."""
        return f"{SESSION}{self._reads.client.portal}"

    def handlers(self) -> Handlers:
        """What it does with the inputs of its session."""
        return Handlers(inbox={START: _alone(self.started), "portal_event": _alone(self.received)}, timers={TIMER: _alone(self.look)})

    def start_row(self, now: datetime) -> InboxRow:
        """The input that this start of the program is."""
        row_id = new_id()
        actor = {"key": "system", "name": "system"}
        source = f"{START}:{row_id}"
        return InboxRow(id=row_id, source=source, session=self.session, lane="express", kind=START, actor=actor, body={}, received_at=now)

    async def received(self, row: InboxRow, session: Session) -> None:
        """Record one posted event, and set the look if none is set; raises StoreError."""
        body = row.body
        self._reads.reference.forget_for_event(body["event"])
        target = body["target"] if rule(body["target"]) else ""
        look_at = _next_look(session) if target and not _is_set(session) else None
        event = PortalEventReceived(
            event=body["event"],
            target=target,
            action=body["action"],
            ts=body["ts"],
            member_id=body["member_id"],
            look_at=iso(look_at) if look_at else "",
        )
        timers = [_timer(session, look_at)] if look_at else []
        await session.commit(event, actor="portal", timers=timers, inbox_done=[row.id])

    async def started(self, row: InboxRow, session: Session) -> None:
        """Find out what was missed while nobody listened; when it cannot be found out, changes are told as they come. Raises StoreError."""
        await remember(self.recent, self._store, session.now)
        state, due_at = _state(session), _next_look(session)
        found = await look_around(self._reads, self._audience.bitrix_users(), state.get("seen", {}))
        events = compared(state, found, self._reads.catalogue.entities, now=session.now, look_at=due_at)
        sets = any(isinstance(event, PortalEventReceived) and event.look_at for event in events)
        await session.commit(*events, actor="system", timers=[_timer(session, due_at)] if sets else [], inbox_done=[row.id])

    async def look(self, row: InboxRow, session: Session) -> None:
        """Read what is due, tell whom it concerns, remember what was seen; when it cannot be, later. Raises StoreError."""
        due: Mapping[str, Mapping[str, Any]] = _state(session).get("due", {})
        targets = list(due)[:MAX_LOOK]
        if not targets:
            await session.commit(actor="system", timers=[_timer(session, None)], inbox_done=[row.id])
            return
        try:
            records = await self._look.read(targets)
            events = await counted(self._store, session.stream, due)
            news = await self._look.news({target: due[target]["action"] for target in targets}, records, session, events=events)
            told = await self._look.messages(news, session)
        except BitrixError as error:
            log.warning("changed records cannot be read: %s", error, extra={"action": "portal_look_failed"})
            await self._later(row, session, str(error))
        except StoreError:
            raise
        except Exception as error:  # a fault of ours must not end the looking for good
            log.exception("changed records cannot be told of", extra={"action": "portal_look_failed"})
            await self._later(row, session, type(error).__name__)
        else:
            await self._seen(row, session, records, told)

    async def put_off(self, row: InboxRow, session: Session) -> None:
        """A look over which processes have died again and again is set for later, so that what is due is not forgotten."""
        await self._later(row, session, "given up")

    async def _seen(self, row: InboxRow, session: Session, records: Records, told: Sequence[OutboxRow]) -> None:
        """One commit: what was seen, the messages, the next look if anything is left, and this one done."""
        rest = len(_state(session)["due"]) > len(records)
        next_look = session.now + (CALM if told else LOOK_AFTER) if rest else None
        event = RecordsSeen(
            records={target: values_of(target_of(target)[0], record) for target, record in records.items() if record is not None},
            gone=[target for target, record in records.items() if record is None],
            told=[message.session for message in told],
            look_at=iso(next_look) if next_look else "",
        )
        await session.commit(event, actor="system", outbox=told, timers=[_timer(session, next_look)], inbox_done=[row.id])

    async def _later(self, row: InboxRow, session: Session, reason: str) -> None:
        tries = int(_state(session)["tries"]) + 1
        next_look = session.now + min(_SLOWEST, timedelta(seconds=5 * 2 ** min(tries, 10)))
        event = PortalLookFailed(reason=reason[:300], tries=tries, look_at=iso(next_look))
        await session.commit(event, actor="system", timers=[_timer(session, next_look)], inbox_done=[row.id])


def _state(session: Session) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", session.state.get("portal", {}))


def _is_set(session: Session) -> bool:
    """Whether a look is set, as every commit does that leaves something due; one that a clock set back has put far off does not count."""
    portal = _state(session)
    return bool(portal.get("due")) and bool(portal["look_at"]) and parse_iso(portal["look_at"]) <= session.now + _SLOWEST


def _next_look(session: Session) -> datetime:
    """Soon, but not sooner after the last message than people bear."""
    soon = session.now + LOOK_AFTER
    told_at = _state(session).get("told_at")
    return max(soon, min(parse_iso(told_at), session.now) + CALM) if told_at else soon


def _timer(session: Session, due_at: datetime | None) -> Timer:
    """The one timer of the portal's session; None takes it away."""
    return Timer(id=f"{TIMER}:{session.key}", due_at=due_at or session.now, session=session.key, kind=TIMER, delete=due_at is None)
