"""Lets callers wait for the answer to an inbox row (stored message), and stores the inbox rows of many callers in one commit.

A waiting caller is woken by the commit that closes the inbox row (marks it as processed). If another process closes the row, polling the
database finds that out. A restart loses nothing, because everything kept in memory here is in the database too.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final

from orchestrator.domain.inputs import TextMessage
from orchestrator.domain.outputs import Notice
from state.events.base import Event
from state.events.calls import CallSucceeded
from state.events.confirmations import ConfirmationRequested
from state.events.conversation import MessageReceived, TurnFinished
from state.events.talking import AnswerGiven
from state.journal.async_store import AsyncStore
from state.journal.store import Commit, InboxRow, Store, StoreError

LOOK_EVERY: Final = 1.0
"""Seconds between polls of the database; changes by another process may come without notification."""


MOST_STEPS: Final = 50


class Ticket:
    """One caller's wait for the answer to one inbox row; the mailbox adds to it what happens meanwhile (events, steps, text so far)."""

    def __init__(self, row: InboxRow) -> None:
        """Create a ticket for the answer to `row`, with no events yet."""
        self.row = row
        self.is_over = row.status != "new"
        """Whether the inbox row is closed (processed), so that its answer is available."""
        self.is_complete = row.kind != TextMessage.KIND and not self.is_over
        """Whether `events` has all events of the turn, because the turn began after the ticket was opened."""
        self.events: list[Event] = []
        self.text = ""
        """The model's answer so far, while it is being written."""
        self.steps: deque[Notice] = deque(maxlen=MOST_STEPS)
        """Notices of the turn's steps that were not sent to the caller yet."""
        self.has_trouble = False
        """Whether the database cannot be written at present."""
        self.news = asyncio.Event()

    async def wait_for_news(self, within: float) -> None:
        """Wait until the mailbox adds something to the ticket or marks it as over, at most `within` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.news.wait()
        self.news.clear()


class Mailbox:
    """Wakes the callers of this process that wait for answers; each wait is a `Ticket`.

    A caller that is woken looks at what its ticket holds. The orchestrator calls `report_partial` and `report_trouble` for sessions of the
    API.
    """

    def __init__(self, store: AsyncStore) -> None:
        """Create the mailbox; it watches `store` while `run` is running."""
        self._store = store
        self._tickets: dict[str, list[Ticket]] = {}
        self._followed: dict[str, list[Ticket]] = {}
        self._turns: dict[str, str] = {}
        """By session: the id of the inbox row (turn) that is being worked on in it."""
        self._look = asyncio.Event()

    @contextlib.contextmanager
    def open_ticket(self, row: InboxRow) -> Iterator[Ticket]:
        """Yield a ticket for a caller who waits for the answer to the inbox row.

        The caller is woken when the row is closed (processed) or nothing can be stored.
        """
        ticket = Ticket(row)
        with _register_ticket(self._tickets, ticket):
            yield ticket

    @contextlib.contextmanager
    def open_followed_ticket(self, row: InboxRow) -> Iterator[Ticket]:
        """Yield a ticket as `open_ticket` does, whose caller is also woken by progress of the turn (processing of the message).

        The progress consists of the turn's steps, such as the lookup of records, and of the answer's text so far.
        """
        with self.open_ticket(row) as ticket, _register_ticket(self._followed, ticket):
            yield ticket

    async def run(self) -> None:
        """Add the stored events of each turn to the tickets that wait for it, and wake the callers when their inbox rows are closed.

        Commits of this process are seen at once. Rows that other processes have closed are found by polling the database. Runs until
        cancelled.
        """
        self._store.watchers.append(self._observe_commit)
        self._store.listeners.append(self._look.set)
        try:
            while True:
                self._look.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY):
                        await self._look.wait()
                with contextlib.suppress(StoreError):
                    await self._check_all()
        finally:
            self._store.watchers.remove(self._observe_commit)
            self._store.listeners.remove(self._look.set)

    async def check_closed(self, ticket: Ticket) -> None:
        """Mark the ticket as over (its answer is ready) if its inbox row was closed (processed) before the ticket was opened.

        Raises StoreError.
        """
        closed = await self._store.read(_select_closed, [ticket.row.source])
        if closed and not ticket.is_over:
            ticket.is_over, ticket.is_complete = True, False

    async def _check_all(self) -> None:
        """Mark as over each ticket whose inbox row another process has closed, and wake its caller. Raises StoreError."""
        sources = {tickets[0].row.source: row_id for row_id, tickets in self._tickets.items() if not tickets[0].is_over}
        if not sources:
            return
        for source in await self._store.read(_select_closed, list(sources)):
            for ticket in self._tickets.get(sources[source], ()):
                ticket.is_over, ticket.is_complete = True, False
                ticket.news.set()

    async def report_partial(self, session: str, what: str | Notice) -> None:
        """Add the progress of a session's turn to the tickets of `open_followed_ticket` and wake their callers; the orchestrator calls it.

        `what` is the text of the answer so far, or a notice about the turn's beginning, one of its steps, or its end.
        """
        if isinstance(what, Notice) and what.code in {"run-shows", "run-shown"}:
            return  # the answer to a message holds nothing of the runs that go on beside it
        if isinstance(what, Notice) and what.code == "turn-begun":
            self._turns[session] = str(what.args["turn"])
        elif isinstance(what, Notice) and what.code == "turn-over":
            self._turns.pop(session, None)
        for ticket in self._followed.get(self._turns.get(session, ""), ()):
            if not isinstance(what, Notice):
                ticket.text = what
            elif what.code not in {"turn-begun", "turn-over"}:
                ticket.steps.append(what)
            ticket.news.set()

    async def report_trouble(self, session: str, _notice: Notice) -> None:
        """Notify the callers waiting in that session that nothing can be stored; the orchestrator calls it."""
        for tickets in self._tickets.values():
            for ticket in tickets:
                if ticket.row.session == session:
                    ticket.has_trouble = True
                    ticket.news.set()

    def _observe_commit(self, commit: Commit) -> None:
        if not self._tickets:
            return
        for step in (*commit.earlier, commit):
            for event in step.events:
                self._record_event(event)
            for row_id in step.inbox_done:
                for ticket in self._tickets.get(row_id, ()):
                    ticket.is_over = True
                    ticket.news.set()

    def _record_event(self, event: Event) -> None:
        match event:
            case AnswerGiven():
                cause = event.cause
            case MessageReceived() | CallSucceeded() | ConfirmationRequested() | TurnFinished():
                cause = event.turn_id
            case _:
                return
        if isinstance(event, CallSucceeded) and event.call_class == "R":
            return
        for ticket in self._tickets.get(cause, ()):
            ticket.is_complete = ticket.is_complete or isinstance(event, MessageReceived)
            ticket.events.append(type(event).from_data(event.model_dump(mode="json")))


@contextlib.contextmanager
def _register_ticket(tickets: dict[str, list[Ticket]], ticket: Ticket) -> Iterator[None]:
    """Keep the ticket in `tickets` during the block, listed under the id of its inbox row."""
    of_input = tickets.setdefault(ticket.row.id, [])
    of_input.append(ticket)
    try:
        yield
    finally:
        of_input.remove(ticket)
        if not of_input:
            del tickets[ticket.row.id]


def _select_closed(store: Store, sources: list[str]) -> list[str]:
    found = ((source, store.find_inbox(source)) for source in sources)
    return [source for source, row in found if row is not None and row.status != "new"]


BATCH_SIZE: Final = 100
"""Maximum number of inbox rows per commit."""

Receive = Callable[[Sequence[InboxRow]], Awaitable[list[bool]]]


class InputBatcher:
    """Stores inbox rows in batches, so that a hundred callers at once cost two disk flushes, not a hundred.

    A single caller does not wait for others.
    """

    def __init__(self, receive: Receive) -> None:
        """Create the batcher; `receive` stores inbox rows in one commit and returns for each whether it is new."""
        self._receive = receive
        self._waiting: list[tuple[InboxRow, asyncio.Future[bool]]] = []
        self._drain_task: asyncio.Task[None] | None = None

    async def take(self, row: InboxRow) -> bool:
        """Store the inbox row and return True; return False if the same input was stored before. Raises StoreError.

        Rows of the same input have the same `source`.
        """
        stored: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((row, stored))
        if self._drain_task is None:
            self._drain_task = asyncio.ensure_future(self._drain())
        return await stored

    async def _drain(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH_SIZE], self._waiting[BATCH_SIZE:]
                await self._store(batch)
        finally:
            self._drain_task = None

    async def _store(self, batch: Sequence[tuple[InboxRow, "asyncio.Future[bool]"]]) -> None:
        """Store all inbox rows (messages) of the batch in one commit, or none of them, and report the result to each waiting caller.

        The inbox row of a caller who has disconnected is stored too.
        """
        try:
            fresh = await self._receive([row for row, _ in batch])
        except Exception as error:  # noqa: BLE001 - every error is passed on to the waiting callers
            for _, stored in batch:
                if not stored.done():
                    stored.set_exception(error)
            return
        for (_, stored), new in zip(batch, fresh, strict=True):
            if not stored.done():
                stored.set_result(new)
