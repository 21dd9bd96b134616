"""What a run proposes follows the records as they are when its card is made; answers stay with their question (S003-A6, S003-X10)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engines.workflows.core.blocks import work
from engines.workflows.core.blocks.conflicts import FieldConflict, Record, find_conflicts
from engines.workflows.core.blocks.work import MOST_ASKINGS, RecordWork
from engines.workflows.core.operations import Emitted
from state.journal.store import OutboxRow
from state.stored import JsonObject
from tests.unit.engines.workflows.played_kit import a_workflow_world, result, start
from tests.unit.engines.workflows.test_record_runs import answers, blocks, change, codes, meanwhile, on_deal
from tests.unit.engines.workflows.workflow_kit import put, tuum, workflow
from tests.unit.features.cards.cards_kit import pressing
from tests.unit.runs.runs_kit import RUN, events, index
from tests.unit.runs.test_runs_wait import click, order
from tests.unit.spine_kit import World, codes_of, press, until
from tests.unit.spine_portal import deal

FIRST = range(1000, 1050)
"""The deals whose changes fill the first card."""


def behind_a_card(*last: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A workflow that proposes a card of fifty changes, and these on the next one."""
    first = [{**change("OPPORTUNITY", 20), "entityId": str(number)} for number in FIRST]
    listed = [{key: value for key, value in one.items() if key != "runeType"} for one in (*first, *last)]
    return workflow(tuum("only", put("list", listed), outputMappings={"list": "list"}), terminal={"operations": "list"}, **more)


def of_deal(key: str, value: Any, operator: str = "=", number: str = "481") -> dict[str, Any]:
    return {**change(key, value, operator), "entityId": number}


def add_first(world: World) -> None:
    """Let the deals of the first card be there."""
    for number in FIRST:
        world.portal.records["deal", number] = deal(number, f"Сделка {number}", "10.00", owner=7)


def list_cards(world: World) -> list[OutboxRow]:
    return [row for row in world.outbox() if row.kind == "card" and row.body["status"] == "requested"]


def stop_at(world: World, number: int, stop: Callable[[], Awaitable[None]]) -> None:
    """Let the run be stopped while it reads its deal for the time with this number."""
    seen = 0

    async def watch(method: str, _params: Mapping[str, Any]) -> None:
        nonlocal seen
        seen += method == "crm.deal.get"
        if seen == number and method == "crm.deal.get":
            await stop()

    world.portal.watch = watch


def pause(world: World) -> Callable[[], Awaitable[None]]:
    """What pauses the run."""

    async def stop() -> None:
        await world.orchestrator.receive([order("pause")])
        await until(lambda: index(world).status == "paused")
        await asyncio.sleep(0)

    return stop


@pytest.mark.req("S003-X9", "S003-A6")
async def test_what_is_added_on_a_later_card_follows_what_people_wrote_while_the_first_one_waited(tmp_path: Path) -> None:
    """The card would show the colleague's words as taken away, and nothing would say that nobody wants that."""
    async with a_workflow_world(tmp_path, behind_a_card(of_deal("COMMENTS", " ещё", "+="))) as world:
        add_first(world)
        world.portal.records["deal", 481]["COMMENTS"] = "было"
        await world.work(start())
        (card,) = list_cards(world)
        world.portal.records["deal", 481]["COMMENTS"] = "было; коллега дописал"
        await world.work(press(card.body, key=RUN))
        (card,) = list_cards(world)
        await world.work(press(card.body, key=RUN))
        assert world.portal.records["deal", 481]["COMMENTS"] == "было; коллега дописал ещё"
        assert index(world).status == "done"


@pytest.mark.req("S003-X9", "S003-A6")
async def test_a_later_card_that_cannot_be_computed_any_more_ends_the_run_with_words(tmp_path: Path) -> None:
    """They do not say that nothing was changed, for the first card was; a retry makes the card from what stands there then."""
    async with a_workflow_world(tmp_path, behind_a_card(of_deal("OPPORTUNITY", 5, "+="))) as world:
        add_first(world)
        await world.work(start())
        (card,) = list_cards(world)
        world.portal.records["deal", 481]["OPPORTUNITY"] = "по договору"
        await world.work(press(card.body, key=RUN))
        assert "workflow-card-unwritten" in codes(answers(world))
        world.portal.records["deal", 481]["OPPORTUNITY"] = "7.00"
        await world.work(order("retry"))
        (card,) = list_cards(world)
        await world.work(press(card.body, key=RUN))
        assert len(world.portal.written()) == 51
        assert world.portal.records["deal", 481]["OPPORTUNITY"] == "12"


@pytest.mark.req("S003-X10", "S003-54")
@pytest.mark.parametrize(("choice", "left"), [(0, "коллега"), (1, "процесс")])
async def test_a_conflict_behind_the_first_card_is_asked_about(tmp_path: Path, choice: int, left: str) -> None:
    """Also if the field was changed only while that card waited; what was chosen stands in the block."""
    document = behind_a_card(of_deal("COMMENTS", "процесс"), of_deal("TITLE", "Роза", number="482"), record="deal")
    async with a_workflow_world(tmp_path, document) as world:
        add_first(world)
        await world.work(start(deal="481"))
        (card,) = list_cards(world)
        world.portal.records["deal", 481]["COMMENTS"] = "коллега"
        await world.work(press(card.body, key=RUN))
        (asked,) = [one for one in answers(world) if one["actions"]]
        assert asked["notices"][0]["code"] == "workflow-conflict"
        assert world.portal.records["deal", 481]["COMMENTS"] == "коллега"
        await world.work(click(*asked["actions"][choice]["words"]))
        for card in list_cards(world):
            await world.work(press(card.body, key=RUN))
        assert world.portal.records["deal", 481]["COMMENTS"] == left
        assert world.portal.records["deal", 482]["TITLE"] == "Роза"
        (block,) = blocks(world)
        assert (block.status, dict(block.choices)) == ("Idle", {"COMMENTS": ("person", "process")[choice]})


@pytest.mark.req("S003-X9", "S003-A6")
async def test_a_run_that_stood_still_behind_its_reading_reads_again(tmp_path: Path) -> None:
    """A pause or a crash between the reading and the card may last for days."""
    document = workflow(tuum("only", of_deal("COMMENTS", " ещё", "+=")))
    async with a_workflow_world(tmp_path, document) as world:
        world.portal.records["deal", 481]["COMMENTS"] = "было"
        stop_at(world, 2, pause(world))
        await world.work(start())
        assert (index(world).status, world.portal.written()) == ("paused", [])
        world.portal.records["deal", 481]["COMMENTS"] = "было; коллега дописал"
        await world.work(order("resume"))
        (card,) = list_cards(world)
        await world.work(press(card.body, key=RUN))
        assert world.portal.records["deal", 481]["COMMENTS"] == "было; коллега дописал ещё"


@pytest.mark.req("S003-X10", "S003-54")
async def test_a_run_that_stood_still_behind_its_comparison_compares_again(tmp_path: Path) -> None:
    """What a colleague wrote meanwhile is asked about, not written over."""
    async with a_workflow_world(tmp_path, on_deal(change("COMMENTS", "процесс"))) as world:
        world.model.will("итог")
        stop_at(world, 4, pause(world))
        await world.work(start(deal="481"))
        assert (index(world).status, world.portal.written()) == ("paused", [])
        answers(world)
        world.portal.records["deal", 481]["COMMENTS"] = "коллега"
        await world.work(order("resume"))
        assert (blocks(world)[0].status, world.portal.written()) == ("Conflict", [])
        (asked,) = [one for one in answers(world) if one["actions"]]
        await world.work(click(*asked["actions"][0]["words"]))
        assert (index(world).status, world.portal.written()) == ("done", [])


@pytest.mark.req("S003-X9", "S003-19")
@pytest.mark.parametrize("more", [(), (of_deal("TITLE", "Роза", number="482"),)], ids=["alone", "in a batch"])
async def test_what_the_gate_refuses_on_a_later_card_refuses_the_whole_set(tmp_path: Path, more: tuple[dict[str, Any], ...]) -> None:
    """No card is shown and nothing is written, as where all stand on one card; the reports name what was refused."""
    async with a_workflow_world(tmp_path, behind_a_card(of_deal("COMMENTS", "чужая", number="500"), *more)) as world:
        add_first(world)
        await world.work(start())
        rows = world.outbox()
        assert [code for row in rows for code in codes_of(row)] == ["run-changes-left", ["gate-not-yours", "gate-batch-refused"][len(more)]]
        assert (index(world).status, world.portal.written()) == ("done", [])
        assert {one["status"] for one in result(world)["applied"]} == {"refused"}


@pytest.mark.req("S003-X9", "S003-19")
async def test_what_stands_there_already_refuses_nothing_else(tmp_path: Path) -> None:
    """The first card is shown, and the change that nobody needs is reported as one that is made already."""
    async with a_workflow_world(tmp_path, behind_a_card(of_deal("TITLE", "Ромашка"))) as world:
        add_first(world)
        await world.work(start())
        (card,) = list_cards(world)
        await world.work(press(card.body, key=RUN))
        assert (index(world).status, len(world.portal.written())) == ("done", len(FIRST))
        assert result(world)["applied"][-1]["status"] == "already"


@pytest.mark.req("S003-19")
async def test_who_denies_a_card_reads_how_much_of_the_rest_is_not_done(tmp_path: Path) -> None:
    """The next card does not come, so nobody waits for it."""
    async with a_workflow_world(tmp_path, behind_a_card(of_deal("COMMENTS", "!"), of_deal("TITLE", "Роза", number="482"))) as world:
        add_first(world)
        await world.work(start())
        (card,) = list_cards(world)
        await world.work(press(card.body, key=RUN, approve=False))
        (notice,) = [one for body in answers(world) for one in body["notices"]]
        assert (notice["code"], notice["args"]) == ("run-changes-left", {"made": 0, "left": len(FIRST) + 2, "why": "denied"})
        assert (index(world).status, world.portal.written()) == ("done", [])


@pytest.mark.req("S003-19")
async def test_a_denied_change_is_said_under_the_text_of_the_author(tmp_path: Path) -> None:
    """The author wrote «Готово» before anybody decided; the result says in plain words why it is not, and counts it."""
    runes = [put("list", [{key: value for key, value in of_deal("OPPORTUNITY", 20).items() if key != "runeType"}]), put("said", "Готово!")]
    document = workflow(
        tuum("only", *runes, outputMappings={"list": "list", "said": "said"}), terminal={"operations": "list", "rawText": "said"}
    )
    async with a_workflow_world(tmp_path, document) as world:
        await world.work(start())
        (card,) = list_cards(world)
        await world.work(press(card.body, key=RUN, approve=False))
        (last,) = answers(world)
        assert "Готово!" in str(last["parts"])
        assert [one["code"] for one in last["notices"]] == ["run-changes-left"]
        assert [one["error"] for one in result(world)["applied"]] == ["A person has denied it."]
        (*_, end) = events(world, "RunFinished")
        assert (end.data["status"], end.data.get("changes_made", 0), end.data["changes_left"]) == ("done", 0, 1)


ADD: dict[str, Any] = {**change("OPPORTUNITY", 500, "+="), "entityId": "481"}


def take_card(world: World) -> dict[str, Any]:
    return dict([row for row in world.outbox() if row.kind == "card"][-1].body)


@pytest.mark.req("S003-X10", "S003-19")
@pytest.mark.parametrize("document", [on_deal(change("OPPORTUNITY", 500, "+=")), workflow(tuum("only", ADD))], ids=["record", "none"])
async def test_a_sum_that_somebody_changed_behind_the_card_is_computed_anew(tmp_path: Path, document: dict[str, Any]) -> None:
    """The press changes nothing and offers no sum of the old record; a retry adds to what stands there now, and asks no model again."""
    async with a_workflow_world(tmp_path, document) as world:
        deal = world.portal.records["deal", 481]
        deal["OPPORTUNITY"] = "1000.00"
        if "record" in document:
            world.model.will("итог")
        await world.work(start(**({"deal": "481"} if "record" in document else {})))
        card = take_card(world)
        deal["OPPORTUNITY"] = "2000.00"
        await world.work(press(card, key=RUN))
        assert codes(answers(world)) == ["run-ended", "workflow-operations-moved"]
        assert world.portal.written() == []
        await world.work(order("retry"))
        await world.work(press(take_card(world), key=RUN))
        ((method, params),) = world.portal.written()
        assert (method, float(params["fields"]["OPPORTUNITY"])) == ("crm.deal.update", 2500.0)
        assert result(world)["applied"][0]["status"] == "succeeded"


async def test_a_value_that_was_not_computed_is_asked_about_again_as_ever(tmp_path: Path) -> None:
    """Whoever sets a value says what shall stand there, whatever stood there before: the new card shows both."""
    async with a_workflow_world(tmp_path, workflow(tuum("only", {**change("OPPORTUNITY", 500), "entityId": "481"}))) as world:
        await world.work(start())
        card = take_card(world)
        world.portal.records["deal", 481]["OPPORTUNITY"] = "2000.00"
        await world.work(press(card, key=RUN))
        again = take_card(world)
        assert (again["confirmation_id"] != card["confirmation_id"], world.portal.written()) == (True, [])
        await world.work(press(again, key=RUN))
        assert len(world.portal.written("crm.deal.update")) == 1


async def test_a_computed_value_that_nobody_decided_on_is_not_asked_for_once_more(tmp_path: Path) -> None:
    """Nobody would compute it anew: whoever presses reads why, and no card comes."""
    async with a_workflow_world(tmp_path, workflow(tuum("only", ADD))) as world:
        await world.work(start())
        card = take_card(world)
        world.clock.advance(timedelta(hours=24, seconds=1))
        await world.work()
        world.outbox()
        await world.work(pressing("again", card["confirmation_id"], key=RUN))
        rows = world.outbox()
        assert [(row.kind, row.body["notice"]["code"]) for row in rows] == [("toast", "computed-changed")]


TWO = on_deal(change("OPPORTUNITY", 120000), change("TITLE", "Роза"))
Find = Callable[[Record, JsonObject, JsonObject, Sequence[Emitted]], list[FieldConflict]]


def find_backwards(*given: Any) -> list[FieldConflict]:
    return find_conflicts(*given)[::-1]


def find_any(record: Record, before: JsonObject, now: JsonObject, operations: Sequence[Emitted]) -> list[FieldConflict]:
    """A later program, to which any two values differ."""
    keys = [one.operation.attribute_key or "" for one in operations]
    return [FieldConflict(key=key, before=before[key], person=now[key], process="?") for key in keys]


async def keep_nothing(self: RecordWork, _place: str, _card: int, before: JsonObject, operations: Sequence[Emitted]) -> list[FieldConflict]:
    return find_conflicts(self.record, before, self.now, operations)


def asked(world: World) -> dict[str, Any]:
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
