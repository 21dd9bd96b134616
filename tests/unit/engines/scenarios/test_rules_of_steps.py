"""What a scenario document means, sentence by sentence of its specification: fields, ways, variables, sub-scenarios, actions, bounds."""

import json
from pathlib import Path
from typing import Any

import pytest

from engines.scenarios.core.checks import check_scenario
from orchestrator.documents.reading import read_document
from orchestrator.domain.taint import Value
from tests.unit.engines.scenarios.scenario_kit import TYPES, a_scenario_world, ask, failure, say, scenario, start, texts
from tests.unit.runs.runs_kit import events, index
from tests.unit.spine_kit import World, message


async def play(folder: Path, *steps: Any, others: dict[str, Any] | None = None, **args: Any) -> list[str]:
    """Play these steps, or one whole scenario, without anybody answering, and return what was said."""
    async with a_scenario_world(folder, *steps, others=others) as world:
        await world.work(start(**{name: Value(one, frozenset({"person"})) for name, one in args.items()}))
        return texts(world)


def find_errors(text: str) -> list[str]:
    """The codes of the errors in the text of a scenario."""
    reading = read_document(text)
    found = list(reading.findings)
    if reading.draft is not None:
        found += check_scenario(reading.draft, TYPES)
    return [one.code for one in found if one.severity == "error"]


BOTH = {
    "name": "Знакомство",
    "description": "Спрашивает имя.",
    "version": "1.0",
    "initial_context": {"company": "Ветроград"},
    "steps": [
        {"id": "ask", "type": "input", "params": {"prompt": "Имя?", "input_variable": "name"}, "next_step": "hello", "color": "red"},
        {"type": "message", "params": {"text": "пропущен"}},
        {"id": "hello", "type": "message", "params": {"text": "{name}, это {company}."}},
    ],
}
YAML = """\
name: Знакомство
description: Спрашивает имя.
version: "1.0"
initial_context: {company: Ветроград}
steps:
  - {id: ask, type: input, params: {prompt: "Имя?", input_variable: name}, next_step: hello, color: red}
  - {type: message, params: {text: пропущен}}
  - {id: hello, type: message, params: {text: "{name}, это {company}."}}
"""


@pytest.mark.req("S000-1", "S000-2", "S000-3", "S000-5", "S000-10", "S000-23", "S000-24", "S000-25", "S000-27")
@pytest.mark.parametrize("text", [json.dumps(BOTH, ensure_ascii=False), YAML], ids=["json", "yaml"])
async def test_json_and_yaml_of_one_scenario_behave_the_same(tmp_path: Path, text: str) -> None:
    """The question waits, its answer goes into its variable, `next_step` passes over a step, and variables fill the message."""
    reading = read_document(text)
    assert reading.document is not None
    assert reading.document.data == BOTH
    assert find_errors(text) == []
    async with a_scenario_world(tmp_path, reading.document.data) as world:
        await world.work(start())
        assert (texts(world), index(world).status) == (["Имя?"], "waiting")
        await world.work(message("Пётр"))
        assert (texts(world)[-1], index(world).status) == ("Пётр, это Ветроград.", "done")


@pytest.mark.req("S000-6", "S000-7", "S000-A2", "S000-A12", "S000-36", "S000-47")
@pytest.mark.parametrize(("text", "code"), [
    ('{"name": "А"}', "finding-field-missing"),
    ('{"name": "А", "steps": {}}', "finding-field-shape"),
    ('{"name": "А", "steps": [{"id": "a"}]}', "finding-field-missing"),
    ('{"name": "А", "steps": [{"type": "message", "params": {"text": "а"}, "next_step": "b"}]}', "finding-step-target-unknown"),
    ('{"name": "А", "steps": [{"type": "branch", "condition": "True", "branches": {"if": "b"}}]}', "finding-step-target-unknown"),
    ('{"name": "А", "steps": [{"type": "massage", "params": {}}]}', "finding-step-type-unknown"),
    ('{"name": "А", "steps": [{"type": "action", "params": {"action_type": "dance"}}]}', "finding-action-type-unknown"),
    ('{"name": "А", "steps": [{"type": "execute_sub_scenario", "params": {}}]}', "finding-field-missing"),
    ('{"name": "А", "steps": [{"type": "action", "params": {"action_type": "update_context"}}]}', "finding-field-missing"),
    ('{"name": "А", "steps": [{"id": "a", "type": "end"}, {"id": "a", "type": "end"}]}', "finding-step-id-twice"),
])  # fmt: skip
def test_what_a_document_lacks_is_an_error_before_it_runs(text: str, code: str) -> None:
    """Each with its own code, so that the author knows what to mend."""
    assert code in find_errors(text)


@pytest.mark.req("S000-A9", "S000-2")
async def test_a_scenario_without_a_name_is_warned_of_and_runs(tmp_path: Path) -> None:
    """People see its key instead."""
    plan = {"steps": [say("да")]}
    reading = read_document(json.dumps(plan))
    assert reading.document is not None
    assert [(one.severity, one.code) for one in check_scenario(reading.document, TYPES)] == [("warning", "finding-scenario-name-missing")]
    assert await play(tmp_path, plan) == ["да"]


@pytest.mark.req("S000-A1", "S000-13")
async def test_without_next_step_the_following_step_of_the_list_comes_and_after_the_last_none(tmp_path: Path) -> None:
    """Nothing else decides the order."""
    async with a_scenario_world(tmp_path, say("раз"), say("два"), say("три")) as world:
        await world.work(start())
        assert (texts(world), index(world).status) == (["раз", "два", "три"], "done")


@pytest.mark.req("S000-14", "S000-30", "S000-32", "S000-33", "S000-34", "S000-A3", "S000-9", "S000-X7")
@pytest.mark.parametrize(("condition", "branches", "said"), [
    ("count > 2", {"if": "yes", "else": "no"}, ["да", "конец"]),
    ("count > 9", {"if": "yes", "else": "no"}, ["нет", "конец"]),
    ("context['count'] == 3", {"if": "yes"}, ["да", "конец"]),
    ("count > 9", {"if": "yes"}, ["дальше", "да", "конец"]),
])  # fmt: skip
async def test_a_branch_takes_the_way_of_its_condition(tmp_path: Path, condition: str, branches: dict[str, str], said: list[str]) -> None:
    """True leads to `if`, otherwise to `else`; without `else` the following step comes. `params` of a branch do nothing."""
    steps = (
        {"type": "branch", "condition": condition, "branches": branches, "params": {"description": "x"}}, say("дальше"),
        {**say("да", id="yes"), "next_step": "end"}, say("нет", id="no"), say("конец", id="end"),
    )  # fmt: skip
    assert await play(tmp_path, scenario(*steps, initial_context={"count": 3})) == said


@pytest.mark.req("S000-A3")
async def test_a_branch_without_else_follows_its_next_step(tmp_path: Path) -> None:
    """`next_step` comes before the order of the list."""
    branch = {"type": "branch", "condition": "False", "branches": {"if": "yes"}, "next_step": "last"}
    assert await play(tmp_path, branch, say("да", id="yes"), say("последний", id="last")) == ["последний"]


@pytest.mark.req("S000-X8", "S000-A4")
@pytest.mark.parametrize("condition", ["missing > 1", "1 / 0 > 1", "name > 5"])
async def test_a_condition_that_cannot_be_evaluated_takes_no_way_and_no_next_step(tmp_path: Path, condition: str) -> None:
    """The run fails and says at which step; the following step is not taken by accident."""
    branch = {"id": "check", "type": "branch", "condition": condition, "branches": {"if": "yes"}}
    async with a_scenario_world(tmp_path, scenario(branch, say("нет"), say("да", id="yes"), initial_context={"name": "А"})) as world:
        await world.work(start())
        assert (texts(world), failure(world)["code"]) == ([], "scenario-condition-failed")


@pytest.mark.req("S000-15", "S000-16", "S000-20", "S000-9")
async def test_one_context_gathers_what_steps_set_and_fills_every_string_of_parameters(tmp_path: Path) -> None:
    """Nested objects and lists, too: what one step set is there for all that follow."""
    steps = (
        {"type": "update_context", "params": {"updates": {"deal": {"title": "{company}", "tags": ["{company}", "x", 5]}}}},
        {"type": "update_context", "params": {"updates": {"copy": "{deal}"}}},
        say("{copy.title} {copy.tags[0]} {copy.tags[2]} {company}"),
    )
    assert await play(tmp_path, scenario(*steps, initial_context={"company": "Ромашка"})) == ["Ромашка Ромашка 5 Ромашка"]


@pytest.mark.req("S000-X5")
async def test_the_caller_s_values_replace_the_author_s_and_the_system_s_replace_both(tmp_path: Path) -> None:
    """Nobody sets a name of the system: not the author, not the caller, not a step."""
    plan = scenario(
        say("{city} {agent_id} {__scenario_instance_id__}"),
        initial_context={"city": "Томск", "agent_id": "я", "__scenario_instance_id__": "x"},
    )
    (said,) = await play(tmp_path, plan, city="Омск", agent_id="он")
    city, agent, instance = said.split()
    assert (city, agent) == ("Омск", "sdelka")
    assert instance != "x"
    reserved = {"type": "update_context", "params": {"updates": {"__mine": 1}}}
    async with a_scenario_world(tmp_path / "other", reserved, say("никогда")) as world:
        await world.work(start())
        assert (texts(world), failure(world)["code"]) == ([], "scenario-name-reserved")


@pytest.mark.req("S000-X10", "S000-45", "S000-46", "S000-52")
@pytest.mark.parametrize("kind", ["update_context", "action"])
async def test_updates_are_an_action_and_a_step_and_dots_make_objects(tmp_path: Path, kind: str) -> None:
    """All are filled from the variables as they were before, so that their order means nothing."""
    params: dict[str, Any] = {"updates": {"a": 2, "b": "{a}", "c.d.e": "{a}", "c.f": 1}}
    if kind == "action":
        params["action_type"] = "update_context"
    plan = scenario({"type": kind, "params": params}, say("{a} {b} {c.d.e} {c.f}"), initial_context={"a": 1})
    assert await play(tmp_path, plan) == ["2 1 1 1"]


CHILD = {
    "steps": [{"type": "update_context", "params": {"updates": {"grade": "A", "seen": "{lead}-{region}", "own": 1}}}],
    "initial_context": {"region": "Томск"},
}


def run_child(**params: Any) -> dict[str, Any]:
    return {"id": "sub", "type": "execute_sub_scenario", "params": {"sub_scenario_id": "child", **params}, "next_step": "after"}


@pytest.mark.req("S000-37", "S000-38", "S000-41", "S000-42", "S000-44", "S000-A8")
@pytest.mark.parametrize(("params", "said"), [
    ({"input_parameters": {"lead": "{id}"}}, "A 7-Томск 1 нет"),
    ({"input_parameters": {"lead": "{id}", "region": "Омск"}, "output_mapping": ["grade", "seen"]}, "A 7-Омск {own} нет"),
    ({"output_mapping": {"grade": "{seen}", "seen": "grade", "own": "жёлтый"}}, "{lead}-Томск A жёлтый нет"),
    ({"output_mapping": {"grade": "{nothing}", "seen": "x {nothing}"}}, " x {nothing} {own} нет"),
])  # fmt: skip
async def test_a_sub_scenario_takes_and_gives_what_is_said(tmp_path: Path, params: dict[str, Any], said: str) -> None:
    """Its own variables, then the parent's inputs; back comes all, a list, or a mapping; the parent goes on at its `next_step`."""
    plan = scenario(
        run_child(**params), say("пропущен"), say("{grade} {seen} {own} {other}", id="after"), initial_context={"id": 7, "other": "нет"}
    )
    assert await play(tmp_path, plan, others={"child": CHILD}) == [said]


@pytest.mark.req("S000-A10", "S000-29")
async def test_a_question_inside_of_a_sub_scenario_rests_the_whole_stack(tmp_path: Path) -> None:
    """The answer goes to the innermost scenario, and each goes on where it was."""
    child = {"steps": [ask("color", "Цвет?")]}
    async with a_scenario_world(tmp_path, say("до"), run_child(), say("{color}", id="after"), others={"child": child}) as world:
        await world.work(start())
        assert texts(world) == ["до", "Цвет?"]
        await world.work(message("синий"))
        assert (texts(world)[-1], index(world).status) == ("синий", "done")


@pytest.mark.req("S000-X11")
@pytest.mark.parametrize(
    "child", [None, {"steps": [{"type": "branch", "condition": "none > 1", "branches": {"if": "x"}}, say("x", id="x")]}]
)
async def test_a_sub_scenario_that_fails_or_is_not_there_fails_its_parent(tmp_path: Path, child: dict[str, Any] | None) -> None:
    """Nothing of it is taken over, and the step behind it does not come."""
    others = {"child": child} if child is not None else {}
    async with a_scenario_world(tmp_path, run_child(), say("никогда", id="after"), others=others) as world:
        await world.work(start())
        assert texts(world) == []
        assert index(world).status == "failed"


@pytest.mark.req("S000-A11")
async def test_scenarios_inside_of_each_other_end_at_the_bound(tmp_path: Path) -> None:
    """Two bounds of three; the whole stack fails with a sentence."""
    others = {f"n{n}": {"steps": [{"type": "execute_sub_scenario", "params": {"sub_scenario_id": f"n{n + 1}"}}]} for n in range(5)}
    deep = {"type": "execute_sub_scenario", "params": {"sub_scenario_id": "n0"}}
    async with a_scenario_world(tmp_path, deep, others={**others, "n5": {"steps": [say("дно")]}}, most_depth=3) as world:
        await world.work(start())
        assert "дно" not in texts(world)
        assert index(world).status == "failed"
        assert _ends(world) == {"failed"}


def _ends(world: World) -> set[str]:
    return {str(event.data["status"]) for event in events(world, "RunFinished")}
