"""A scenario is played as its author wrote it: every example of the seed, and the rules between its lines."""

from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from bot.plugins.building import load_installed_engines
from engines.scenarios.core import answers
from engines.scenarios.core.engine import ScenarioEngine
from engines.scenarios.wiring import connect
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, click, failure, replies, say, scenario, start, texts
from tests.unit.runs.runs_kit import events, index, work_through
from tests.unit.spine_kit import message

MINIMAL = {
    "name": "Минимальный сценарий",
    "description": "Простой пример для демонстрации.",
    "version": "1.0",
    "initial_context": {"guest_name": "Гость"},
    "steps": [
        {"id": "s1", "type": "message", "params": {"text": "Привет, {guest_name}!"}, "next_step": "s2"},
        {"id": "s2", "type": "message", "params": {"text": "Пока, {guest_name}!"}},
    ],
}


@pytest.mark.req("S000-61")
async def test_the_minimal_scenario_says_both_and_ends(tmp_path: Path) -> None:
    """The seed's smallest example greets, says goodbye, and is done."""
    async with a_scenario_world(tmp_path, MINIMAL) as world:
        await world.work(start())
        assert texts(world) == ["Привет, Гость!", "Пока, Гость!"]
        assert index(world).status == "done"


@pytest.mark.req("S000-31")
@pytest.mark.parametrize(("typed", "told"), [("20", "взрослый"), ("17", "ребёнок")])
async def test_the_age_example_compares_what_was_typed(tmp_path: Path, typed: str, told: str) -> None:
    """`context.get('user_age', 0) >= 18` works with the raw text of an answer (M4)."""
    steps = (
        ask("user_age", "Сколько вам лет?", next_step="age_check"),
        {
            "id": "age_check", "type": "branch", "condition": "context.get('user_age', 0) >= 18",
            "branches": {"if": "adult_content", "else": "child_content"}, "params": {"description": "Проверка совершеннолетия"},
        },
        {**say("взрослый", id="adult_content"), "next_step": "bye"},
        say("ребёнок", id="child_content"),
        {"id": "bye", "type": "end"},
        say("никогда"),
    )  # fmt: skip
    async with a_scenario_world(tmp_path, *steps) as world:
        await world.work(start())
        assert (texts(world), index(world).status) == (["Сколько вам лет?"], "waiting")
        await world.work(message(typed))
        assert texts(world)[-1] == told
        assert index(world).status == "done"


@pytest.mark.req("S000-48", "S000-49")
async def test_updates_are_filled_from_the_variables_as_they_were(tmp_path: Path) -> None:
    """The text keeps `{score}` in the step that sets it first, numbers keep their type, and a dot sets a part (M3, X10)."""
    first = {
        "type": "action",
        "params": {
            "action_type": "update_context",
            "updates": {"score": 0, "level": "{default_level}", "status_message": "Начинаем с {score}.", "deal.title": "Ромашка"},
        },
    }
    second = {"type": "update_context", "params": {"updates": {"score": 5, "before": "{score}", "deal.sum": 7}}}
    plan = scenario(
        first, second, say("{status_message} {level} {score} {before} {deal.title} {deal.sum}"), initial_context={"default_level": 3}
    )
    async with a_scenario_world(tmp_path, plan) as world:
        await world.work(start())
        assert texts(world) == ["Начинаем с {score}. 3 5 0 Ромашка 7"]


@pytest.mark.req("S000-26", "S000-28", "S000-X9")
async def test_an_answer_that_looks_like_a_placeholder_stays_text(tmp_path: Path) -> None:
    """What a person types is never filled (X4)."""
    async with a_scenario_world(tmp_path, ask("name"), say("Вы: {name}"), say("{secret}")) as world:
        await work_through(world, start(), message("{user_id} {__scenario_instance_id__}"))
        assert texts(world)[-2:] == ["Вы: {user_id} {__scenario_instance_id__}", "{secret}"]


@pytest.mark.req("S000-X18")
async def test_a_button_leads_to_its_own_step(tmp_path: Path) -> None:
    """`next_step_map` takes the answer as it is stored; `default` takes the rest."""
    plan = (
        ask("plan", "Тариф?", buttons=["Базовый", {"text": "Полный", "value": 2}], next_step_map={"2": "full", "default": "basic"}),
        {**say("базовый", id="basic"), "next_step": "bye"},
        say("полный {plan}", id="full"),
        {"id": "bye", "type": "end"},
    )
    async with a_scenario_world(tmp_path, *plan) as world:
        await world.work(start())
        await world.work(click(world, 1))
        assert texts(world)[-1] == "полный 2"


async def test_an_answer_that_does_not_fit_is_asked_again_politely(tmp_path: Path) -> None:
    """A number in words of the author's refusal, twice; then the number is a number."""
    async with a_scenario_world(tmp_path, ask("age", type="integer", minimum=18, retry_text="Нужно число от 18."), say("{age}")) as world:
        await world.work(start())
        for typed in ("много", "17", " 1 800 "):
            await world.work(message(typed))
        assert texts(world) == ["Что?", "Нужно число от 18.", "Что?", "Нужно число от 18.", "Что?", "1800"]


async def test_an_answer_that_was_refused_before_stays_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose answer an earlier program could not read goes on as it went: the next answer counts, and the question is not skipped."""
    async with a_scenario_world(tmp_path, ask("sum", type="integer"), say("{sum}")) as world:
        await world.work(start())
        with monkeypatch.context() as earlier:
            earlier.setattr(answers, "read_typed_number", lambda *_, **__: None)
            await world.work(message("700 тыс"))
        await world.work(message("650 тыс"))
        assert texts(world)[-1] == "650000"


@pytest.mark.req("S000-35", "S000-39", "S000-40", "S000-X11")
async def test_a_sub_scenario_asks_and_gives_back_what_is_mapped(tmp_path: Path) -> None:
    """The whole stack waits at its question and goes on there; a placeholder that misses is null, another text is itself."""
    sub = scenario(ask("isValid", "Верно, {who}?"), {"type": "update_context", "params": {"updates": {"result.ok": "{isValid}"}}})
    mapping = {"ok": "{result.ok}", "same": "isValid", "fixed": "просто текст", "number": 4, "none": "{nowhere}"}
    call = {
        "type": "execute_sub_scenario",
        "params": {"sub_scenario_id": "check", "input_parameters": {"who": "{user_name}"}, "output_mapping": mapping},
    }
    async with a_scenario_world(tmp_path, call, say("{ok}|{same}|{fixed}|{number}|{none}|{who}"), others={"check": sub}) as world:
        await world.work(start())
        assert texts(world) == ["Верно, Анна?"]
        await world.work(message("да"))
        assert texts(world)[-1] == "да|да|просто текст|4||{who}"


def test_the_settings_bound_steps_and_depth() -> None:
    """Both reach the engine that the program plays scenarios with, and stay when its services are connected (A11)."""
    ports = AsyncMock(settings=AsyncMock(scenario_max_steps=7, scenario_max_depth=2, scenario_max_seconds=60))
    connected = connect(load_installed_engines().runs["scenario"], ports).engine
    assert isinstance(connected, ScenarioEngine)
    assert (connected.most_steps, connected.most_depth, connected.most_seconds) == (7, 2, 60)


async def test_a_scenario_that_works_too_long_ends_with_a_sentence(tmp_path: Path) -> None:
    """Half an hour without a pause is the bound; here it is over at once, before the first step."""
    async with a_scenario_world(tmp_path, say("никогда"), most_seconds=-1.0) as world:
        await world.work(start())
        assert failure(world)["code"] == "scenario-too-slow"
        assert texts(world) == []


async def test_a_loop_of_pure_steps_ends_at_the_bound(tmp_path: Path) -> None:
    """A hundred steps are the bound here; the run fails with a sentence instead of turning for ever (A11)."""
    loop = {"id": "again", "type": "branch", "condition": "true", "branches": {"if": "again", "else": "again"}}
    async with a_scenario_world(tmp_path, loop, most_steps=100) as world:
        await world.work(start())
        assert failure(world)["code"] == "scenario-too-long"
        assert not events(world, "NodeDone")


async def test_a_run_that_a_limit_stopped_says_so_and_keeps_what_it_collected(tmp_path: Path) -> None:
    """Where it stands and how often it was there; programs get the variables. The limit itself may be reached (A11)."""
    steps = (
        {"id": "one", "type": "calculate", "params": {"values": {"got": "context.get('got', []) + [len(context.get('got', []))]"}}},
        {"id": "all", "type": "branch", "condition": "len(got) < 5", "branches": {"if": "one", "else": "end"}},
        {"id": "end", "type": "end"},
    )
    async with a_scenario_world(tmp_path, *steps, most_steps=8) as world:
        await world.work(start())
        ended = failure(world)
        (notice,) = [one for row in replies(world) for one in row.body["notices"] if one["code"] == "scenario-too-long"]
        assert notice["args"] == {"most": 8, "step": "one", "often": 4}
        assert (ended["result"]["got"], ended["result"]["success"]) == ([0, 1, 2, 3], False)
    async with a_scenario_world(tmp_path / "more", *steps, most_steps=11) as world:
        await world.work(start())
        assert index(world).status == "done"


async def test_a_step_may_be_called_as_the_context_calls_its_own_nodes(tmp_path: Path) -> None:
    """The check takes such a scenario, so it runs; a message of that name and a step without a name are two."""
    steps = (ask("name", "Имя?", step="say"), say("{name}"))
    async with a_scenario_world(tmp_path, *steps) as world:
        await work_through(world, start(), message("Анна"))
        assert texts(world)[-1] == "Анна"
        assert index(world).status == "done"
