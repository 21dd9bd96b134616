"""A house that is started and stopped: one database file, one portal, and the real product on them; cards and presses."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.inputs import read_input
from orchestrator.turns.decisions import run_decision
from orchestrator.turns.turn import run_turn
from state.journal.store import InboxRow, OutboxRow, StoreUnwritable
from state.sql.dialect import build_sqlite_url
from state.sql.store import SqlStore, open_store
from tests.unit.spine_kit import ANNA, CHAT, World, a_world, message, raise_sum, reply, step
from tests.unit.spine_portal import Portal

UPDATE = "crm.deal.update"
ASK = "подними сумму сделки 481 до 1 200 000, поставь задачу, и поставь ещё одну"
TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})
SECOND_TASK = step("tasks.task.add", {"fields": {"TITLE": "Написать"}})


class House:
    """What lasts over restarts: the database on disk, the portal, the time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.portal = Portal()
        self.passed = timedelta()
        shutil.copy(_empty_database(), folder / "sdelka.db")

    def store(self) -> SqlStore:
        """The database of the house, opened once more."""
        return open_store(build_sqlite_url(self.folder / "sdelka.db"))

    @asynccontextmanager
    async def started(self, *, mode: Mode = "full", policy: Mapping[str, Any] | None = None) -> AsyncIterator[World]:
        """The product as it starts on what is there: what a dead predecessor held is free, as with the embedded database."""
        async with a_world(self.folder, mode=mode, policy=policy, store=self.store(), portal=self.portal) as world:
            world.clock.advance(self.passed)
            await world.store.expire_leases()
            yield world

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[World]:
        """A second process on the same database, which respects the leases of the first."""
        (self.folder / "second").mkdir(exist_ok=True)
        async with a_world(self.folder / "second", store=self.store(), portal=self.portal) as world:
            world.clock.advance(self.passed)
            yield world


@cache
def _empty_database() -> Path:
    path = Path(tempfile.mkdtemp()) / "empty.db"
    open_store(build_sqlite_url(path)).close()
    return path


async def cards_of(world: World, *steps: Mapping[str, Any], text: str = ASK, actor: Actor = ANNA, key: str = CHAT) -> list[dict[str, Any]]:
    """The cards that this plan leads to, as the chat shows them."""
    world.outbox()
    world.model.will(reply(*(steps or (raise_sum(),))))
    await world.work(message(text, actor=actor, key=key))
    return steps_shown(world.outbox())


def steps_shown(rows: Sequence[OutboxRow]) -> list[dict[str, Any]]:
    """The cards in these messages, one for each step: a plan with several waiting steps stands in one message."""
    bodies = (dict(row.body) for row in rows if row.kind == "card")
    return [dict(one) for body in bodies for one in body.get("members") or (body,)]


async def card_of(world: World, *steps: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The one card of this plan."""
    [entry] = await cards_of(world, *steps, **more)
    return entry


def status_of(world: World, entry: Mapping[str, Any]) -> str:
    """Where the effect of a card stands in the database."""
    row = world.sql.find_effect(entry["effect_id"])
    return row.status if row else "absent"


def sent(house: House) -> list[tuple[str, Any]]:
    """Every sum that was written, and every other write by its method."""
    return [(method, params.get("fields", {}).get("OPPORTUNITY", "")) for method, params in house.portal.ledger]


@contextmanager
def dying(world: World, *, kept: int) -> Iterator[list[str]]:
    """The process dies before its commit number `kept` + 1: nothing of it is stored any more. Yields the events it died with."""
    commit, left = world.sql.commit, [kept]
    died: list[str] = []

    def counted(what: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            died.extend(type(event).__name__ for step in (*what.earlier, what) for event in step.events)
            died.append("end")
            raise StoreUnwritable("killed")
        return commit(what)

    with patch.object(world.sql, "commit", counted), suppress(StoreUnwritable):
        yield died


async def worked(world: World, row: InboxRow) -> None:
    """One input as the worker works it, without the worker's patience with a store that fails."""
    session = await world.session(row.session)
    await world.put(row)
    taken = await world.store.take_inbox(row.session, row.lane)
    if taken is not None:
        await (run_decision(taken, session, world.tools) if row.kind == "decision" else run_turn(read_input(taken), session, world.tools))


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A house in which nothing has happened."""
    return House(tmp_path)
