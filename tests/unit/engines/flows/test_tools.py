"""Agents read with tools while they work: each call once, through the gate, within bounds, and whatever they ask for is answered."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from engines.flows.core.kind import AGENTS
from engines.flows.core.tools import LONGEST_ANSWER, MOST_CALLS, MOST_ROUNDS
from orchestrator.definitions.checking import check_document
from orchestrator.domain.models import ModelAnswer, ToolCall
from orchestrator.domain.own_reads import DocumentAnswer, DocumentPassage
from orchestrator.gate.call.effect_kinds import find_method_classes
from orchestrator.model_client.providers import GigaChatProvider
from orchestrator.model_client.router import ModelRouter
from state.canonical import loads
from tests.unit.definitions.service_kit import data, shipped_catalogue
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, agent, find_reason, flow, result, start, step
from tests.unit.engines.tool_agent.ask_kit import call, say
from tests.unit.runs.runs_kit import events, index
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World
from tests.unit.spine_portal import deal

READER = {"writer": agent("Ты аналитик.", tools=["crm.deal.list", "crm.deal.get", "rag_search", "calculate"])}
RESULT = {"resultPayload": {"a": "$steps.work.output.content"}}
PLAN = flow(step("work"), outputs=RESULT)


def told(world: World, place: int = -1) -> list[str]:
    return [str(one["content"]) for one in world.model.prompts[place] if one["role"] == "tool"]


def read(world: World) -> list[str]:
    return [method for method, _ in world.portal.requests if method.startswith("crm.deal")]


def calls(*asked: tuple[str, dict[str, Any]]) -> ModelAnswer:
    return say("", *(ToolCall(id=f"c{place}", name=name, arguments=given) for place, (name, given) in enumerate(asked)))


async def test_what_an_agent_reads_it_is_told_and_nothing_is_read_twice(tmp_path: Path) -> None:
    """A method of the portal with the owner's rights, then the answer; a person's retry of a later step reads nothing again."""
    document = flow(step("work", success="end"), {**step("end"), "agentVersionId": "plain"}, outputs=RESULT)
    async with a_flow_world(tmp_path, document, {**READER, "plain": agent()}) as (world, _):
        world.model.will(call("crm_deal_get", params='{"id": 481}'), "готово", SILENT)
        await world.work(start())
        assert index(world).status == "failed"
        assert "Ромашка" in told(world, 1)[0]
        reads = read(world)
        world.model.will("конец")
        await world.work(order("retry"))
        world.clock.advance(timedelta(seconds=1.1))
        await world.work()
        assert (index(world).status, result(world)["payload"], len(world.model.prompts)) == ("done", {"a": "готово"}, 4)
        assert reads == read(world), "nothing was read again"


async def test_several_calls_of_one_answer_are_made_in_their_order(tmp_path: Path) -> None:
    """A list and a calculation; objects are taken as parameters as well as their text."""
    async with a_flow_world(tmp_path, PLAN, READER) as (world, _):
        world.model.will(
            calls(("crm_deal_list", {"params": {"filter": {"=ID": 482}}}), ("calculate", {"expression": "100 + 20%"})), "готово"
        )
        await world.work(start())
        assert index(world).status == "done"
        assert [one["tool_call_id"] for one in world.model.prompts[1] if one["role"] == "tool"] == ["c0", "c1"]
        assert "Вектор" in told(world)[0]
        assert told(world)[1] == "120"


@pytest.mark.req("S001-X3")
async def test_what_a_service_wants_back_with_a_call_goes_back_with_it(tmp_path: Path) -> None:
    """The state of GigaChat's functions is kept with the call, in the journal of the run too."""
    async with a_flow_world(tmp_path, PLAN, READER) as (world, _):
        router = cast("ModelRouter", world.orchestrator.tools.model)
        for one in router.routes.values():
            one.provider = GigaChatProvider(one.provider.client, model="g")
        asked = say("", ToolCall(id="c1", name="calculate", arguments={"expression": "1+1"}, state="s-1"))
        world.model.will(asked, "готово")
        await world.work(start())
        assert [one["functions_state_id"] for one in world.model.prompts[1] if "function_call" in one] == ["s-1"]
        stored = [one.data["output"]["calls"] for one in events(world, "NodeDone") if "calls" in (one.data.get("output") or {})]
        assert stored[0][0]["state"] == "s-1"


async def test_the_owner_s_rights_hold_for_what_an_agent_reads(tmp_path: Path) -> None:
    """A deal of somebody else is not read, and the model is told so."""
    async with a_flow_world(tmp_path, PLAN, READER) as (world, _):
        world.model.will(call("crm_deal_get", params='{"id": 500}'), "готово")
        await world.work(start())
        assert told(world)[0].startswith("Not read (refused): ")
        assert "Чужая" not in str(world.model.prompts)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (("crm_deal_update", {"params": "{}"}), "The call cannot be made: no tool of this name was offered"),
        (("crm_deal_list", {"params": "{"}), "The parameter params is no JSON object."),
        (("crm_deal_list", {"params": "[1]"}), "The parameter params is no JSON object."),
        (("crm_deal_list", {"params": 5}), "The parameter params is no JSON object."),
        (("crm_deal_list", {"params": '{"filter":' * 300 + "1" + "}" * 300}), "The parameter params is no JSON object."),
        (("rag_search", {}), "The parameter question is missing."),
        (("rag_search", {"question": "Скидки?"}), '{"error":"there is no service of documents"}'),
        (("calculate", {"expression": "rm -rf"}), "This is no calculation"),
        (("calculate", {}), "This is no calculation"),
    ],
    ids=str,
)
async def test_a_call_that_cannot_be_made_is_answered_as_such(tmp_path: Path, asked: tuple[str, dict[str, Any]], answer: str) -> None:
    """And the step goes on; nothing is called at the portal."""
    async with a_flow_world(tmp_path, PLAN, READER) as (world, _):
        world.model.will(calls(asked), "готово")
        await world.work(start())
        assert (index(world).status, read(world)) == ("done", [])
        assert told(world)[0].startswith(answer)


async def test_documents_are_asked_with_the_role_of_the_run_s_person_and_once(tmp_path: Path) -> None:
    """Their text is text of strangers, so what the agent proposes afterwards asks a person."""
    asked: list[tuple[str, str, str]] = []

    async def find(question: str, *, person: str, role: str, top_k: int | None) -> DocumentAnswer:
        assert top_k is None
        asked.append((question, person, role))
        return DocumentAnswer(answer="Не больше 10 %.", passages=[DocumentPassage(title="Скидки", text="До 10 %.")])

    async with a_flow_world(tmp_path, PLAN, READER, find_documents=find) as (world, _):
        world.model.will(call("rag_search", question="Какая скидка?"), "готово")
        await world.work(start())
        assert asked == [("Какая скидка?", "tg:1007", "manager")]
        assert "До 10 %." in told(world)[0]
        assert "document" in events(world, "NodeDone")[-1].data["origins"]


async def test_an_agent_that_reads_without_end_fails_its_step_by_name(tmp_path: Path) -> None:
    """After so many questions; the flow says why, and nothing hangs."""
    async with a_flow_world(tmp_path, PLAN, READER) as (world, _):
        world.model.will(*[call("calculate", expression="1+1")] * MOST_ROUNDS)
        await world.work(start())
        assert (index(world).status, len(world.model.prompts)) == ("failed", MOST_ROUNDS)
        assert find_reason(world) == "tools"


async def test_too_many_calls_at_once_are_answered_and_not_made(tmp_path: Path) -> None:
    """The model may ask for the others again."""
    async with a_flow_world(tmp_path, PLAN, READER) as (world, _):
        world.model.will(calls(*[("crm_deal_get", {"params": '{"id": 481}'})] * (MOST_CALLS + 2)), "готово")
        await world.work(start())
        assert [one.startswith("Not more than") for one in told(world)] == [False] * MOST_CALLS + [True] * 2


async def test_a_long_list_is_told_as_far_as_there_is_room(tmp_path: Path) -> None:
    """Whole rows, with how many were left out."""
    async with a_flow_world(tmp_path, PLAN, READER) as (world, _):
        for number in range(1000, 1040):
            world.portal.records["deal", number] = deal(number, "Д" * 900, "1.00", owner=7)
        world.model.will(call("crm_deal_list", params='{"order": {"ID": "ASC"}}'), "готово")
        await world.work(start())
        given = loads(told(world)[0])
        assert len(told(world)[0]) <= LONGEST_ANSWER
        assert given["left_out"] + len(given["result"]) == given["total"]


async def test_a_question_without_an_answer_in_the_middle_is_a_failed_attempt(tmp_path: Path) -> None:
    """The next attempt begins anew, and reads what it needs itself."""
    async with a_flow_world(tmp_path, flow(step("work", maxAttempts=2), outputs=RESULT), READER) as (world, _):
        world.model.will(call("crm_deal_get", params='{"id": 481}'), SILENT, call("crm_deal_get", params='{"id": 481}'), "готово")
        await world.work(start())
        world.clock.advance(timedelta(seconds=1.1))
        await world.work()
        assert (index(world).status, len(world.model.prompts)) == ("done", 4)


@pytest.mark.parametrize(("tools", "effects", "found"), [
    (["crm.deal.list", "rag_search", "calculate"], ["crm.deal.update"], []),
    (["crm.deal.lst"], [], [("finding-method-unknown", "tools[0]")]),
    (["crm.deal.get", "crm.deal.update"], [], [("finding-method-writes", "tools[1]")]),
    (["batch"], [], [("finding-method-unknown", "tools[0]")]),
    (["crm.deal.list\n"], [], [("finding-method-unknown", "tools[0]")]),
    ([], [" crm.deal.update"], [("finding-method-unknown", "effects[0]")]),
    ([], ["crm.deal.get"], [("finding-method-reads", "effects[0]")]),
    ([], ["no.such"], [("finding-method-unknown", "effects[0]")]),
])  # fmt: skip
def test_methods_of_an_agent_are_checked_when_it_is_handed_in(tools: list[str], effects: list[str], found: list[tuple[str, str]]) -> None:
    """Unknown ones, writing ones among the tools, reading ones among the effects; each at its place."""
    document = agent(tools=tools, effects=effects)
    checked = check_document(AGENTS, data(document), partial(find_method_classes, shipped_catalogue()), lambda _write, _place: False)
    assert [(one.code, one.path) for one in checked.findings] == found
