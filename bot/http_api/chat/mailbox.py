"""Who waits for the answer to an input: told by the very commit that ends it, or by a look at the database. Ring 3; keeps no truth.

Hands inputs in to the orchestrator; what comes while one commit is under way goes together into the next. Ring 3.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from orchestrator.domain.outputs import Notice
from state.events.core import CallSucceeded, ConfirmationRequested, Event, MessageReceived, TurnFinished
from state.events.talking import AnswerGiven
from state.journal.async_store import AsyncStore
from state.journal.store import Commit, InboxRow, Store, StoreError

LOOK_EVERY: Final = 1.0
"""Seconds after which it is looked although nobody has told that there is something: what another process did may go untold."""


MOST_STEPS: Final = 50


class TurnEvent(NamedTuple):
    """An event as both the journal and a commit tell it."""

    type: str
    data: dict[str, Any]


class Ticket:
    """One caller who waits for one input."""

    def __init__(self, row: InboxRow) -> None:
        """Nothing is known yet."""
        self.row = row
        self.is_over = row.status != "new"
        """The input is closed: its answer can be had."""
        self.is_complete = row.kind != "message" and not self.is_over
        """`events` holds everything: the turn began before our eyes."""
        self.events: list[TurnEvent] = []
        self.text = ""
        """What the model has said so far."""
        self.steps: deque[Notice] = deque(maxlen=MOST_STEPS)
        """What it did since somebody looked."""
        self.has_trouble = False
        """Nothing can be stored at the moment."""
        self.news = asyncio.Event()

    async def wait_for_news(self, within: float) -> None:
        """Wait until something is new, for so many seconds at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.news.wait()
        self.news.clear()


class Mailbox:
    """See the module docstring. `partial` and `trouble` are what the orchestrator tells sessions of this door."""

    def __init__(self, store: AsyncStore) -> None:
        """Nobody waits yet."""
        self._store = store
        self._tickets: dict[str, list[Ticket]] = {}
        self._followed: dict[str, list[Ticket]] = {}
        self._turns: dict[str, str] = {}
        """The input that each session is at."""
        self._look = asyncio.Event()

    @contextlib.contextmanager
    def open_ticket(self, row: InboxRow) -> Iterator[Ticket]:
        """A ticket for that input, for the time of the block; it is told only of the end."""
        ticket = Ticket(row)
        with _register_ticket(self._tickets, ticket):
            yield ticket

    @contextlib.contextmanager
    def open_followed_ticket(self, row: InboxRow) -> Iterator[Ticket]:
        """A ticket that is told of each step too."""
        with self.open_ticket(row) as ticket, _register_ticket(self._followed, ticket):
            yield ticket

    async def run(self) -> None:
        """Watch what is stored, until cancelled."""
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
        """See whether the input was closed before the ticket was made. Raises StoreError."""
        closed = await self._store.read(_select_closed, [ticket.row.source])
        if closed and not ticket.is_over:
            ticket.is_over, ticket.is_complete = True, False

    async def _check_all(self) -> None:
        """Find the inputs that were closed without our seeing it. Raises StoreError."""
        sources = {tickets[0].row.source: row_id for row_id, tickets in self._tickets.items() if not tickets[0].is_over}
        if not sources:
            return
        for source in await self._store.read(_select_closed, list(sources)):
            for ticket in self._tickets.get(sources[source], ()):
                ticket.is_over, ticket.is_complete = True, False
                ticket.news.set()

    async def report_partial(self, session: str, what: Any) -> None:
        """Keep how far a turn is: the text so far, or a notice."""
        if isinstance(what, Notice) and what.code == "turn-begun":
            self._turns[session] = str(what.args["turn"])
        elif isinstance(what, Notice) and what.code == "turn-over":
            self._turns.pop(session, None)
        for ticket in self._followed.get(self._turns.get(session, ""), ()):
            if not isinstance(what, Notice):
                ticket.text = str(what)
            elif what.code not in {"turn-begun", "turn-over"}:
                ticket.steps.append(what)
            ticket.news.set()

    async def report_trouble(self, session: str, notice: Notice) -> None:
        """Nothing can be stored for that session: those who wait are told so."""
        del notice
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
            ticket.events.append(TurnEvent(type(event).__name__, event.model_dump(mode="json")))


@contextlib.contextmanager
def _register_ticket(tickets: dict[str, list[Ticket]], ticket: Ticket) -> Iterator[None]:
    """Among those of its input, for the time of the block."""
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
"""Inputs of one commit."""

Receive = Callable[[Sequence[InboxRow]], Awaitable[list[bool]]]


class InputBatcher:
    """A hundred callers at once cost two flushes of the disk, not a hundred; one alone waits for nobody."""

    def __init__(self, receive: Receive) -> None:
        """Nothing waits."""
        self._receive = receive
        self._waiting: list[tuple[InboxRow, asyncio.Future[bool]]] = []
        self._drain_task: asyncio.Task[None] | None = None

    async def take(self, row: InboxRow) -> bool:
        """Whether it is new, once it is stored; raises StoreError."""
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
        """All or none of them; whoever went away meanwhile hears nothing, its input is stored all the same."""
        try:
            fresh = await self._receive([row for row, _ in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to those who wait
            for _, stored in batch:
                if not stored.done():
                    stored.set_exception(error)
            return
        for (_, stored), new in zip(batch, fresh, strict=True):
            if not stored.done():
                stored.set_result(new)
