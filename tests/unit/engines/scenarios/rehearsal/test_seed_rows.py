"""What the seed says of scenarios, row by row: small dialogues that the real engine plays in a rehearsal."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from engines.scenarios.core.checks import check_scenario
from engines.scenarios.rehearsal.dialogue import Dialogue
from engines.scenarios.rehearsal.playing import Played, play_dialogue
from orchestrator.documents.reading import read_document
from orchestrator.documents.writing import write_document
from orchestrator.domain.finding import has_errors
from orchestrator.rehearsals.comparing import list_messages
from orchestrator.rehearsals.script import Script
from tests.unit.engines.scenarios.scenario_kit import TYPES, ask, say, scenario

SET = {"type": "update_context", "params": {"updates": {"a": 1, "b": {"c": ["x", "y"]}}}}
END = {"id": "bye", "type": "end"}


async def play(plan: Mapping[str, Any], others: Mapping[str, Any] | None = None, **dialogue: Any) -> Played:
    """Play a whole scenario."""
    script = Dialogue.model_validate({"name": "x", **dialogue})
    return await play_dialogue("plan", {"plan": plan, **(others or {})}, TYPES, script, Script(script))


async def said(*steps: Mapping[str, Any], others: Mapping[str, Any] | None = None, inputs: Any = (), **more: Any) -> list[str]:
    """What a person reads of a scenario of these steps."""
    played = await play(scenario(*steps, **more), others, inputs=list(inputs))
    assert played.problem == ""
    return list_messages(played.happenings)


def branch(condition: str, **ways: str) -> dict[str, Any]:
    """A branch with ways that are given as yes and no."""
    names = {"yes": "if", "no": "else"}
    return {"id": "choose", "type": "branch", "condition": condition, "branches": {names[name]: one for name, one in ways.items()}}


def call(key: str, **params: Any) -> dict[str, Any]:
    """A step that runs another scenario."""
    return {"id": "sub", "type": "execute_sub_scenario", "params": {"sub_scenario_id": key, **params}}


def codes(document: Any) -> list[tuple[str, str]]:
    """The findings of a document as (severity, code)."""
    reading = read_document(json.dumps(document))
    assert reading.document is not None
    return [(one.severity, one.code) for one in check_scenario(reading.document, TYPES)]


@pytest.mark.req("S000-1", "S000-2", "S000-4")
async def test_json_and_yaml_are_the_same_scenario() -> None:
    """Read from either they are equal data and play to equal words; a version may be a text or a number."""
    plan = scenario(ask("n", type="integer"), branch("n > 5", yes="bye"), say("мало"), END, name="Имя", version="1.0")
    by_json, by_yaml = read_document(json.dumps(plan)), read_document(write_document(plan, "yaml"))
    assert by_json.require_document().data == by_yaml.require_document().data
    told = [list_messages((await play(one.require_document().data, inputs=[3])).happenings) for one in (by_json, by_yaml)]
    assert told == [["Что?", "мало"]] * 2
    assert codes({**plan, "version": 1.0}) == []


@pytest.mark.req("S000-A9", "S000-2")
def test_without_a_name_it_is_accepted_with_a_warning() -> None:
    """Its key stands for the name."""
    assert codes({"steps": [say("x")]}) == [("warning", "finding-scenario-name-missing")]
    assert codes({"name": 5, "steps": [say("x")]})[0][0] == "error"


@pytest.mark.req("S000-12", "S000-13", "S000-A1", "S000-24")
async def test_a_step_leads_to_its_next_step_or_to_the_next_in_the_list() -> None:
    """A message too; after the last the scenario is over."""
    assert await said(say("1", next_step="third"), say("2", next_step="bye"), say("3", id="third")) == ["1", "3"]
    assert await said(say("1"), say("2")) == ["1", "2"]


@pytest.mark.req("S000-5", "S000-15", "S000-16")
async def test_one_context_gathers_the_whole_run() -> None:
    """Initial values, answers and results of steps are all there in the end, and each step reads them."""
    played = await play(
        scenario(ask("name"), SET, say("{company} {name} {a} {b.c[1]}"), initial_context={"company": "Ветроград"}), inputs=["Анна"]
    )
    assert list_messages(played.happenings)[-1] == "Ветроград Анна 1 y"
    assert {"company": "Ветроград", "name": "Анна", "a": 1, "b": {"c": ["x", "y"]}}.items() <= played.variables.items()


@pytest.mark.req("S000-17", "S000-18", "S000-19", "S000-20", "S000-21")
async def test_every_text_of_the_parameters_is_filled_and_so_is_a_condition() -> None:
    """Texts in objects and lists inside of the parameters, at any depth."""
    effect = {"id": "e", "type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"x": [{"y": "{a}"}, "№{b.c[0]}"]}}}
    played = await play(scenario(SET, effect, branch("'{b.c[1]}' == 'y'", yes="bye"), say("нет"), END))
    (planned,) = [one for one in played.happenings if one.kind == "effect"]
    assert planned.data["params"] == {"x": [{"y": 1}, "№x"]}
    assert list_messages(played.happenings) == []


@pytest.mark.req("S000-23", "S000-25", "S000-27")
async def test_a_question_shows_its_prompt_and_keeps_the_answer() -> None:
    """Both texts are filled."""
    assert await said(SET, ask("x", "Вопрос {a}"), say("Ответ {x}"), inputs=["да"]) == ["Вопрос 1", "Ответ да"]


@pytest.mark.req("S000-14", "S000-30", "S000-32", "S000-33", "S000-34", "S000-A3")
@pytest.mark.parametrize(
    ("condition", "ways", "told"),
    [
        ("context.get('a', 0) == 1 and 'x' in context['b']['c']", {"yes": "yes", "no": "no"}, "да"),
        ("a > 1", {"yes": "yes", "no": "no"}, "нет"),
        ("a > 1", {"yes": "yes"}, "следующий"),
        ("a == 1", {"no": "no"}, "следующий"),
    ],
)
async def test_a_branch_takes_the_way_of_its_condition(condition: str, ways: dict[str, str], told: str) -> None:
    """A way that is missing is the next step; what stands in `params` has no effect."""
    decides = {**branch(condition, **ways), "params": {"description": "{a}", "condition": "a > 100"}}
    after = (say("следующий", next_step="bye"), say("да", id="yes", next_step="bye"), say("нет", id="no"), END)
    assert await said(SET, decides, *after) == [told]


CHILD = scenario(say("{who} {own}"), {"type": "update_context", "params": {"updates": {"own": 2, "more": 3}}}, initial_context={"own": 1})


@pytest.mark.req("S000-37", "S000-38", "S000-44")
async def test_inputs_of_a_sub_scenario_override_its_initial_context() -> None:
    """They are filled from the parent's variables, and the parent follows its own next step."""
    given = call("child", input_parameters={"who": "{a}", "own": "{b.c[0]}"}, output_mapping=[])
    assert await said(SET, {**given, "next_step": "last"}, say("никогда"), say("{who}", id="last"), others={"child": CHILD}) == [
        "1 x",
        "{who}",
    ]


@pytest.mark.req("S000-41", "S000-42")
async def test_outputs_are_those_of_the_list_or_all() -> None:
    """Without a mapping the parent's variables of the same names are overwritten."""
    told = await said(SET, call("child", output_mapping=["more"]), say("{more} {own} {a}"), others={"child": CHILD})
    assert told[-1] == "3 {own} 1"
    told = await said(SET, call("child"), say("{more} {own}"), others={"child": CHILD}, initial_context={"own": 0})
    assert told[-1] == "3 2"


@pytest.mark.req("S000-36", "S000-43", "S000-47", "S000-A2", "S000-A12")
@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([{"type": "execute_sub_scenario", "params": {"output_mapping": []}}], ("error", "finding-field-missing")),
        ([{"type": "update_context", "params": {}}], ("error", "finding-field-missing")),
        ([call("child")], ("warning", "finding-mapping-missing")),
        ([say("x", next_step="nowhere")], ("error", "finding-step-target-unknown")),
        ([branch("true", yes="nowhere")], ("error", "finding-step-target-unknown")),
        ([say("x", id="a"), say("y", id="a")], ("error", "finding-step-id-twice")),
        ([{"type": "fly"}], ("error", "finding-step-type-unknown")),
        ([{"type": "action", "params": {"action_type": "fly"}}], ("error", "finding-action-type-unknown")),
    ],
)
def test_what_is_mandatory_or_unknown_is_found_before_it_runs(steps: list[Any], found: tuple[str, str]) -> None:
    """Each mistake by its code."""
    assert found in codes(scenario(*steps))


@pytest.mark.req("S000-A12")
@pytest.mark.parametrize("step", [{"type": "fly"}, {"type": "action", "params": {"action_type": "fly"}}])
async def test_a_type_that_is_gone_ends_the_run(step: dict[str, Any]) -> None:
    """A plugin may be uninstalled after its scenario was published: nothing of the scenario is done."""
    played = await play(scenario(say("x"), step))
    assert (played.result.status, played.result.code, played.happenings[0].kind) == ("failed", "scenario-step-unknown", "failure")


@pytest.mark.req("S000-45", "S000-46", "S000-52")
async def test_an_action_is_the_step_that_its_action_type_names() -> None:
    """update_context is built in; models, documents, the database and schedules are reachable both ways."""
    action = {"id": "do", "type": "action", "params": {"action_type": "update_context", "updates": {"a": 5}}}
    assert await said(action, say("{a}")) == ["5"]
    both = {
        "llm_request",
        "rag_search",
        "mongo_find_one",
        "mongo_insert_one",
        "schedule_scenario_run",
        "telegram_send_message",
        "bitrix_call",
    }
    for name in both:
        step = {"type": name, **TYPES[name].example}
        for one in (step, {"type": "action", "params": {"action_type": name, **step["params"]}}):
            reading = read_document(json.dumps(scenario(one)))
            assert not has_errors(check_scenario(reading.require_document(), TYPES))


@pytest.mark.req("S000-X5", "S000-X10")
async def test_the_callers_values_override_the_authors_and_nobody_overrides_the_systems() -> None:
    """A name with dots makes objects; a name with __ is refused by the check, and ends a run that gets it by a mapping."""
    plan = scenario(say("{a} {__current_scenario_id__}"), {"type": "update_context", "params": {"updates": {"x.y.z": 1}}}, say("{x.y.z}"))
    played = await play({**plan, "initial_context": {"a": "автор"}}, args={"a": "кто запустил"})
    assert list_messages(played.happenings) == ["кто запустил plan", "1"]
    assert ("error", "finding-variable-reserved") in codes(scenario({"type": "update_context", "params": {"updates": {"__x": 1}}}))
    broken = await play(scenario({"type": "update_context", "params": {"updates": {"__x": 1}}}))
    assert (broken.result.status, broken.result.code) == ("failed", "scenario-name-reserved")


@pytest.mark.req("S000-A8")
async def test_a_mapped_text_is_a_placeholder_or_a_key_or_itself() -> None:
    """In this order."""
    mapping = {"one": "{own}!", "two": "more", "three": "просто"}
    assert (await said(call("child", output_mapping=mapping), say("{one}|{two}|{three}"), others={"child": CHILD}))[-1] == "2!|3|просто"
