"""A turn inside of a run that asks which record was meant: the run asks its person, and the turn goes on with the answer."""

from pathlib import Path
from unittest.mock import patch

from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, steps
from tests.unit.runs.test_runs_wait import click, order, texts
from tests.unit.spine_kit import BORIS, World, press, raise_sum, reply, step

HAND_OVER = {"id": 481, "fields": {"ASSIGNED_BY_ID": "@user:Анна"}}
PLAN = {"plan": steps({"turn": "передай сделку 481 Анне"}, {"say": "Дальше"})}


async def _asked(world: World) -> list[tuple[str, ...]]:
    """Start the run, and return the buttons of its question."""
    world.model.will(reply(step("crm.deal.update", HAND_OVER)))
    await world.work(start("plan"))
    (row,) = world.outbox()
    assert [one["code"] for one in row.body["notices"]] == ["which-user"]
    return [tuple(one["words"]) for one in row.body["actions"]]


async def test_the_answer_goes_on_with_the_plan_and_no_model_is_asked_again(tmp_path: Path) -> None:
    """The card names the chosen colleague; when it is decided, the run goes on."""
    async with a_run_world(tmp_path, PLAN) as world:
        buttons = await _asked(world)
        assert index(world).status == "waiting"
        await world.work(click(*buttons[0]))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        assert len(world.model.prompts) == 1
        await world.work(press(shown.body, key=RUN))
        [(_, params)] = world.portal.written("crm.deal.update")
        assert params["fields"]["ASSIGNED_BY_ID"] in {7, 9}
        assert texts(world)[-2:] == ["Дальше", "Готово."]


async def test_nobody_else_and_no_second_press_answers(tmp_path: Path) -> None:
    async with a_run_world(tmp_path, PLAN) as world:
        buttons = await _asked(world)
        await world.work(click(*buttons[0], actor=BORIS))
        assert events(world, "RunWoken") == []
        await world.work(click(*buttons[0]), click(*buttons[1]))
        assert len([row for row in world.outbox() if row.kind == "card"]) == 1
        assert len(events(world, "NameChosen")) == 1


async def test_a_cancelled_run_takes_its_question_back(tmp_path: Path) -> None:
    async with a_run_world(tmp_path, PLAN) as world:
        buttons = await _asked(world)
        await world.work(order("cancel"))
        await world.work(click(*buttons[0]))
        assert index(world).status == "cancelled"
        assert (events(world, "NameChosen"), world.portal.written()) == ([], [])


async def test_two_turns_side_by_side_ask_each_its_own(tmp_path: Path) -> None:
    """One run after another, in one chat: each press goes to the run that asked."""
    async with a_run_world(tmp_path, PLAN) as world:
        first = await _asked(world)
        other = "run:0190aaaa-0000-7000-8000-000000000002"
        world.model.will(reply(step("crm.deal.update", HAND_OVER)))
        await world.work(start("plan", key=other))
        (row,) = world.outbox()
        second = [tuple(one["words"]) for one in row.body["actions"]]
        assert set(first).isdisjoint(second)
        await world.work(click(*second[0]))
        assert (len(events(world, "NameChosen")), len(events(world, "NameChosen", key=other))) == (0, 1)


async def test_a_turn_of_a_run_does_not_go_on_after_its_card(tmp_path: Path) -> None:
    """The run goes on in its place: the model is not asked again, and nobody is promised what will not be done."""
    plan = {"plan": steps({"turn": "сумма и задача"}, {"say": "Дальше"})}
    async with a_run_world(tmp_path, plan) as world:
        with patch.object(type(world.gate), "halt_on_block", new=True):
            world.model.will(reply(raise_sum(), step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}}), text="Прошу."))
            await world.work(start("plan"))
            rows = world.outbox()
            (shown,) = [row for row in rows if row.kind == "card"]
            codes = [one["code"] for row in rows if row.kind == "reply" for one in row.body["notices"]]
            assert ("rest-not-begun" in codes, "rest-after-card" in codes) == (True, False)
            await world.work(press(shown.body, key=RUN))
        assert len(world.model.prompts) == 1
        assert world.portal.written("tasks.task.add") == []
        assert "TurnResumed" not in [event.type for event in world.events(key=RUN)]
        assert texts(world)[-2:] == ["Дальше", "Готово."]
