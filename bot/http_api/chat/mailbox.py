"""Waits for answers, and stores the inputs of many callers in one commit. A restart loses nothing.

The commit that closes a row wakes its caller; rows closed by another process are found by polling.
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
"""Seconds; changes by another process may come without notification."""


MOST_STEPS: Final = 50


class Ticket:
    """One caller's wait for an answer; the mailbox adds what happens meanwhile."""

    def __init__(self, row: InboxRow) -> None:
        """Create a ticket for the answer to `row`, with no events yet."""
        self.row = row
        self.is_over = row.status != "new"
        """The row is closed, so its answer is there."""
        self.is_complete = row.kind != TextMessage.KIND and not self.is_over
        """The turn began after the ticket was opened: `events` has all of it."""
        self.events: list[Event] = []
        self.text = ""
        """Of the model, while it is being written."""
        self.steps: deque[Notice] = deque(maxlen=MOST_STEPS)
        """Not sent to the caller yet."""
        self.has_trouble = False
        """The database cannot be written at present."""
        self.news = asyncio.Event()

    async def wait_for_news(self, within: float) -> None:
        """At most `within` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.news.wait()
        self.news.clear()


class Mailbox:
    """Wakes the callers of this process; the orchestrator reports sessions of the API to it."""

    def __init__(self, store: AsyncStore) -> None:
        """Watches `store` while `run` is running."""
        self._store = store
        self._tickets: dict[str, list[Ticket]] = {}
        self._followed: dict[str, list[Ticket]] = {}
        self._turns: dict[str, str] = {}
        """By session: the id of the row that is being worked on."""
        self._look = asyncio.Event()

    @contextlib.contextmanager
    def open_ticket(self, row: InboxRow) -> Iterator[Ticket]:
        """Woken when the row is closed or nothing can be stored."""
        ticket = Ticket(row)
        with _register_ticket(self._tickets, ticket):
            yield ticket

    @contextlib.contextmanager
    def open_followed_ticket(self, row: InboxRow) -> Iterator[Ticket]:
        """Also woken by steps of the turn and by its text so far."""
        with self.open_ticket(row) as ticket, _register_ticket(self._followed, ticket):
            yield ticket

    async def run(self) -> None:
        """Commits of this process are seen at once, others by polling. Runs until cancelled."""
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
        """Marks it as over if its row was closed before it was opened. Raises StoreError."""
        closed = await self._store.read(_select_closed, [ticket.row.source])
        if closed and not ticket.is_over:
            ticket.is_over, ticket.is_complete = True, False

    async def _check_all(self) -> None:
        """Finds rows that another process has closed. Raises StoreError."""
        sources = {tickets[0].row.source: row_id for row_id, tickets in self._tickets.items() if not tickets[0].is_over}
        if not sources:
            return
        for source in await self._store.read(_select_closed, list(sources)):
            for ticket in self._tickets.get(sources[source], ()):
                ticket.is_over, ticket.is_complete = True, False
                ticket.news.set()

    async def report_partial(self, session: str, what: str | Notice) -> None:
        """`what` is the text so far, or a notice of the beginning, a step, or the end."""
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
        """Tells the session's waiting callers that nothing can be stored."""
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
    """Kept during the block, under the id of its row."""
    of_input = tickets.setdefault(ticket.row.id, [])
    of_input.append(ticket)
    try:
        yield
    finally:
        of_input.remove(ticket)
        if not of_input:
            del tickets[ticket.row.id]


def _select_closed(store: Store, sources: list[str]) -> list[str]:
    rows = ((source, store.find_inbox(source)) for source in sources)
    return [source for source, row in rows if row is not None and row.status != "new"]


BATCH_SIZE: Final = 100

Receive = Callable[[Sequence[InboxRow]], Awaitable[list[bool]]]


class InputBatcher:
    """A hundred callers at once cost two disk flushes, not a hundred; a single one does not wait."""

    def __init__(self, receive: Receive) -> None:
        """`receive` commits rows and returns for each whether it is new."""
        self._receive = receive
        self._waiting: list[tuple[InboxRow, asyncio.Future[bool]]] = []
        self._drain_task: asyncio.Task[None] | None = None

    async def take(self, row: InboxRow) -> bool:
        """False if the same input (`source`) was stored before. Raises StoreError."""
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
        """All or none; also the rows of callers who have disconnected."""
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
