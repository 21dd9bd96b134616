"""«В очереди, 2-й»: said where the wait is longer than a moment, and nowhere else (father-bot#130: no "please wait" for everything)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from bot.telegram.door import QueueNotices
from orchestrator.domain.outputs import Notice
from state.journal.async_store import AsyncStore
from state.journal.store import StoreUnwritable
from tests.unit.spine_kit import CHAT, memory_store, message, until


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    made = AsyncStore(memory_store())
    yield made
    await made.aclose()


class Said:
    """What was told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Any]] = []

    async def __call__(self, session: str, notice: Notice) -> None:
        self.lines.append((session, notice.code, notice.args.get("place")))


async def _settled(queue: QueueNotices) -> None:
    await until(lambda: not queue._watch_tasks)


async def test_the_newest_of_several_that_wait_hears_its_place_once(store: AsyncStore) -> None:
    said = Said()
    queue = QueueNotices(store, said, after=0.02)
    rows = [message(str(number)) for number in range(3)]
    await store.put_inbox(rows)
    for row in rows:
        queue.watch_requests([row], busy=True)
    await _settled(queue)
    assert said.lines == [(CHAT, "queued", 3)]


@pytest.mark.parametrize("case", ["begun meanwhile", "first in line", "nobody at work", "another kind"])
async def test_who_does_not_wait_hears_nothing(store: AsyncStore, case: str) -> None:
    said = Said()
    queue = QueueNotices(store, said, after=0.02)
    first, second = message("раз"), message("два")
    await store.put_inbox([second] if case == "first in line" else [first, second])
    if case == "begun meanwhile":
        await store.finish_inbox(second.id, "done")
    row = replace(second, kind="command", lane="express") if case == "another kind" else second
    queue.watch_requests([row], busy=case != "nobody at work")
    await _settled(queue)
    await asyncio.sleep(0)
    assert said.lines == []


async def test_a_store_that_cannot_be_read_and_a_stop_leave_nothing_behind(store: AsyncStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*args: Any) -> Any:
        raise StoreUnwritable(str(args))

    monkeypatch.setattr(store, "list_waiting_inbox", fails)
    said = Said()
    queue = QueueNotices(store, said, after=0.01)
    queue.watch_requests([message("раз")], busy=True)
    await _settled(queue)
    slow = QueueNotices(store, said, after=60)
    slow.watch_requests([message("раз")], busy=True)
    slow.close()
    await _settled(slow)
    assert said.lines == []
