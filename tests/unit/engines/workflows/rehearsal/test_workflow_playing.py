"""Workflows under a test: their models and reads are given, and nothing of the outside is reached."""

from typing import Any

import pytest

from engines.workflows.playing import PlayableWorkflow, WorkflowCase, WorkflowPlayed, compare_workflow, play_workflow
from orchestrator.expressions.scripts.runner import ScriptRunner
from state.canonical import dumps, hash_text
from tests.unit.engines.workflows.workflow_kit import TYPES

READ = f"a/main/q-{hash_text(dumps(['crm.deal.list', {}]))[:12]}"
"""The node of the first query for all deals that the script of the tuum makes: queries are named by what they ask."""


async def play(*tuums: dict[str, Any], workflow: dict[str, Any] | None = None, **fields: Any) -> WorkflowPlayed:
    """Play a workflow of these tuums under a test of these fields."""
    document = {"workflowId": "plan", "tuums": list(tuums), **(workflow or {})}
    test = WorkflowCase.model_validate({"name": "x", "parameters": {}, **fields})
    async with ScriptRunner(workers=1) as scripts:
        return await play_workflow(PlayableWorkflow(key="plan", document=document, types=TYPES), test, scripts)


def script(tuum: str, source: str) -> dict[str, Any]:
    return {"tuumId": tuum, "mainScript": {"source": source, "produces": [tuum]}, "outputMappings": {tuum: tuum}}


def ask(tuum: str, **fields: Any) -> dict[str, Any]:
    """A tuum that asks a model and publishes the answer under its name."""
    prompt = {"runeType": "prompt", "template": "?"}
    return {"tuumId": tuum, "promptRunes": [prompt], "aiService": "tool", "outputMappings": {tuum: "ai_final_output"}, **fields}


async def test_a_read_is_given_by_its_node_its_tuum_or_its_method() -> None:
    """The nearest name counts, and `each` has one value for each time its name is taken."""
    reads = 'await query("crm.deal.list")'
    played = await play(
        script("a", f'{{"a": [{reads}, {reads}, {reads}]}}'),
        script("b", f'{{"b": [{reads}, {reads}]}}'),
        queries={"crm.deal.list": 0, "a/crm.deal.list": {"each": [1, 2]}, f"{READ}-2": 3},
    )
    assert (played.problem, played.result.globals) == ("", {"a": [1, 3, 2], "b": [0, 0]})


async def test_a_read_that_the_test_lacks_ends_it_whatever_the_script_makes_of_errors() -> None:
    """A script that goes on without what it reads would be green for a wrong reason."""
    source = 'try:\n    found = await query("crm.deal.list")\nexcept Exception:\n    found = []\n{"a": found}'
    played = await play(script("a", source), workflow={"onFailure": "finish"})
    assert played.problem == f"{READ} reads crm.deal.list: give what it returns as queries.crm.deal.list"
    assert compare_workflow(WorkflowCase.model_validate({"name": "x"}).expect, played) == [played.problem]


async def test_an_answer_that_the_test_lacks_ends_it_also_where_a_script_handles_failures() -> None:
    """A main script runs after a model that failed, but not after a test that forgot to say what it answers."""
    handles = {"mainScript": {"source": '{"ai_final_output": "instead"}', "produces": ["ai_final_output"]}}
    played = await play(ask("a", **handles))
    assert "give its answer as answers.a" in played.problem
    played = await play(ask("a", **handles), answers={"a": {"failed": "late"}})
    assert (played.problem, played.result.globals) == ("", {"a": "instead"})


async def test_each_call_of_a_model_of_a_tuum_takes_the_next_answer() -> None:
    """Also of one whose name is that of the run's messages; an answer that is no text is JSON."""
    again = {"runes": [{"runeType": "prompt", "template": "!"}, {"runeType": "ai", "aiService": "tool", "output": "ai_final_output"}]}
    played = await play(ask("say", **again), answers={"say": {"each": ["one", {"two": 2}]}})
    assert (played.problem, played.result.globals, played.result.finished) == ("", {"say": '{"two":2}'}, ("say",))


async def test_what_failed_counts_as_reached_and_what_finished_is_named() -> None:
    """With onFailure: finish the others go on."""
    tuums = [ask("a"), ask("b"), {"tuumId": "c", "inputMappings": {"x": "a"}, "outputMappings": {"c": "x"}}]
    played = await play(*tuums, workflow={"onFailure": "finish"}, answers={"a": {"failed": "late"}, "b": "fine"})
    assert (played.result.error_code, played.result.finished, played.reached) == ("TuumExecutionFailed", ("b",), {"a", "b"})


@pytest.mark.parametrize(("operator", "code"), [("=", ""), ("+=", "workflow-operations-uncomputed")])
async def test_operations_are_handed_on_and_only_planned(operator: str, code: str) -> None:
    """One that cannot be computed from what the test gives fails the run, as it would at the portal; what was proposed is kept."""
    rune = {"runeType": "operation", "operationType": "ModifyEntity", "entityType": "deal", "entityId": "481"}
    change = {**rune, "attributeKey": "OPPORTUNITY", "modifyOperator": operator, "modifyValue": 5}
    played = await play({"tuumId": "a", "runes": [change]}, queries={"apply/before/0": {"OPPORTUNITY": "many"}})
    assert (played.problem, played.result.is_success, played.result.error_code) == ("", not code, code)
    assert (len(played.proposed), len(played.result.operations)) == (1, 0 if code else 1)
    planned = [one.data["status"] for one in played.happenings if one.place.node == "apply/1"]
    assert planned == ([] if code else ["planned"])
