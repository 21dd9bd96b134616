"""What a run was asked about stays what its answers belong to, also if a later program that plays it again compares otherwise (S003-X10)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from engines.workflows.core.blocks import work
from engines.workflows.core.blocks.conflicts import FieldConflict, Record, find_conflicts
from engines.workflows.core.blocks.work import MOST_ASKINGS, RecordWork
from engines.workflows.core.operations import Emitted
from state.stored import JsonObject
from tests.unit.engines.workflows.played_kit import a_workflow_world, start
from tests.unit.engines.workflows.test_record_runs import answers, blocks, change, codes, meanwhile, on_deal
from tests.unit.runs.runs_kit import RUN
from tests.unit.runs.test_runs_wait import click, order
from tests.unit.spine_kit import World, press

TWO = on_deal(change("OPPORTUNITY", 120000), change("TITLE", "Роза"))
Find = Callable[[Record, JsonObject, JsonObject, Sequence[Emitted]], list[FieldConflict]]


def find_backwards(*given: Any) -> list[FieldConflict]:
    """A later program, which finds the same fields in another order."""
    return find_conflicts(*given)[::-1]


def find_any(record: Record, before: JsonObject, now: JsonObject, operations: Sequence[Emitted]) -> list[FieldConflict]:
    """A later program, to which any two values differ."""
    keys = [one.operation.attribute_key or "" for one in operations]
    return [FieldConflict(key=key, before=before[key], person=now[key], process="?") for key in keys]


async def keep_nothing(self: RecordWork, _place: str, _card: int, before: JsonObject, operations: Sequence[Emitted]) -> list[FieldConflict]:
    """An earlier program, which kept what it asked about in the block alone."""
    return find_conflicts(self.record, before, self.now, operations)


def asked(world: World) -> dict[str, Any]:
    """The last question that waits to be delivered."""
    return [one for one in answers(world) if one["actions"]][-1]


async def choose_run_then_person(world: World) -> None:
    """Answer the first question for the run's value, the second for the person's."""
    await world.work(click(*asked(world)["actions"][1]["words"]))
    await world.work(click(*asked(world)["actions"][0]["words"]))


@pytest.mark.req("S003-X10", "S003-54")
@pytest.mark.parametrize("is_old", [False, True], ids=["kept", "of an earlier program"])
async def test_an_answer_belongs_to_the_field_that_was_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_old: bool
) -> None:
    """Also if the run goes on in a program that finds the fields in another order: the person's title stays, the run's sum is written."""
    async with a_workflow_world(tmp_path, TWO) as world:
        world.model.will(meanwhile(world, OPPORTUNITY="150000.00", TITLE="Лютик"))
        with monkeypatch.context() as earlier:
            if is_old:
                earlier.setattr(RecordWork, "_keep_conflicts", keep_nothing)
            await world.work(start(deal="481"))
        monkeypatch.setattr(work, "find_conflicts", find_backwards)
        await choose_run_then_person(world)
        assert dict(blocks(world)[0].choices) == {"OPPORTUNITY": "process", "TITLE": "person"}
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, key=RUN))
        assert world.portal.written() == [("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 120000}})]


@pytest.mark.req("S003-X10", "S003-54")
async def test_answers_of_an_earlier_program_in_several_rounds_are_not_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be told any more which field was asked about where: nothing is written, and a retry asks anew."""
    async with a_workflow_world(tmp_path, TWO) as world:
        world.model.will(meanwhile(world, OPPORTUNITY="150000.00", TITLE="Лютик"))
        with monkeypatch.context() as earlier:
            earlier.setattr(RecordWork, "_keep_conflicts", keep_nothing)
            await world.work(start(deal="481"))
            world.portal.records["deal", 481].update(OPPORTUNITY="990000.00")
            await world.work(click(*asked(world)["actions"][1]["words"]))
            await world.work(click(*asked(world)["actions"][0]["words"]))
        await world.work(click(*asked(world)["actions"][1]["words"]))
        assert "workflow-conflicts-forgotten" in codes(answers(world))
        assert (world.portal.written(), [row for row in world.outbox() if row.kind == "card"]) == ([], [])
        await world.work(order("retry"))
        assert blocks(world)[0].status == "Conflict"
        await choose_run_then_person(world)
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, key=RUN))
        assert world.portal.written() == [("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 120000}})]


@pytest.mark.req("S003-X10", "S003-54")
@pytest.mark.parametrize("is_old", [False, True], ids=["kept", "of an earlier program"])
async def test_nobody_is_asked_about_what_stands_on_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_old: bool) -> None:
    """A program to which more values differ asks no question about a change that has gone to the gate, and the run ends."""
    async with a_workflow_world(tmp_path, TWO) as world:
        world.model.will("итог")
        with monkeypatch.context() as earlier:
            if is_old:
                earlier.setattr(RecordWork, "_keep_conflicts", keep_nothing)
            await world.work(start(deal="481"))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        monkeypatch.setattr(work, "find_conflicts", find_any)
        await world.work(press(card.body, key=RUN))
        assert [one.type for one in world.sql.read_events("session:block:deal:481")] == ["BlockOpened", "BlockFinished"]
        assert len(world.portal.written()) == 1


@pytest.mark.req("S003-X10", "S003-54")
async def test_a_record_that_changes_with_each_question_ends_the_run(tmp_path: Path) -> None:
    """After five rounds the run fails with words that say so, and nothing is written."""
    async with a_workflow_world(tmp_path, on_deal(change("OPPORTUNITY", 120000))) as world:
        world.model.will(meanwhile(world, OPPORTUNITY="1.00"))
        await world.work(start(deal="481"))
        for number in range(MOST_ASKINGS):
            world.portal.records["deal", 481].update(OPPORTUNITY=f"{number + 2}.00")
            await world.work(click(*asked(world)["actions"][1]["words"]))
        assert "workflow-conflicts-again" in codes(answers(world))
        assert world.portal.written() == []
