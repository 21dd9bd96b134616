"""Shows open cards again: on /pending, and after downtime in which Telegram dropped clicks."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.card_view import Preview
from orchestrator.domain.message_views import CallLine, EditableField, EditBody, WaitingBody
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.card_groups import list_shown_cards
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_cross_session_row, build_system_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Receive, Tools
from orchestrator.turns.turn import admit_actor
from state.clock import format_iso, parse_iso
from state.events.cards import build_question_key
from state.events.fold import list_open_confirmations
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.run_index import PREFIX as RUN
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow, OutboxRow
from state.model.card import Card

log = logging.getLogger(__name__)

REFRESH: Final = "refresh_cards"
"""Input that makes a session show its open cards again."""
SHOW_AGAIN: Final = "show_cards_again"
LOST_AFTER: Final = timedelta(seconds=150)
"""Telegram keeps clicks so long; messages for a day."""
_ALIVE: Final = "cards:alive"
_LONGEST: Final = timedelta(days=3660)
_MOST: Final = 10_000
MAX_LINKS: Final = 20


FindElsewhere = Callable[[InboxRow, Actor, Session, Tools], Awaitable[tuple[int, list[InboxRow]]]]
"""Number of cards that wait elsewhere, and inputs that show them."""


async def show_pending(row: InboxRow, session: Session, tools: Tools, *, find_elsewhere: FindElsewhere) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    count, inbox_rows = await find_elsewhere(row, actor, session, tools)
    runs = await _count_run_cards(session, tools.store)
    inbox_rows = [*inbox_rows, *(build_cross_session_row(SHOW_AGAIN, row, key, {}, session) for key in runs)]
    rows = await build_pending_rows(session, tools.store, of_others=count, of_runs=sum(runs.values()))
    await session.commit(actor=actor.key, outbox=rows, inbox_new=inbox_rows, inbox_done=[row.id])


async def _count_run_cards(session: Session, store: AsyncStore) -> dict[str, int]:
    waiting = await store.list_runs(RunFilter(home=session.key, statuses=("waiting", "paused"), limit=MAX_LINKS))
    keys = [f"{RUN}{one.run_id}" for one in reversed(waiting)]
    counts = {key: len(list_open_confirmations((await store.read(load_state, key))[0])) for key in keys}
    return {key: count for key, count in counts.items() if count}


async def show_again(row: InboxRow, session: Session, _tools: Tools) -> None:
    outbox_rows = [build_fresh_card_row(session.key, entry, session.now) for entry in list_open_confirmations(session.state)]
    await session.commit(actor=row.actor_key, outbox=outbox_rows, inbox_done=[row.id])


async def build_pending_rows(session: Session, store: AsyncStore, *, of_others: int = 0, of_runs: int = 0) -> list[OutboxRow]:
    """Links in a group, otherwise the cards. Other sessions and runs show their own."""
    entries = list_shown_cards(session.state, session.key)
    count_row = outbox.build_reply_row(
        session.key, build_reply(Notice(code="pending", args={"count": len(entries) + of_runs})), session.now
    )
    also = (
        [outbox.build_reply_row(session.key, build_reply(Notice(code="lead-pending", args={"count": of_others})), session.now)]
        if of_others
        else []
    )
    if not entries:
        return [count_row, *also] if of_runs else also or [count_row]
    if not Address.parse(session.key).is_group:
        return [count_row, *(build_fresh_card_row(session.key, entry, session.now) for entry in entries), *also]
    refs = {entry.confirmation_id: await store.find_sent_ref(session.key, f"card:{entry.confirmation_id}") for entry in entries}
    linked = [entry for entry in entries if refs[entry.confirmation_id]][:MAX_LINKS]
    lines = [_build_line(entry, refs[entry.confirmation_id]) for entry in linked]
    body = WaitingBody(chat=session.key, count=len(entries), cards=lines)
    row = outbox.build_row(session.key, PENDING_LIST, body.to_json(), session.now)
    return [row, *(build_fresh_card_row(session.key, entry, session.now) for entry in entries if entry not in linked)]


def _build_line(entry: Card, ref: str) -> CallLine:
    preview = Preview.model_validate({key: value for key, value in entry.preview.items() if key != "lines"})
    return CallLine(preview=preview, method=entry.method, who=entry.requested_by_name, until=entry.expires_at, ref=ref)


async def refresh_open_cards(row: InboxRow, session: Session, tools: Tools) -> None:
    """New messages, because the clicks on the old ones were lost."""
    del tools
    card_rows = [
        build_fresh_card_row(session.key, entry, session.now, leads="too") for entry in list_shown_cards(session.state, session.key)
    ]
    note = (
        [outbox.build_reply_row(session.key, build_reply(Notice(code="cards-again", args={"count": len(card_rows)})), session.now)]
        if card_rows
        else []
    )
    await session.commit(actor="system", outbox=[*note, *card_rows], inbox_done=[row.id])


class CardRefresher:
    """Notices downtime in which clicks were lost."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def run(self, receive: Receive, now: datetime) -> None:
        """One input per chat after `LOST_AFTER`; repeated runs submit the same ids. Called every 20 seconds."""
        last = await self._store.get_value(_ALIVE)
        if last is not None and now - parse_iso(last) > LOST_AFTER:
            waiting_sessions = await self._find_waiting_sessions(now)
            log.info("away since %s: %d chats see their open cards anew", last, len(waiting_sessions), extra={"action": "cards_refreshed"})
            if waiting_sessions:
                await receive([build_system_row(REFRESH, session, f"refresh:{session}:{last}", now) for session in waiting_sessions])
        await self._store.set_value(_ALIVE, format_iso(now))

    async def _find_waiting_sessions(self, now: datetime) -> list[str]:
        timers = await self._store.list_due_timers(now + _LONGEST, _MOST)
        waiting = {timer.session for timer in timers if timer.kind == confirmations.TIMER and timer.due_at > now}
        homes = {key: await self._find_home(key) for key in waiting}
        return sorted(key for key, home in homes.items() if Address.parse(home).is_messenger)

    async def _find_home(self, key: str) -> str:
        if not key.startswith(RUN):
            return key
        runs = await self._store.list_runs(RunFilter(run_id=key.removeprefix(RUN)))
        return runs[0].home if runs else ""


EDIT = "edit"
PENDING_LIST = "waiting"
"""Its body is a `WaitingBody`."""


def build_fresh_card_row(session: str, entry: Card, now: datetime, *, leads: Literal["too", "not"] = "not") -> OutboxRow:
    """The earlier message loses its buttons. `leads`: also the copies of leads."""
    card_row = outbox.build_card_row(session, entry, now, anew=True)
    return replace(card_row, body={**card_row.body, "told": entry.told}) if leads == "too" and entry.told else card_row


def build_picker_row(session: str, confirmation_id: str, fields: Sequence[EditableField], now: datetime) -> OutboxRow:
    editable_fields = [EditableField(name=field.name, value=field.value) for field in fields]
    body = EditBody(what="fields", confirmation_id=confirmation_id, fields=editable_fields)
    return outbox.build_row(session, EDIT, body.to_json(), now, key=f"edit:{confirmation_id}")


def build_picker_result_row(session: str, confirmation_id: str, code: str, now: datetime, **args: str) -> OutboxRow:
    """Replaces the question "which field?"."""
    body = EditBody(what="told", confirmation_id=confirmation_id, notice=Notice(code=code, args=args))
    return outbox.build_row(session, EDIT, body.to_json(), now, key=f"edit:{confirmation_id}")


def build_question_row(
    session: str, confirmation_id: str, field: EditableField, now: datetime, *, ask: int, objection: Notice | None, options: Sequence[str]
) -> OutboxRow:
    body = EditBody(
        what="value",
        confirmation_id=confirmation_id,
        name=field.name,
        value=field.value,
        field_kind=field.kind,
        objection=objection.model_dump() if objection else None,  # its args are stored even if there are none
        options=options,
        ask=ask,
        private=not Address.parse(session).is_group,
    )
    return outbox.build_row(session, EDIT, body.to_json(), now, key=build_question_key(confirmation_id, ask))
