"""Shows cards that wait for a decision once more: on /pending, and after downtime in which Telegram dropped button clicks.

It also builds the outbox rows for this: a card shown again, the questions of an edit, and the list of open cards. It decides nothing.
"""

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
"""The kind of the input that makes a session show its open cards again."""
SHOW_AGAIN: Final = "show_cards_again"
"""The kind of the input that makes a run show its open cards again in its chat."""
LOST_AFTER: Final = timedelta(seconds=150)
"""How long Telegram keeps a button click for a bot that does not fetch it; messages are kept for a day."""
_ALIVE: Final = "cards:alive"
_LONGEST: Final = timedelta(days=3660)
_MOST: Final = 10_000
MAX_LINKS: Final = 20


FindElsewhere = Callable[[InboxRow, Actor, Session, Tools], Awaitable[tuple[int, list[InboxRow]]]]
"""A function that finds the cards of other sessions that wait for a person, for /pending.

It returns their number, and the inputs that ask those sessions to show them.
"""


async def show_pending(row: InboxRow, session: Session, tools: Tools, *, find_elsewhere: FindElsewhere) -> None:
    """Handle /pending: show the cards that are open in this session, and those of the runs that are shown in it.

    A run is an execution of a scenario, flow or workflow; it shows its cards itself. If the person is a lead (head of sales), the sessions
    of other people also show the cards that wait for this lead. Raises StoreError.
    """
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    count, inbox_rows = await find_elsewhere(row, actor, session, tools)
    runs = await _count_run_cards(session, tools.store)
    inbox_rows = [*inbox_rows, *(build_cross_session_row(SHOW_AGAIN, row, key, {}, session) for key in runs)]
    rows = await build_pending_rows(session, tools.store, of_others=count, of_runs=sum(runs.values()))
    await session.commit(actor=actor.key, outbox=rows, inbox_new=inbox_rows, inbox_done=[row.id])


async def _count_run_cards(session: Session, store: AsyncStore) -> dict[str, int]:
    """Return run key → number of open cards, for each run that is shown in this session's chat and has open cards."""
    waiting = await store.list_runs(RunFilter(home=session.key, statuses=("waiting", "paused"), limit=MAX_LINKS))
    keys = [f"{RUN}{one.run_id}" for one in reversed(waiting)]
    counts = {key: len(list_open_confirmations((await store.read(load_state, key))[0])) for key in keys}
    return {key: count for key, count in counts.items() if count}


async def show_again(row: InboxRow, session: Session, _tools: Tools) -> None:
    """Show the open cards of a run at the end of its chat, because somebody there asked for them with /pending. Raises StoreError."""
    outbox_rows = [build_fresh_card_row(session.key, entry, session.now) for entry in list_open_confirmations(session.state)]
    await session.commit(actor=row.actor_key, outbox=outbox_rows, inbox_done=[row.id])


async def build_pending_rows(session: Session, store: AsyncStore, *, of_others: int = 0, of_runs: int = 0) -> list[OutboxRow]:
    """Return the messages that answer /pending.

    In a group they contain links to the open cards; in a private chat they show the cards again at the end of the chat. `of_others` is the
    number of cards in other sessions that wait for the person; the last message mentions it, and those sessions show their cards
    themselves. So do the runs of this chat; `of_runs` is the number of their cards.
    """
    entries = list_shown_cards(session.state, session.key)
    told = outbox.build_reply_row(session.key, build_reply(Notice(code="pending", args={"count": len(entries) + of_runs})), session.now)
    also = (
        [outbox.build_reply_row(session.key, build_reply(Notice(code="lead-pending", args={"count": of_others})), session.now)]
        if of_others
        else []
    )
    if not entries:
        return [told, *also] if of_runs else also or [told]
    if not Address.parse(session.key).is_group:
        return [told, *(build_fresh_card_row(session.key, entry, session.now) for entry in entries), *also]
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
    """Show every open card of the session again as a new message, so that a person whose click was lost can click again.

    Raises StoreError.
    """
    del tools
    shown = [build_fresh_card_row(session.key, entry, session.now, leads="too") for entry in list_shown_cards(session.state, session.key)]
    note = (
        [outbox.build_reply_row(session.key, build_reply(Notice(code="cards-again", args={"count": len(shown)})), session.now)]
        if shown
        else []
    )
    await session.commit(actor="system", outbox=[*note, *shown], inbox_done=[row.id])


class CardRefresher:
    """A periodic task that notices when the bot was down for longer than Telegram keeps button clicks, and has open cards shown again."""

    def __init__(self, store: AsyncStore) -> None:
        """Keep the store; nothing is read yet."""
        self._store = store

    async def run(self, receive: Receive, now: datetime) -> None:
        """If the bot was down for longer than `LOST_AFTER`, have every chat with open cards show them again.

        For this it submits one input for each such chat. The worker calls this method every 20 seconds, so the time since the previous run
        tells how long the bot was down. If the process crashes before the run is recorded, the next run submits inputs with the same ids,
        so that each is handled only once. May raise StoreError.
        """
        last = await self._store.get_value(_ALIVE)
        if last is not None and now - parse_iso(last) > LOST_AFTER:
            waiting_sessions = await self._find_waiting_sessions(now)
            log.info("away since %s: %d chats see their open cards anew", last, len(waiting_sessions), extra={"action": "cards_refreshed"})
            if waiting_sessions:
                await receive([build_system_row(REFRESH, session, f"refresh:{session}:{last}", now) for session in waiting_sessions])
        await self._store.set_value(_ALIVE, format_iso(now))

    async def _find_waiting_sessions(self, now: datetime) -> list[str]:
        """Return the keys of the sessions with open cards that are shown in a messenger, found by the cards' expiry timers."""
        timers = await self._store.list_due_timers(now + _LONGEST, _MOST)
        waiting = {timer.session for timer in timers if timer.kind == confirmations.TIMER and timer.due_at > now}
        homes = {key: await self._find_home(key) for key in waiting}
        return sorted(key for key, home in homes.items() if Address.parse(home).is_messenger)

    async def _find_home(self, key: str) -> str:
        """Return the session in whose chat the cards of the session `key` are shown: the home of a run, otherwise the session itself."""
        if not key.startswith(RUN):
            return key
        runs = await self._store.list_runs(RunFilter(run_id=key.removeprefix(RUN)))
        return runs[0].home if runs else ""


EDIT = "edit"
"""The kind of outbox rows that belong to an edit; their body is an `EditBody`."""
PENDING_LIST = "waiting"
"""The kind of the outbox row that lists the open cards of a group; its body is a `WaitingBody`."""


def build_fresh_card_row(session: str, entry: Card, now: datetime, *, leads: Literal["too", "not"] = "not") -> OutboxRow:
    """Return the outbox row that shows the card as a new message at the end of the chat.

    The earlier message loses its buttons and refers to the new one. `leads` says whether the copies of the card in the chats of leads
    (heads of sales) are sent again too; they are not when a person lists their own cards, so that nobody else is notified.
    """
    card_row = outbox.build_card_row(session, entry, now, anew=True)
    return replace(card_row, body={**card_row.body, "told": entry.told}) if leads == "too" and entry.told else card_row


def build_picker_row(session: str, confirmation_id: str, fields: Sequence[EditableField], now: datetime) -> OutboxRow:
    """Return the outbox row that asks the person which of these fields to change."""
    editable_fields = [EditableField(name=field.name, value=field.value) for field in fields]
    body = EditBody(what="fields", confirmation_id=confirmation_id, fields=editable_fields)
    return outbox.build_row(session, EDIT, body.to_json(), now, key=f"edit:{confirmation_id}")


def build_picker_result_row(session: str, confirmation_id: str, code: str, now: datetime, **args: str) -> OutboxRow:
    """Return the outbox row that replaces the question "which field?" with the result of the edit.

    `code` is the code of the message text, `args` its arguments.
    """
    body = EditBody(what="told", confirmation_id=confirmation_id, notice=Notice(code=code, args=args))
    return outbox.build_row(session, EDIT, body.to_json(), now, key=f"edit:{confirmation_id}")


def build_question_row(
    session: str, confirmation_id: str, field: EditableField, now: datetime, *, ask: int, objection: Notice | None, options: Sequence[str]
) -> OutboxRow:
    """Return the outbox row that asks for the new value of the field.

    `ask` is the number of the question. `objection` says what was wrong with the last answer, `options` are values that it may have meant.
    """
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
