"""What agents call as tools, and what steps do, is given by the test: nothing of it is called."""

from typing import Any

import pytest

from engines.flows.playing import FlowCase, FlowScript, play_flow
from orchestrator.domain.models import ModelTool
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunContext, RunEffect, RunModelRequest, RunResult
from orchestrator.rehearsals.case import BEGINS
from orchestrator.rehearsals.rehearsal import Rehearsal
from orchestrator.rehearsals.script import ScriptEnded
from tests.unit.engines.flows.flow_kit import agent, flow, step

TOOL = ModelTool(name="documents", description="Searches.", parameters={"type": "object"})


async def refuse() -> Any:
    raise AssertionError("a rehearsal called a tool")


class Caller:
    """An engine with the nodes of a step whose agent calls a tool and reads a record, and which then changes one."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        request = RunModelRequest(messages=[{"role": "user", "content": "?"}], tools=(TOOL,))
        first = await ctx.ask_model("draft/1/1", request)
        found = await ctx.memo("draft/1/1/call-1", refuse)
        read = await ctx.submit("draft/1/1/call-2", RunEffect(method="crm.deal.get", params={"id": 481}))
        last = await ctx.ask_model("draft/1/1/round-2", request)
        done = await ctx.submit("draft/1/operations", RunEffect(method="crm.deal.update", params={"id": 481, "fields": {"TITLE": "x"}}))
        told = [first.data, found.data, read.result, read.call_class, last.data, done.status, done.detail]
        return RunResult(value=Value(told))


async def play(**fields: Any) -> Any:
    """What the nodes gave under a test of these fields."""
    script = FlowScript(FlowCase.model_validate({"name": "x", **fields}))
    rehearsal = Rehearsal({"flow": Caller()}, lambda *_: {}, script, now=BEGINS)
    return (await rehearsal.play("flow", "plan", {})).value.data


CALL = {"calls": [{"name": "documents", "arguments": {"question": "?"}}]}


async def test_calls_of_tools_reads_and_operations_are_given_by_the_test() -> None:
    """Answers of the agent, of tools and of operations stand apart, each by the step."""
    told = await play(
        answers={"draft": {"each": [CALL, "Готово"]}},
        calls={"draft": {"each": ["Нашлось", {"TITLE": "Столы"}]}},
        operations={"draft": {"refused": "нет"}},
    )
    asked = {"id": "call-1", "name": "documents", "arguments": {"question": "?"}, "problem": ""}
    assert told == [
        {"text": "", "calls": [asked], "finish_reason": "tool_calls"}, "Нашлось", {"TITLE": "Столы"}, "R",
        {"text": "Готово", "calls": [], "finish_reason": "stop"}, "refused", "нет",
    ]  # fmt: skip


async def test_a_tool_without_a_mock_is_not_called() -> None:
    """The test ends there, and says what it lacks."""
    with pytest.raises(ScriptEnded, match=r"step draft of plan calls a tool: give what it returns as calls\.draft"):
        await play(answers={"draft": {"each": [CALL, "Готово"]}})


async def test_a_flow_reads_with_tools_and_proposes_operations_under_a_test() -> None:
    """The engine itself asks at those places: calls, operations and their refusal, which fails the step."""
    writer = agent(effects=["crm.deal.update"], tools=["crm.deal.get", "rag_search"])
    calls = [
        {"name": "crm_deal_get", "arguments": {"params": {"id": 481}}},
        {"name": "rag_search", "arguments": {"question": "Скидки?"}},
    ]
    change = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"TITLE": "Столы"}}}
    document = flow(step("draft", fail=False), outputs={"resultPayload": {"status": "$steps.draft.output.operations.0.status"}})
    fields = {
        "name": "x",
        "parameters": {},
        "answers": {"draft": {"each": [{"calls": calls}, {"text": "Меняю", "operations": [change]}]}},
        "calls": {"draft": {"each": [{"TITLE": "Стулья"}, {"answer": "До 10 %", "passages": []}]}},
    }
    for operations, failed in (({"draft": 481}, []), ({}, []), ({"draft": {"refused": "нет"}}, ["draft"])):
        case = FlowCase.model_validate({**fields, "operations": operations})
        played = await play_flow("plan", document, {"writer": writer}, case)
        assert (played.problem, played.result.status) == ("", "done")
        assert [one.data["method"] for one in played.calls] == ["crm.deal.get"]
        assert [(one.data["method"], one.data["params"]) for one in played.operations] == [("crm.deal.update", change["params"])]
        assert played.failed_steps == failed
