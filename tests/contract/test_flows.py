"""Flows and their agents over every kind of store: written and published by many at once, and played from what is stored."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from engines.flows.wiring import build_flows
from orchestrator.definitions.service import DefinitionService, Saved
from orchestrator.runs.registry import Engines
from orchestrator.runtime import worker
from state.canonical import dumps
from state.journal import definitions
from state.journal.async_store import AsyncStore
from state.model.definitions import DefinitionsBusy, DefinitionVersion, StaleRevision
from state.sql import SqlStore, open_store
from tests.contract.run_survival_kit import answer_all
from tests.contract.store_kit import STORES
from tests.unit.definitions.service_kit import OLEG, VERA, Desk, build_desk, data
from tests.unit.engines.flows.acting_flow import AGENTS, QUESTIONS, build_acting_flow
from tests.unit.runs.runs_kit import RUN, events, index, start
from tests.unit.spine_kit import a_world, press

KEY = "act"
ENGINES = Engines(runs={"flow": build_flows()})
AT_ONCE = 6
OTHER = {**build_acting_flow(), "metadata": {"title": "Иначе"}}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(worker, "POLL", 0.02)


@pytest.fixture(params=STORES)
async def desks(request: pytest.FixtureRequest, fresh_url: Callable[[str], str]) -> AsyncIterator[list[Desk]]:
    """The services of two processes on one database; what is in memory has only one."""
    url = fresh_url(request.param)
    async with AsyncExitStack() as stack:
        opened: list[SqlStore] = [open_store(url) for _ in range(1 if request.param == "memory" else 2)]
        stores = [AsyncStore(one) for one in opened]
        for store in stores:
            stack.push_async_callback(store.aclose)
        yield [build_desk(store, sql, engines=ENGINES) for store, sql in zip(stores, opened, strict=True)]


async def insist(work: Callable[[], Any]) -> Any:
    """Do it as soon as nobody else is at it; what it returned, or the error of somebody who came too late."""
    while True:
        try:
            return await work()
        except DefinitionsBusy:
            await asyncio.sleep(0.002)
        except StaleRevision as error:
            return error


async def publish_all(desk: Desk) -> None:
    """Publish the flow and its agents."""
    for key, document in AGENTS.items():
        await desk.publish(key, document, kind="agent")
    await desk.publish(KEY, build_acting_flow(), kind="flow")


@pytest.mark.req("S002-2", "S002-7", "S002-8", "S002-9", "S002-24")
async def test_many_write_and_publish_flows_and_agents_at_once(desks: list[Desk]) -> None:
    """Every version has a number of its own, of two that save the same revision one is told so, and one version is active."""
    for key in ("clerk", "teller"):
        await desks[0].publish(key, AGENTS[key], kind="agent")

    def find_service(number: int) -> DefinitionService:
        return desks[number % len(desks)].service

    async def create(kind: str, key: str, document: Any, number: int) -> DefinitionVersion:
        made: Saved = await insist(lambda: find_service(number).create(VERA, kind, key, data(document)))
        return made.version

    async def publish_reader(number: int) -> Any:
        return await insist(lambda: find_service(number).publish(OLEG, "agent", "reader", number, expected=1))

    async def save(version: int, number: int) -> Any:
        return await insist(lambda: find_service(number).save(VERA, "flow", KEY, version, data(OTHER), expected=1))

    agents = await asyncio.gather(*(create("agent", "reader", AGENTS["reader"], number) for number in range(AT_ONCE)))
    assert sorted(one.version for one in agents) == list(range(1, AT_ONCE + 1))
    published = await asyncio.gather(*(publish_reader(one.version) for one in agents))
    assert not [one for one in published if isinstance(one, StaleRevision)]
    versions = definitions.list_versions(desks[0].sql, "agent", "reader")
    (active,) = [one for one in versions if one.active]
    assert {one.status for one in versions} == {"published"}

    flows = await asyncio.gather(*(create("flow", KEY, build_acting_flow(), number) for number in range(AT_ONCE)))
    first = flows[0].version
    assert {one.document["steps"][0]["agentVersionId"] for one in flows} == {active.id}
    saved = await asyncio.gather(*(save(first, number) for number in range(AT_ONCE)))
    assert Counter(isinstance(one, StaleRevision) for one in saved) == {False: 1, True: AT_ONCE - 1}
    await insist(lambda: desks[-1].service.publish(OLEG, "flow", KEY, first, expected=2))
    assert [one.version for one in definitions.list_versions(desks[0].sql, "flow", KEY) if one.active] == [first]


@pytest.mark.req("S002-1", "S002-12", "S002-25", "S002-46")
@pytest.mark.parametrize("kind", STORES)
async def test_a_stored_flow_is_played_and_keeps_its_agents(kind: str, tmp_path: Path, fresh_url: Callable[[str], str]) -> None:
    """Tools, memory, a repeated attempt and a card; all agents are switched off and replaced while the card waits, and nothing changes."""
    sql = open_store(fresh_url(kind))
    async with a_world(tmp_path, store=sql, engines=ENGINES) as world:
        desk = build_desk(world.store, sql, engines=ENGINES)
        await publish_all(desk)
        asked: Counter[str] = Counter()
        answer_all(world, asked)
        await world.work(start(KEY, engine="flow"))
        world.clock.advance(worker.IDLE)
        await world.work()
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        assert (index(world).status, world.portal.written()) == ("waiting", [])
        for key in AGENTS:
            await desk.publish(key, {"systemPrompt": "Другой"}, kind="agent")
            head = await desk.service.find_key(OLEG, "agent", key)
            await desk.service.switch(OLEG, "agent", key, enabled=False, expected=head.revision)
        await world.work(press(shown.body, key=RUN))
        assert index(world).status == "done"
        assert asked == dict.fromkeys(QUESTIONS, 1)
        assert len(world.portal.written("crm.deal.update")) == 2
        nodes = [one.data["node"] for one in events(world, "NodeDone")]
        assert len(nodes) == len(set(nodes)), dumps(nodes)
