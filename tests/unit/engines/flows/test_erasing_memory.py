"""Erasing a person of whom flows remember something: it is gone from every place, and what others left stays."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.taint import Value
from orchestrator.reports.consistency import EffectChecker
from orchestrator.runtime import worker
from state.journal import flow_memory
from state.journal.flow_memory import MemoryPlace
from state.sql import open_store
from state.verify.journal import verify_journal
from tests.unit.engines.flows.flow_kit import a_flow_world, flow, step
from tests.unit.reports.erasing_kit import LATER, Home, everything, opened, run
from tests.unit.reports.erasing_kit import a_home as a_home  # noqa: PLC0414 - the fixture
from tests.unit.runs import runs_kit
from tests.unit.spine_kit import ANNA, BORIS

SECRET, THEIRS = "покупатель Синицын живёт на Лесной 7", "Воробьёв любит звонки по утрам"
PLAN: Mapping[str, Any] = flow(
    step("note", memoryReads=[{"channel": "log"}], memoryWrites=[{"channel": "log"}]),
    memory={"sharedChannels": [{"id": "log", "scope": "user"}]},
)


def place(actor: Actor) -> MemoryPlace:
    return MemoryPlace("plan", f"employee:{actor.bitrix_user_id}" if actor.bitrix_user_id else actor.key)


@pytest.mark.req("S002-A8")
@pytest.mark.parametrize("home", ["file", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
async def test_an_erased_person_is_remembered_nowhere(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the memory nor the runs that read it hold a text of the person in clear or under a key that is left."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    async with a_flow_world(home.folder, PLAN, world_options={"store": open_store(home.url)}) as (world, _):
        for number, (actor, text) in enumerate([(ANNA, SECRET), (ANNA, SECRET), (BORIS, THEIRS)]):
            world.model.will(text)
            order = runs_kit.start(
                "plan", engine="flow", actor=actor, home=actor.key, key=f"run:{number}", parameters=Value({}, frozenset({"person"}))
            )
            await world.work(order)
        world.outbox()
    with opened(home) as store:
        assert [one.data["content"] for one in flow_memory.list_entries(store, place(ANNA), LATER)] == [SECRET, SECRET]
    _, result = run(home, ANNA.key)
    assert not result.remains
    for form in (SECRET, SECRET.encode("unicode_escape").decode()):
        assert form.encode() not in everything(home)
    with opened(home) as store:
        assert flow_memory.list_entries(store, place(ANNA), LATER) == []
        assert [one.data["content"] for one in flow_memory.list_entries(store, place(BORIS), LATER)] == [THEIRS]
    assert not verify_journal(home.url, judge=EffectChecker, anchors={}, progress=lambda _: None).findings
