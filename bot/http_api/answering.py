"""Waits for the answer to an input and gives it: in one piece, or as it comes. Ring 3. Who goes away leaves the turn running.

Rights are those of the moment in which something is told, not of the one in which it was asked.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from fastapi.responses import Response

from bot.http_api.answers import ChatAnswer, answer_of, read_befores, read_events, records, shown_cards, until_told
from bot.http_api.bodies import Reader
from bot.http_api.desk import words_for
from bot.http_api.errors import MEANINGS, ApiError
from bot.http_api.intake import Intake
from bot.http_api.mailbox import Mailbox, Ticket
from bot.http_api.overrides import Overrides
from bot.http_api.streaming import HEARTBEAT, event
from bot.http_api.tokens import Client
from bot.rendering.progress import step_line
from bot.rendering.spans import plain
from orchestrator.links import known_links_only
from orchestrator.messages import Notice
from orchestrator.reports.viewing import Viewer
from orchestrator.turns import Tools
from orchestrator.workers import Orchestrator
from state.clock import Clock, elapsing
from state.store import InboxRow, StoreError
from state.trace import HEADER

STREAM_WITHIN: Final = 1800.0
"""A stream of events ends after so many seconds whatever the turn does."""
BEAT_EVERY: Final = 15.0
_ACCEPTED: Final = 202
_KEPT: Final = "It cannot be answered at the moment; the message is kept. Ask again with the same Idempotency-Key."


@dataclass(frozen=True, kw_only=True)
class Chat:
    """What the endpoint works with."""

    orchestrator: Orchestrator
    mailbox: Mailbox
    overrides: Overrides
    clock: Clock
    answer_within: float
    """Seconds that a request is kept waiting; then it is told how to go on."""
    reader: Reader
    intake: Intake
    beat_every: float = BEAT_EVERY

    @property
    def tools(self) -> Tools:
        """The store, the gate and the questions that may be asked."""
        return self.orchestrator.tools


async def received(row: InboxRow, chat: Chat) -> InboxRow:
    """The input as it is stored: the first one with that key. Raises ApiError 422 for another request, StoreError."""
    if await chat.intake.take(row):
        return row
    known = await chat.orchestrator.tools.store.input_of(row.source)
    if known is None:
        raise ApiError(503, "unavailable", MEANINGS[503], headers={"Retry-After": "5"})
    if "request" not in known.body:
        raise ApiError(409, "answer_gone", "The request of this Idempotency-Key was erased.")
    if known.body["request"] != row.body["request"]:
        raise ApiError(422, "idempotency_mismatch", "This Idempotency-Key was used before with another request.")
    return known


async def answered(row: InboxRow, client: Client, chat: Chat) -> Response:
    """The answer in one piece: 200, or 202 when it is not there in time; raises ApiError 401, 422, 500 or 503."""
    with chat.mailbox.waiting(row) as ticket:  # before it is stored, or its end might come unseen
        known = await received(row, chat)
        if known is row:
            return await _waited(ticket, client, chat)
    with chat.mailbox.waiting(known) as ticket:
        return await _waited(ticket, client, chat)


async def _waited(ticket: Ticket, client: Client, chat: Chat) -> Response:
    end = elapsing() + chat.answer_within
    while not ticket.over and not ticket.trouble and (left := end - elapsing()) > 0:
        await ticket.told(left)
    client = _present(client, chat)
    if ticket.over:
        answer = await _collected(ticket, client, chat)
        _refuse_failed(answer)
        return _json(answer, 200)
    if ticket.trouble:
        raise ApiError(503, "unavailable", _KEPT, headers={HEADER: ticket.row.id, "Retry-After": "5"})
    return _json(_still(ticket, client), _ACCEPTED)


async def streamed(row: InboxRow, client: Client, chat: Chat) -> AsyncIterator[bytes]:
    """The answer as it comes: progress, delta, then card for each that waits, then final; or error."""
    with chat.mailbox.following(row) as ticket:
        end = elapsing() + STREAM_WITHIN
        flow = _Flow(row, client, chat)
        with suppress(StoreError):  # looked for again every second
            await chat.mailbox.look(ticket)
        while not ticket.over and not ticket.trouble and elapsing() < end:
            await ticket.told(chat.beat_every)
            if chat.tools.present(client.actor) is None:
                break
            pieces = flow.pieces(ticket)
            for piece in pieces or [HEARTBEAT]:
                yield piece
        for piece in await _last(ticket, flow, client, chat):
            yield piece


async def _last(ticket: Ticket, flow: "_Flow", client: Client, chat: Chat) -> list[bytes]:
    """How the stream ends."""
    try:
        client = _present(client, chat)
    except ApiError as error:
        return [flow.event("error", {"code": error.code, "message": error.message})]
    if ticket.trouble and not ticket.over:
        return [flow.event("error", {"code": "unavailable", "message": _KEPT})]
    try:
        answer = await _collected(ticket, client, chat) if ticket.over else _still(ticket, client)
        _refuse_failed(answer)
    except ApiError as error:
        return [flow.event("error", {"code": error.code, "message": error.message})]
    except StoreError:
        return [flow.event("error", {"code": "unavailable", "message": MEANINGS[503]})]
    shown = answer.model_dump(mode="json")
    return [*(flow.event("card", card) for card in shown["waiting"]), flow.event("final", shown)]


class _Flow:
    """What a stream has said so far."""

    def __init__(self, row: InboxRow, client: Client, chat: Chat) -> None:
        """Nothing yet."""
        self._row, self._tr = row, words_for(client)
        self._hosts, self._locale = chat.tools.hosts, client.actor.locale
        self._said, self._count = "", 0

    def pieces(self, ticket: Ticket) -> list[bytes]:
        """The news as events: steps in words, and how the text differs from what was said."""
        found = []
        while ticket.steps:
            found.append(self.event("progress", {"text": self._words(ticket.steps.popleft())}))
        text = known_links_only(ticket.text, self._hosts, locale=self._locale)
        if text != self._said:
            kept = _shared(text, self._said)
            self._said = text
            found.append(self.event("delta", {"at": kept, "text": text[kept:]}))
        return found

    def event(self, name: str, data: dict[str, Any]) -> bytes:
        """One event; its id names the input and its place in this stream."""
        self._count += 1
        return event(name, f"{self._row.id}:{self._count}", data)

    def _words(self, step: Notice) -> str:
        return plain(step_line(step.args, self._tr)) if step.code == "step" else self._tr.notice(step)


def _present(client: Client, chat: Chat) -> Client:
    """The client with the rights of now; raises ApiError 401 where its token is gone."""
    actor = chat.tools.present(client.actor)
    if actor is None:
        raise ApiError(401, "unauthorized", MEANINGS[401])
    return replace(client, actor=actor)


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    longest = min(len(one), len(other))
    return longest if one[:longest] == other[:longest] else next(at for at in range(longest) if one[at] != other[at])


async def _collected(ticket: Ticket, client: Client, chat: Chat) -> ChatAnswer:
    """The answer of an input that is over; from the journal where its beginning was not seen here. Raises StoreError."""
    row, store = ticket.row, chat.tools.store
    happened = until_told(ticket.happened if ticket.whole else await store.read(read_events, row))
    missing = any("before" not in card for card in shown_cards(happened))
    befores = await store.read(read_befores, row.session) if missing else {}
    link = chat.tools.queries["link"]
    urls = {record: await link(target=record, actor=client.actor) for record in records(happened)}
    viewer = Viewer(actor=client.actor, means=chat.tools.gate.means)
    return answer_of(happened, row, viewer, words_for(client), befores=befores, urls=urls)


def _still(ticket: Ticket, client: Client) -> ChatAnswer:
    said = words_for(client).say("api-working")
    return ChatAnswer(assistant=said, session=ticket.row.session, turn_id=ticket.row.id, state="working")


def _refuse_failed(answer: ChatAnswer) -> None:
    """What nobody foresaw is told as such, unless the caller must know what was done or waits (S004-66)."""
    if answer.state == "failed" and not answer.waiting and not answer.done:
        raise ApiError(500, "internal_error", MEANINGS[500], headers={HEADER: answer.turn_id})


def _json(answer: ChatAnswer, status: int) -> Response:
    return Response(answer.model_dump_json(), status, {HEADER: answer.turn_id}, "application/json")
