"""What the seed says of scenarios, row by row: small dialogues that the real engine plays in a rehearsal."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from engines.scenarios.core.checks import check_scenario
from engines.scenarios.playing import Dialogue, Played, play_dialogue
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import has_errors
from orchestrator.rehearsals.comparing import list_messages
from orchestrator.rehearsals.script import Script
from tests.unit.engines.scenarios.scenario_kit import TYPES, say, scenario

SET = {"type": "update_context", "params": {"updates": {"a": 1, "b": {"c": ["x", "y"]}}}}
END = {"id": "bye", "type": "end"}
CHILD = scenario(say("{who} {own}"), {"type": "update_context", "params": {"updates": {"own": 2, "more": 3}}}, initial_context={"own": 1})


async def play(plan: Mapping[str, Any], others: Mapping[str, Any] | None = None, **dialogue: Any) -> Played:
    """Play a whole scenario."""
    script = Dialogue.model_validate({"name": "x", **dialogue})
    return await play_dialogue("plan", {"plan": plan, **(others or {})}, TYPES, script, Script(script))


async def said(*steps: Mapping[str, Any], others: Mapping[str, Any] | None = None, inputs: Any = (), **more: Any) -> list[str]:
    """What a person reads of a scenario of these steps."""
    played = await play(scenario(*steps, **more), others, inputs=list(inputs))
    assert played.problem == ""
    return list_messages(played.happenings)


def call(key: str, **params: Any) -> dict[str, Any]:
    return {"id": "sub", "type": "execute_sub_scenario", "params": {"sub_scenario_id": key, **params}}


@pytest.mark.req("S000-17", "S000-18", "S000-19", "S000-20", "S000-21")
async def test_every_text_of_the_parameters_is_filled_and_so_is_a_condition() -> None:
    """Texts in objects and lists inside of the parameters, at any depth."""
    effect = {"id": "e", "type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"x": [{"y": "{a}"}, "№{b.c[0]}"]}}}
    choose = {"id": "choose", "type": "branch", "condition": "'{b.c[1]}' == 'y'", "branches": {"if": "bye"}}
    played = await play(scenario(SET, effect, choose, say("нет"), END))
    (planned,) = [one for one in played.happenings if one.kind == "effect"]
    assert (planned.data["params"], list_messages(played.happenings)) == ({"x": [{"y": 1}, "№x"]}, [])


@pytest.mark.req("S000-37", "S000-38", "S000-44")
async def test_inputs_of_a_sub_scenario_override_its_initial_context() -> None:
    """They are filled from the parent's variables, and the parent follows its own next step."""
    given = call("child", input_parameters={"who": "{a}", "own": "{b.c[0]}"}, output_mapping=[])
    told = await said(SET, {**given, "next_step": "last"}, say("никогда"), say("{who}", id="last"), others={"child": CHILD})
    assert told == ["1 x", "{who}"]


@pytest.mark.req("S000-14", "S000-30", "S000-32", "S000-33", "S000-34", "S000-A3")
@pytest.mark.parametrize(("condition", "ways", "told"), [
    ("context.get('a', 0) == 1 and 'x' in context['b']['c']", {"if": "yes", "else": "no"}, "да"),
    ("a > 1", {"if": "yes", "else": "no"}, "нет"), ("a > 1", {"if": "yes"}, "следующий"), ("a == 1", {"else": "no"}, "следующий"),
])  # fmt: skip
async def test_a_branch_takes_the_way_of_its_condition(condition: str, ways: dict[str, str], told: str) -> None:
    """A way that is missing is the next step; what stands in `params` has no effect."""
    decides = {"id": "choose", "type": "branch", "condition": condition, "branches": ways, "params": {"condition": "a > 100"}}
    after = (say("следующий", next_step="bye"), say("да", id="yes", next_step="bye"), say("нет", id="no"), END)
    assert await said(SET, decides, *after) == [told]


@pytest.mark.req("S000-41", "S000-42", "S000-A8")
async def test_outputs_are_those_of_the_list_or_the_mapping_or_all() -> None:
    """Without a mapping the parent's variables of the same names are overwritten; a mapped text is a placeholder, a key, or itself."""
    told = await said(SET, call("child", output_mapping=["more"]), say("{more} {own} {a}"), others={"child": CHILD})
    assert told[-1] == "3 {own} 1"
    told = await said(SET, call("child"), say("{more} {own}"), others={"child": CHILD}, initial_context={"own": 0})
    assert told[-1] == "3 2"
    mapping = {"one": "{own}!", "two": "more", "three": "просто"}
    assert (await said(call("child", output_mapping=mapping), say("{one}|{two}|{three}"), others={"child": CHILD}))[-1] == "2!|3|просто"


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
        "llm_request", "rag_search", "mongo_find_one", "mongo_insert_one", "schedule_scenario_run", "telegram_send_message",
        "bitrix_call",
    }  # fmt: skip
    for name in both:
        step = {"type": name, **TYPES[name].example}
        for one in (step, {"type": "action", "params": {"action_type": name, **step["params"]}}):
            reading = read_document(json.dumps(scenario(one)))
            assert not has_errors(check_scenario(reading.require_document(), TYPES))
