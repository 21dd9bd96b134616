"""Fires orders: at a moment, when something changed, when nothing happened. One commit holds the event, the timer and the messages.

The rights of the person of that moment count; who has none any more is told, and the order waits.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice, Reply, ReportPart
from orchestrator.domain.report import ReportTrouble
from orchestrator.domain.standing_orders import (
    MOST_FIRINGS,
    ChangedRecord,
    OrderDue,
    OrderFault,
    OrderHit,
    OrderTerms,
    RecordWatch,
    WatchFailed,
)
from orchestrator.features.orders import words
from orchestrator.features.orders.giving import find_due
from orchestrator.features.orders.proposals import Proposer
from orchestrator.features.orders.record_lines import RecordLines, Records, list_shown
from orchestrator.gate.call.permissions import find_visible_users
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn_ending import build_report_key
from state.clock import format_iso, generate_id, parse_iso
from state.events.base import Event
from state.events.orders import OrderEnded, OrderFired, OrderPaused, OrderPutOff, list_orders
from state.events.reports import RecordsShown, ReportShown
from state.journal.order_index import build_timer, build_timer_deletion
from state.journal.store import InboxRow, OutboxRow, Timer
from state.model.order_state import OrderPause, StandingOrder

log = logging.getLogger(__name__)
AGAIN: Final = timedelta(minutes=10)
MOST_TRIES: Final = 18
"""Three hours."""
MOST_LISTED: Final = 30
LATE: Final = timedelta(minutes=5)
_MOST_OWNERS: Final = 30
_FAULTS: Final[Mapping[str, OrderPause]] = {"closed": "closed", "failed": "failed"}


class People(Protocol):
    """Who uses the bot."""

    def list_people(self) -> Sequence[Actor]: ...


@dataclass(frozen=True, kw_only=True)
class _Case:
    """What one firing is about."""

    order: str
    entry: StandingOrder
    terms: OrderTerms
    actor: Actor
    row: InboxRow | None
    session: Session
    tools: Tools
    hit: OrderHit | None = None
    """None at a moment."""

    @property
    def hit_timer(self) -> str:
        """By which a hit is tried again."""
        return str(self.row.body.get("timer") or f"{OrderHit.KIND}:{self.row.id}") if self.row is not None else ""

    @property
    def following(self) -> str:
        return find_due(self.terms, max(self.session.now, parse_iso(self.entry.due))) if self.entry.due else ""


class OrderFirer:
    def __init__(self, watch: RecordWatch, lines: RecordLines, people: People, *, fires: bool = True) -> None:
        """A program that does not know people's present rights gets `fires=False`: it puts moments off."""
        self._watch, self._lines, self._people = watch, lines, people
        self._proposer = Proposer(lines)
        self._fires = fires

    async def fire_due(self, row: InboxRow, session: Session, tools: Tools) -> None:
        due = OrderDue.model_validate(row.body)
        entry = list_orders(session.state).get(due.order)
        if entry is None:  # removed, or its person was erased
            await session.commit(actor="system", timers=[build_timer_deletion(due.order, session.key, session.now)], inbox_done=[row.id])
            return
        if entry.status == "paused" or due.due != entry.due:  # changed since this input was made, and the timer with it
            await session.commit(actor="system", inbox_done=[row.id])
            return
        stored = Actor.model_validate(entry.actor)
        if session.now >= parse_iso(entry.until):
            notice = words.build_event_notice("order-expired", entry, tools.refresh_actor(stored) or stored, session.now)
            rows = [outbox.build_reply_row(session.key, Reply(notices=(notice,)), session.now)]
            await _commit(due.order, entry, [OrderEnded(order=due.order, why="expired")], row, session, rows)
            return
        if not self._fires:
            later = format_iso(session.now + timedelta(minutes=1))
            await _commit(due.order, entry, [OrderPutOff(order=due.order, following=later)], row, session, ())
            return
        case = _admit(due.order, entry, row, session, tools)
        if case is None:
            await _pause(due.order, entry, "owner_left", row, session, tools)
            return
        await self._guard(case, self._fire_time(case) if case.terms.kind == "time" else self._fire_silence(case))

    async def take_hit(self, row: InboxRow, session: Session, tools: Tools) -> None:
        hit = OrderHit.model_validate(row.body)
        entry = list_orders(session.state).get(hit.order)
        if entry is None or entry.status == "paused" or session.now >= parse_iso(entry.until):
            await session.commit(actor="system", timers=_list_used_timers(row, session), inbox_done=[row.id])
            return
        case = _admit(hit.order, entry, row, session, tools, hit=hit)
        if case is None:
            await _pause(hit.order, entry, "owner_left", row, session, tools)
            return
        fired = OrderFired(order=hit.order)
        await self._guard(case, self._tell(case, hit.records, fired, more=hit.more))

    async def take_fault(self, row: InboxRow, session: Session, tools: Tools) -> None:
        fault = OrderFault.model_validate(row.body)
        entry = list_orders(session.state).get(fault.order)
        if entry is None or entry.status == "paused":
            await session.commit(actor="system", inbox_done=[row.id])
            return
        why = _FAULTS.get(fault.why, "unclear")
        await _pause(fault.order, entry, why, row, session, tools, detail=fault.detail)

    async def give_up(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Each attempt to handle the moment failed. Raises StoreError."""
        due = OrderDue.model_validate(row.body)
        entry = list_orders(session.state).get(due.order)
        if entry is not None and entry.status == "waiting" and due.due == entry.due:
            await _pause(due.order, entry, "failed", None, session, tools)

    async def _guard(self, case: _Case, firing: object) -> None:
        try:
            await firing  # type: ignore[misc]
        except WatchFailed as failure:
            await self._fail(case, failure)
        except BitrixError as error:
            await self._fail(case, WatchFailed("later", "", str(error)))

    async def _fail(self, case: _Case, failure: WatchFailed) -> None:
        """What may pass by itself is tried again for three hours; then the person is told that something was missed."""
        log.warning("an order cannot be carried out now: %s", failure, extra={"action": "order_failed", "order": case.order})
        if failure.code != "later":
            why: OrderPause = "closed" if failure.code == "closed" else "unclear"
            await _pause(case.order, case.entry, why, case.row, case.session, case.tools, detail=failure.text)
        elif case.hit is not None and case.hit.tries < MOST_TRIES:
            again = case.hit.model_copy(update={"tries": case.hit.tries + 1}).to_json()
            timer = Timer(id=case.hit_timer, due_at=case.session.now + AGAIN, session=case.session.key, kind=OrderHit.KIND, body=again)
            await case.session.commit(actor="system", timers=[timer], inbox_done=[case.row.id] if case.row is not None else [])
        elif case.hit is None and case.entry.tries < MOST_TRIES:
            later = format_iso(case.session.now + AGAIN)
            event = OrderPutOff(order=case.order, following=later)
            await _commit(case.order, case.entry, [event], case.row, case.session, ())
        else:
            notice = words.build_event_notice("order-missed", case.entry, case.actor, case.session.now)
            rows = [outbox.build_reply_row(case.session.key, Reply(notices=(notice,)), case.session.now)]
            await _finish(case, OrderFired(order=case.order, due=case.entry.due, following=case.following, has_told=False), rows=rows)

    async def _fire_time(self, case: _Case) -> None:
        session, entry, terms = case.session, case.entry, case.terms
        late = session.now - parse_iso(entry.due)
        what = words.build_event_notice("order-late" if late > LATE else "order-now", entry, case.actor, session.now)
        fired = OrderFired(order=case.order, due=entry.due, following=case.following)
        if not terms.report:
            reply = Reply(notices=(what, Notice(code="order-says", args={"text": terms.text})))
            await _finish(case, fired, rows=[outbox.build_reply_row(session.key, reply, session.now)])
            return
        reports = case.tools.reports
        if reports is None:
            raise WatchFailed("closed", "", "no reports are counted in this process")
        actor = case.actor
        answer = await reports.answer(terms.report, sees=find_visible_users(actor), zone=actor.time_zone, locale=actor.locale)
        if isinstance(answer, ReportTrouble):
            raise to_failure(answer)
        report_id = generate_id()
        changes = [dict(variant.change) for variant in answer.variants]
        shown = ReportShown(report_id=report_id, by=actor.key, question=dict(answer.question), changes=changes)
        reply = Reply(parts=(ReportPart(report_id=report_id, answer=answer),))
        heading = outbox.build_reply_row(session.key, Reply(notices=(what,)), session.now)
        rows = [heading, outbox.build_reply_row(session.key, reply, session.now, key=build_report_key(report_id))]
        await _finish(case, fired, shown, rows=rows)

    async def _fire_silence(self, case: _Case) -> None:
        silence = await self._watch.find_silent(case.terms, case.actor, after=case.entry.border)
        kind = case.terms.record_kind
        changed = [ChangedRecord(target=f"{kind}:{record}", state=str(last)) for record, last in silence.records]
        fired = OrderFired(order=case.order, due=case.entry.due, following=case.following, border=silence.border)
        await self._tell(case, changed, fired)

    async def _tell(self, case: _Case, changed: Sequence[ChangedRecord], fired: OrderFired, *, more: int = 0) -> None:
        """Of each record and state once; only what the reader may see now."""
        fresh = [one for one in changed if case.entry.seen.get(one.target) != one.state]
        if case.entry.today == case.session.now.date().isoformat() and case.entry.fired_today >= MOST_FIRINGS and fresh:
            await _pause(case.order, case.entry, "often", case.row, case.session, case.tools)
            return
        listed = fresh[:MOST_LISTED]
        records = await self._lines.load(listed) if listed else {}
        own = [one for one in listed if one.target in records and self._lines.is_visible(one.target, records[one.target], case.actor)]
        seen = {one.target: one.state for one in fresh}
        if not own:
            await _finish(case, fired.model_copy(update={"has_told": False, "seen": seen}), rows=())
            return
        left = len(fresh) - len(listed) + more
        rows, events = [], []
        if case.terms.propose:
            rows = await self._proposer.propose(case.order, case.entry, own, records, case.actor, session=case.session, tools=case.tools)
        elif "me" in case.terms.to:
            rows.append(await self._build_message("order-news", case, own, records, case.actor, left=left))
            table = await self._lines.build_table(own, records, case.actor, case.session)
            events.append(RecordsShown(report_id=case.order, lists=list_shown(table)))
        if "owner" in case.terms.to:
            rows += await self._tell_owners(case, own, records)
        await _finish(case, fired.model_copy(update={"seen": seen, "has_told": bool(rows)}), *events, rows=rows)

    async def _tell_owners(self, case: _Case, own: Sequence[ChangedRecord], records: Records) -> list[OutboxRow]:
        """Each owner reads of their own records; those who do not use the bot read nothing."""
        by_owner: dict[int, list[ChangedRecord]] = {}
        for one in own:
            by_owner.setdefault(self._lines.find_owner(one.target, records[one.target]), []).append(one)
        people = {person.bitrix_user_id: person for person in self._people.list_people()}
        rows = []
        for user, theirs in list(by_owner.items())[:_MOST_OWNERS]:
            person = people.get(user)
            reader = case.tools.refresh_actor(person) if person is not None else None
            if reader is None or (reader.key == case.actor.key and "me" in case.terms.to):
                continue
            rows.append(await self._build_message("order-news-owner", case, theirs, records, reader))
        return rows

    async def _build_message(
        self, code: str, case: _Case, changed: Sequence[ChangedRecord], records: Records, reader: Actor, *, left: int = 0
    ) -> OutboxRow:
        table = await self._lines.build_table(changed, records, reader, case.session)
        notices = [words.build_event_notice(code, case.entry, reader, case.session.now, who=case.actor.name, days=case.terms.quiet)]
        if case.terms.text:
            notices.append(Notice(code="order-says", args={"text": case.terms.text}))
        if left:
            notices.append(Notice(code="schedules-more", args={"count": left}))
        return outbox.build_reply_row(reader.key, Reply(sections=((notices[0], table),), notices=tuple(notices[1:])), case.session.now)


def to_failure(trouble: ReportTrouble) -> WatchFailed:
    passing = {"loading", "unread", "no_numbers", "too_long"}
    code = trouble.code
    return WatchFailed("later" if code in passing else "closed" if code.startswith("no_") else "unclear", trouble.text, trouble.detail)


def _admit(order: str, entry: StandingOrder, row: InboxRow, session: Session, tools: Tools, *, hit: OrderHit | None = None) -> _Case | None:
    actor = tools.refresh_actor(Actor.model_validate(entry.actor))
    if actor is None:
        return None
    terms = OrderTerms.model_validate(entry.terms)
    return _Case(order=order, entry=entry, terms=terms, actor=actor, row=row, session=session, tools=tools, hit=hit)


async def _finish(case: _Case, fired: OrderFired, *events: Event, rows: Sequence[OutboxRow]) -> None:
    """An order without a next moment is over."""
    ended = [OrderEnded(order=case.order, why="done")] if case.entry.due and not fired.following else []
    await _commit(case.order, case.entry, [fired, *events, *ended], case.row, case.session, rows)


async def _pause(
    order: str, entry: StandingOrder, why: OrderPause, row: InboxRow | None, session: Session, tools: Tools, *, detail: str = ""
) -> None:
    """Tells the person; of one who has no access any more their leads, as schedules do."""
    log.warning("an order is paused", extra={"action": "order_paused", "order": order, "why": why})
    owner = Actor.model_validate(entry.actor)
    reader = tools.refresh_actor(owner) or owner
    because = words.describe_reason(why, detail).model_dump()
    rows = []
    if why == "owner_left":
        leads = tools.gate.deps.approvers.find_leads(owner, lambda _lead: True)
        notice = words.build_event_notice("order-was-paused", entry, reader, session.now, why=because, who=owner.name)
        rows = [outbox.build_reply_row(lead.key, Reply(notices=(notice,)), session.now) for lead in leads if lead.key != session.key]
    else:
        notice = words.build_event_notice("order-was-paused", entry, reader, session.now, why=because, who=words.NONE)
        buttons = tuple(words.build_button(order, deed) for deed in ("resume", "remove"))
        rows = [outbox.build_reply_row(session.key, Reply(notices=(notice,), actions=buttons), session.now)]
    await _commit(order, entry, [OrderPaused(order=order, why=why, detail=detail)], row, session, rows)


async def _commit(
    order: str, entry: StandingOrder, events: Sequence[Event], row: InboxRow | None, session: Session, rows: Sequence[OutboxRow]
) -> None:
    own = [event for event in events if hasattr(event, "order")]
    timers = [build_timer(order, entry, own, home=session.key, now=session.now, seq=session.seq), *_list_used_timers(row, session)]
    await session.commit(*events, actor="system", outbox=rows, timers=timers, inbox_done=[row.id] if row is not None else [])


def _list_used_timers(row: InboxRow | None, session: Session) -> list[Timer]:
    """By which a hit was tried again: it would stay due for ever."""
    if row is None or row.kind != "timer" or row.body.get("kind") != OrderHit.KIND:
        return []
    return [Timer(id=str(row.body["timer"]), due_at=session.now, session=session.key, kind=OrderHit.KIND, delete=True)]
