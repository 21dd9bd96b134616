"""Sends an answer whole or as server-sent events. Rights are checked again before; who disconnects stops no turn."""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import orjson
from fastapi.responses import Response

from bot.http_api.chat.answers import (
    ChatAnswer,
    build_answer,
    collect_open_cards,
    collect_records,
    read_befores,
    read_events,
    trim_to_answer,
)
from bot.http_api.chat.mailbox import InputBatcher, Mailbox, Ticket
from bot.http_api.chat.request_body import BodyReader, Overrides
from bot.http_api.server.endpoint_context import build_translator, store_once
from bot.http_api.server.errors import MEANINGS, ApiError
from bot.http_api.server.tokens import Client
from bot.rendering.markdown import render_markdown
from bot.rendering.progress import Step, render_step
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Notice
from orchestrator.reports.viewer import Viewer
from state.clock import Clock, read_boottime
from state.journal.store import InboxRow, StoreError
from state.trace import HEADER

if TYPE_CHECKING:  # a command of the terminal uses the streams, and has no orchestrator
    from orchestrator.runtime.worker import Orchestrator
    from orchestrator.turns.feature import Tools

STREAM_WITHIN: Final = 1800.0
"""Seconds, even if the turn is still running."""
BEAT_EVERY: Final = 15.0
_ACCEPTED: Final = 202
_KEPT: Final = "It cannot be answered at the moment; the message is kept. Ask again with the same Idempotency-Key."


@dataclass(frozen=True, kw_only=True)
class ChatContext:
    orchestrator: "Orchestrator"
    mailbox: Mailbox
    overrides: Overrides
    clock: Clock
    answer_within: float
    """Seconds; after that the response is 202, which says where the answer will appear."""
    reader: BodyReader
    intake: InputBatcher
    beat_every: float = BEAT_EVERY

    @property
    def tools(self) -> "Tools":
        return self.orchestrator.tools


async def store_request(row: InboxRow, chat: ChatContext) -> InboxRow:
    """The stored row, or the earlier one with the same Idempotency-Key. Raises as `store_once`."""
    return await store_once(row, chat.intake.take, chat.orchestrator.tools.store)


async def wait_for_answer(row: InboxRow, client: Client, chat: ChatContext) -> Response:
    """202 if it is not ready in time.

    Raises ApiError 401 (token revoked), 500 (failed), 503 (nothing can be stored), and as `store_request`.
    """
    with chat.mailbox.open_ticket(row) as ticket:  # opened before the input is stored, or its end could be missed
        known = await store_request(row, chat)
        if known is row:
            return await _wait_on_ticket(ticket, client, chat)
    with chat.mailbox.open_ticket(known) as ticket:
        return await _wait_on_ticket(ticket, client, chat)


async def _wait_on_ticket(ticket: Ticket, client: Client, chat: ChatContext) -> Response:
    end = read_boottime() + chat.answer_within
    while not ticket.is_over and not ticket.has_trouble and (left := end - read_boottime()) > 0:
        await ticket.wait_for_news(left)
    client = _refresh_client(client, chat)
    if ticket.is_over:
        answer = await _collect_answer(ticket, client, chat)
        _refuse_failed(answer)
        return _build_response(answer, 200)
    if ticket.has_trouble:
        raise ApiError(503, "unavailable", _KEPT, headers={HEADER: ticket.row.id, "Retry-After": "5"})
    return _build_response(_build_working_answer(ticket, client), _ACCEPTED)


async def stream_answer(row: InboxRow, client: Client, chat: ChatContext) -> AsyncIterator[bytes]:
    """ "progress" for each step, "delta" for text, at the end a "card" for each open card and "final", or "error"."""
    with chat.mailbox.open_followed_ticket(row) as ticket:
        end = read_boottime() + STREAM_WITHIN
        flow = _AnswerStream(row, client, chat)
        with suppress(StoreError):  # the mailbox polls every second
            await chat.mailbox.check_closed(ticket)
        while not ticket.is_over and not ticket.has_trouble and read_boottime() < end:
            await ticket.wait_for_news(chat.beat_every)
            if chat.tools.refresh_actor(client.actor) is None:
                break
            pieces = flow.collect_news(ticket)
            for piece in pieces or [HEARTBEAT]:
                yield piece
        for piece in await _finish_stream(ticket, flow, client, chat):
            yield piece


async def _finish_stream(ticket: Ticket, flow: "_AnswerStream", client: Client, chat: ChatContext) -> list[bytes]:
    """A "card" for each open card and "final", or else "error"."""
    try:
        client = _refresh_client(client, chat)
    except ApiError as error:
        return [flow.format_event("error", {"code": error.code, "message": error.message})]
    if ticket.has_trouble and not ticket.is_over:
        return [flow.format_event("error", {"code": "unavailable", "message": _KEPT})]
    try:
        answer = await _collect_answer(ticket, client, chat) if ticket.is_over else _build_working_answer(ticket, client)
        _refuse_failed(answer)
    except ApiError as error:
        return [flow.format_event("error", {"code": error.code, "message": error.message})]
    except StoreError:
        return [flow.format_event("error", {"code": "unavailable", "message": MEANINGS[503]})]
    content = answer.model_dump(mode="json")
    return [*(flow.format_event("card", card) for card in content["waiting"]), flow.format_event("final", content)]


class _AnswerStream:
    """Remembers which text was sent already."""

    def __init__(self, row: InboxRow, client: Client, chat: ChatContext) -> None:
        self._row, self._tr = row, build_translator(client)
        self._guard, self._locale = chat.tools.guard, client.actor.locale
        self._sent_text, self._count = "", 0

    def collect_news(self, ticket: Ticket) -> list[bytes]:
        """ "progress" for each new step, and "delta" if the model's text differs."""
        events = []
        while ticket.steps:
            events.append(self.format_event("progress", {"text": self._translate_step(ticket.steps.popleft())}))
        cleaned = self._guard.clean_partial(ticket.text, locale=self._locale)
        text = to_plain_text(render_markdown(cleaned, locale=self._locale))
        if text != self._sent_text:
            common = _count_common_prefix(text, self._sent_text)
            self._sent_text = text
            events.append(self.format_event("delta", {"at": common, "text": text[common:]}))
        return events

    def format_event(self, name: str, data: Mapping[str, object]) -> bytes:
        """Its id is the row's id and a running number."""
        self._count += 1
        return format_event(name, f"{self._row.id}:{self._count}", data)

    def _translate_step(self, step: Notice) -> str:
        return (
            to_plain_text(render_step(Step.model_validate(step.args), self._tr)) if step.code == "step" else self._tr.translate_notice(step)
        )


def _refresh_client(client: Client, chat: ChatContext) -> Client:
    """With present rights. Raises ApiError 401 if its token was revoked."""
    actor = chat.tools.refresh_actor(client.actor)
    if actor is None:
        raise ApiError(401, "unauthorized", MEANINGS[401])
    return replace(client, actor=actor)


def _count_common_prefix(first: str, other: str) -> int:
    longest = min(len(first), len(other))
    return longest if first[:longest] == other[:longest] else next(at for at in range(longest) if first[at] != other[at])


async def _collect_answer(ticket: Ticket, client: Client, chat: ChatContext) -> ChatAnswer:
    """From the ticket's events if complete, else from the journal. Raises StoreError."""
    row, store = ticket.row, chat.tools.store
    happened = trim_to_answer(ticket.events if ticket.is_complete else await store.read(read_events, row))
    missing = any(not card.has("before") for card in collect_open_cards(happened))
    befores = await store.read(read_befores, row.session) if missing else {}
    link = chat.tools.queries["link"]
    urls = {record: await link(target=record, actor=client.actor) for record in collect_records(happened)}
    viewer = Viewer(actor=client.actor, deps=chat.tools.gate.deps)
    return build_answer(happened, row, viewer, build_translator(client), befores=befores, urls=urls)


def _build_working_answer(ticket: Ticket, client: Client) -> ChatAnswer:
    text = build_translator(client).translate("api-working")
    return ChatAnswer(assistant=text, session=ticket.row.session, turn_id=ticket.row.id, state="working")


def _refuse_failed(answer: ChatAnswer) -> None:
    """Raises ApiError 500 only if nothing was changed and no card left open: otherwise the caller must learn of it (S004-66)."""
    if answer.state == "failed" and not answer.waiting and not answer.done:
        raise ApiError(500, "internal_error", MEANINGS[500], headers={HEADER: answer.turn_id})


def _build_response(answer: ChatAnswer, status: int) -> Response:
    return Response(answer.model_dump_json(), status, {HEADER: answer.turn_id}, "application/json")


MEDIA_TYPE: Final = "text/event-stream"
HEARTBEAT: Final = b": still here\n\n"
"""An SSE comment; it keeps proxies from closing an idle connection."""


def format_event(name: str, identity: str | None, data: Mapping[str, object]) -> bytes:
    """`data` becomes JSON on one line. Without `identity` a client goes on from the event before."""
    head = f"event: {name}\n" + (f"id: {identity}\n" if identity is not None else "")
    return f"{head}data: ".encode() + orjson.dumps(data) + b"\n\n"
