"""The portal's session: takes events and reads changed records seconds later (a probe). A message may be sent twice."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from bitrix.errors import BitrixError, Refused
from bitrix.limits.limiter import Priority
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader, RecordOrError
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.features.portal_events.authors import Author, AuthorFinder, count_events
from orchestrator.features.portal_events.catch_up import compare_with_portal, restore_recent_writes, scan_records
from orchestrator.features.portal_events.news import Audience, News, NewsBuilder, RefreshActor, filter_news
from orchestrator.features.portal_events.recent_writes import RecentWrites
from orchestrator.language.work_calendar import is_quiet
from orchestrator.reports.record_changes import Values, compare_values, extract_values, find_watched_fields, list_owners
from orchestrator.sessions.outbox import build_news_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.clock import Clock, format_iso, generate_id, parse_iso
from state.events.portal import PortalEventReceived, PortalLookFailed, RecordsSeen
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, OutboxRow, StoreError, Timer
from state.model.session_state import PortalState
from state.stored import JsonObject

Records = Mapping[str, JsonObject | None]
"""None if deleted or not visible."""


class RecordProbe:
    def __init__(self, reads: PortalReader, naming: Naming, recent: RecentWrites, *, audience: Audience, present: RefreshActor) -> None:
        """Rights at the time of each message count."""
        self._reads = reads
        self._naming = naming
        self._recent = recent
        self._audience = audience
        self._present = present
        self._own_user = 0

    async def read(self, targets: Sequence[str]) -> dict[str, JsonObject | None]:
        """None if deleted or refused. Raises BitrixError if the portal cannot be used."""
        record = await self._reads.load_each_record([parse_target(target) for target in targets], Priority.BULK)
        return {target: _require_record(target, record[parse_target(target)]) for target in targets}

    async def collect_news(self, due: Mapping[str, str], records: Records, session: Session, *, events: Mapping[str, int]) -> list[News]:
        """`due` maps to "add", "update" or "delete". May raise BitrixError."""
        known: Mapping[str, Values] = session.state.portal.seen if session.state.portal else {}
        hands = AuthorFinder(recent_writes=self._recent, find_effect=session.find_effect, own_user=await self._find_own_user(records))
        collected = []
        for target, what in due.items():
            before = known.get(target)
            came = events.get(target, 0) if before is not None else None
            collected.append(await self._build_news(target, what, records[target], before, hands=hands, events=came))
        return [news for news in collected if news is not None]

    async def _build_news(
        self, target: str, action: str, record: JsonObject | None, before: Values | None, *, hands: AuthorFinder, events: int | None
    ) -> News | None:
        """None if nothing changed. `before` is None if the bot never read the record."""
        kind = parse_target(target)[0]
        entity = self._reads.catalogue.entities[kind.partition(":")[0]]
        if record is None:
            if action != "delete" or before is None:
                return None
            author = hands.find_deleter(target)
            return News(target=target, entity=entity, what="deleted", title=before.get("TITLE", ""), before=before, now={}, author=author)
        now = extract_values(kind, record)
        differences = compare_values(entity, before, now)
        what = "changed" if before is not None else "added" if action == "add" else "first"
        if what == "changed" and not differences:
            return None
        author = await hands.find_creator(target, record) if what == "added" else Author()
        changed = hands.find_change_authors(target, record, differences, entity, events=events)
        authors = [author] * len(differences) if what == "added" else changed
        return News(
            target=target,
            entity=entity,
            what=what,
            title=self._naming.extract_title(kind, record),
            before=before,
            now=now,
            changes=tuple(zip(differences, authors, strict=True)),
            author=author,
            record=record,
        )

    async def build_messages(self, news: Sequence[News], session: Session) -> list[OutboxRow]:
        concerned: dict[str, tuple[Actor, list[News]]] = {}
        for record_news in news:
            for owner in list_owners(record_news.target, record_news.now, record_news.before):
                for actor in self._audience.find_subscribers(owner):
                    own = filter_news(record_news, actor, self._naming)
                    if own is not None:
                        concerned.setdefault(actor.key, (actor, []))[1].append(own)
        return [await self._build_message(actor, _select_unique(own), session) for actor, own in concerned.values()]

    async def _build_message(self, actor: Actor, news: Sequence[News], session: Session) -> OutboxRow:
        keys = {author.key for one in news for author in (one.author, *(author for _, author in one.changes)) if author.key}
        names = {key: person.name if (person := self._present(Actor(key=key, name=key))) else key for key in keys}
        teller = NewsBuilder(actor=actor, naming=self._naming, portal=self._reads.client.portal, names=names)
        body = await teller.build_body(news, quiet=is_quiet(session.now, actor.time_zone))
        return build_news_row(actor.key, body.to_json(), session.now)

    async def _find_own_user(self, records: Mapping[str, object]) -> int:
        """0 if unknown. Read once, after the bot's first write."""
        if not self._own_user and any(self._recent.find_writes(target) for target in records):
            try:
                self._own_user = await self._reads.find_own_user()
            except BitrixError:
                return 0
        return self._own_user


def _select_unique(news: Sequence[News]) -> list[News]:
    """Former and present owner may be the same."""
    return list({one.target: one for one in news}.values())


def _require_record(target: str, record: RecordOrError) -> JsonObject | None:
    """None if refused; other errors are raised."""
    match record:
        case Refused():
            log.info("a changed record is not shown to us: %s", record, extra={"action": "portal_look_refused", "target": target})
            return None
        case BitrixError():
            raise record
        case _:
            return record


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
        self,
        reads: PortalReader,
        naming: Naming,
        store: AsyncStore,
        clock: Clock,
        *,
        audience: Audience,
        present: RefreshActor,
        hear: Callable[[], None] = lambda: None,
    ) -> None:
        """Rights at the time of each message count. `hear` is called for each event about a watched record."""
        self._reads = reads
        self._store = store
        self._hear = hear
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
        if target:
            self._hear()
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
