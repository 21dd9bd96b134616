"""A delivery at work over a scripted wire, on a clock that the test moves."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from aiogram import Bot

from bot.access.access import Access, Person
from bot.telegram.intake.people import ChatPeople
from bot.telegram.outgoing.delivery import Delivery
from bot.telegram.outgoing.rate_limiter import Limits, RateLimiter
from bot.token_bucket import BucketRate
from orchestrator.domain.outputs import build_reply
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session, open_session
from state.journal.async_store import AsyncStore
from state.journal.store import OutboxRow
from state.model.card import Card
from state.sql.database import Statement
from state.sql.store import SqlStore
from tests.fixed_clock import FixedClock
from tests.unit.bot.telegram.door_kit import NOW, TOKEN, Wire, access
from tests.unit.spine_kit import memory_store, until

CHAT, OTHER, GROUP = "tg:1007", "tg:1006", "tg:-100123"
FAST = Limits(
    private=BucketRate(per_second=1e6, burst=1000), group=BucketRate(per_second=1e6, burst=1000), all=BucketRate(per_second=1e6, burst=1000)
)
"""For tests that are not about pacing."""
STRICT = Limits(all=FAST.all)
"""Each chat at its rate, and room for all of them."""
CROWD = range(5000, 5300)
"""People with access of whom nothing else is said."""
ENTRY = {"confirmation_id": "0a1b2c3d4e", "nonce": "12345678", "method": "crm.deal.update", "taps": 1, "requested_by_name": "Анна"} | {
    "expires_at": "2026-11-22T12:00:00Z",
    "status": "requested",
    "preview": {
        "verb": "update",
        "entity": "deal",
        "title": "Ромашка",
        "lines": [{"field": "OPPORTUNITY", "name": "Сумма", "before": "1", "after": "2"}],
    },
}


@dataclass
class Post:
    """See the module docstring."""

    sql: SqlStore
    store: AsyncStore
    clock: FixedClock
    wire: Wire
    pacer: RateLimiter
    access: Access
    delivery: Delivery
    task: asyncio.Future[None]
    showing: asyncio.Future[None]
    sessions: dict[str, Session] = field(default_factory=dict)
    put_ids: list[str] = field(default_factory=list)

    async def put(self, *rows: OutboxRow) -> None:
        """Queue rows as a turn does."""
        for row in rows:
            if row.session not in self.sessions:
                self.sessions[row.session] = await open_session(self.store, self.clock, row.session, "one")
            await self.sessions[row.session].commit(actor="test", outbox=[row])
            self.put_ids.append(row.id)
        self.delivery.wake()

    def rows(self) -> list[tuple[str, int, str]]:
        """Status, attempts and note of every row that was put, in order; a delivered one is no longer kept."""
        with self.sql._database.read() as look:
            found = look.fetch_rows(Statement(sql="SELECT id, status, attempts, note FROM outbox", fixed={}), {})
        kept = {row_id: (str(status), int(attempts), str(note)) for row_id, status, attempts, note in found}
        return [kept.get(row_id, ("sent", 0, "")) for row_id in self.put_ids]

    async def until_states(self, *states: str) -> None:
        """Wait until the rows stand so."""
        await until(lambda: [row[0] for row in self.rows()] == list(states))

    async def until_tried(self, row: int, attempts: int) -> None:
        await until(lambda: self.rows()[row][1] >= attempts)

    def later(self, seconds: float) -> None:
        """Move the clock; whoever waits for it looks again."""
        self.clock.advance(timedelta(seconds=seconds))
        self.pacer.release_due()
        self.delivery.progress.show_due()
        self.delivery.wake()

    async def halt(self) -> None:
        """Stop as a killed process does; the store stays open for the next one."""
        self.task.cancel()
        self.showing.cancel()
        await asyncio.gather(self.task, self.showing, return_exceptions=True)

    def texts(self, chat: int = 1007) -> list[str]:
        """What was sent to a chat, in order."""
        return [body["text"] for name, body in self.wire.sent if name in {"sendMessage", "editMessageText"} and body["chat_id"] == chat]


@asynccontextmanager
async def posting(limits: Limits = FAST, *, after: Post | None = None) -> AsyncIterator[Post]:
    """Deliver until the end of the block; `after` is the process before a restart."""
    kept = after.sql if after else memory_store()
    clock, wire = FixedClock(NOW), Wire()
    used = after.store if after else AsyncStore(kept)

    def seconds() -> float:
        return clock.now().timestamp()

    pacer = RateLimiter(limits, seconds=seconds)
    people = Access([*access().map_listed().values(), *(Person(telegram_id=number, name="А") for number in CROWD)])
    delivery = Delivery(Bot(TOKEN, session=wire), used, ChatPeople(people), clock, pacer=pacer)
    delivery.progress._seconds = seconds
    task = asyncio.ensure_future(delivery.run())
    showing = asyncio.ensure_future(delivery.progress.run())
    made = Post(kept, used, clock, wire, pacer, people, delivery, task, showing)
    try:
        yield made
        assert not task.done() or task.cancelled(), "the delivery died"
    finally:
        await made.halt()
        if after is None:
            await used.aclose()


def text_row(words: str, session: str = CHAT, **more: Any) -> OutboxRow:
    return outbox.build_reply_row(session, build_reply(text=words), NOW, **more)


def card_row(status: str = "requested", **more: Any) -> OutboxRow:
    home = {key: more.pop(key) for key in ("home",) if key in more}
    row = outbox.build_card_row(CHAT, Card.from_stored({**ENTRY, "status": status, **more}), NOW)
    return replace(row, body={**row.body, **home})


def words(part: str) -> Callable[[str, dict[str, Any]], bool]:
    """Requests whose text has this in it."""
    return lambda _, body: part in body.get("text", "")
