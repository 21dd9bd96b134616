"""What an agent proposes to change: one card a step, judged by where it comes from, done once or not at all."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from engines.flows.core.operations import MOST_OPERATIONS
from orchestrator.domain.own_reads import DocumentAnswer
from orchestrator.runtime import worker
from state.canonical import dumps
from state.journal.store import OutboxRow
from tests.unit.engines.flows.flow_kit import SILENT, a_flow_world, agent, find_reason, flow, result, start, step
from tests.unit.engines.tool_agent.ask_kit import call
from tests.unit.runs.runs_kit import RUN, events, index
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World, press
from tests.unit.spine_portal import Portal, lost

CLERK = {"writer": agent("Ты секретарь.", effects=["crm.deal.update", "crm.timeline.comment.add"], tools=["crm.deal.get"])}
RESULT = {"resultPayload": {"done": "$steps.work.output.operations"}}
PLAN = flow(step("work"), outputs=RESULT)
RAISE = {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}, "comment": "Бюджет вырос"}
NOTE = {"method": "crm.timeline.comment.add", "params": {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 481, "COMMENT": "Бюджет вырос"}}}

MAKER = agent("Ты заводишь лиды.", effects=["crm.lead.add"])
LEAD = {"method": "crm.lead.add", "params": {"fields": {"TITLE": "Go"}}}


def propose(*operations: Any, **fields: Any) -> str:
    return dumps({"operations": list(operations), **fields})


def cards(world: World) -> list[OutboxRow]:
    """The cards that wait in the outbox; takes it off."""
    return [row for row in world.outbox() if row.kind == "card"]


def reasons(world: World) -> list[str]:
    """Why the only card asks."""
    (shown,) = cards(world)
    return [str(one["code"]) for one in shown.body["reasons"]]


async def test_an_operation_is_one_card_and_is_done_once_after_the_press(tmp_path: Path) -> None:
    """The flow waits for the person, then says what became of it."""
    async with a_flow_world(tmp_path, PLAN, CLERK) as (world, _):
        world.model.will(propose(RAISE, summary="Меняю сумму"))
        await world.work(start())
        assert (index(world).status, world.portal.written()) == ("waiting", [])
        (shown,) = cards(world)
        await world.work(press(shown.body, key=RUN))
        assert (index(world).status, len(world.portal.written("crm.deal.update"))) == ("done", 1)
        assert result(world)["payload"] == {"done": [{"method": "crm.deal.update", "status": "succeeded"}]}
        await world.work(press(shown.body, key=RUN))
        assert len(world.portal.written("crm.deal.update")) == 1


async def test_several_operations_of_a_step_are_one_card(tmp_path: Path) -> None:
    """A batch in their order; each is reported."""
    async with a_flow_world(tmp_path, PLAN, CLERK) as (world, _):
        world.model.will(propose(RAISE, NOTE))
        await world.work(start())
        (shown,) = cards(world)
        await world.work(press(shown.body, key=RUN))
        assert index(world).status == "done"
        assert [method for method, _ in world.portal.written()] == ["crm.deal.update", "crm.timeline.comment.add"]
        assert [one["status"] for one in result(world)["payload"]["done"]] == ["succeeded", "succeeded"]


async def test_a_refused_operation_leads_to_the_handler_and_is_not_tried_again(tmp_path: Path) -> None:
    """With attempts left: a person has said no, so the agent is not asked for another proposal."""
    document = flow(step("work", failure="explain", maxAttempts=3), step("explain"), outputs=RESULT)
    async with a_flow_world(tmp_path, document, CLERK) as (world, _):
        world.model.will(propose(RAISE))
        await world.work(start())
        (shown,) = cards(world)
        world.model.will("не сделано")
        await world.work(press(shown.body, approve=False, key=RUN))
        assert (index(world).status, len(world.model.prompts), world.portal.written()) == ("done", 2, [])
        assert result(world)["failedSteps"] == ["work"]
        assert result(world)["payload"]["done"] == [{"method": "crm.deal.update", "status": "refused", "error": "A person has denied it."}]
        told = [notice for row in world.outbox() if row.kind == "reply" for notice in row.body["notices"]]
        assert [(one["code"], one["args"]) for one in told] == [("run-changes-left", {"made": 0, "left": 1, "why": "denied"})]
        (*_, end) = events(world, "RunFinished")
        assert (end.data.get("changes_made", 0), end.data["changes_left"]) == (0, 1)


async def test_what_a_rule_refuses_is_told_with_its_reason(tmp_path: Path) -> None:
    """No card says why, so the last message does, whatever the flow went on with."""
    other = {**RAISE, "params": {"id": 500, "fields": {"OPPORTUNITY": 1}}}
    document = flow(step("work", failure="explain"), step("explain"), outputs=RESULT)
    async with a_flow_world(tmp_path, document, CLERK) as (world, _):
        world.model.will(propose(other), "не сделано")
        await world.work(start())
        told = [notice["code"] for row in world.outbox() if row.kind == "reply" for notice in row.body["notices"]]
        assert told == ["run-changes-left", "gate-not-yours"]
        assert (index(world).status, world.portal.written()) == ("done", [])


async def test_the_reason_of_a_refusal_outlasts_the_wait_for_a_later_card(tmp_path: Path) -> None:
    """The run is played again after the press, and the step that was refused is not."""
    other = {**RAISE, "params": {"id": 500, "fields": {"OPPORTUNITY": 1}}}
    document = flow(step("work", failure="mend"), step("mend"), outputs=RESULT)
    async with a_flow_world(tmp_path, document, CLERK) as (world, _):
        world.model.will(propose(other), propose(RAISE))
        await world.work(start())
        (shown,) = cards(world)
        await world.work(press(shown.body, key=RUN))
        told = [notice["code"] for row in world.outbox() if row.kind == "reply" for notice in row.body["notices"]]
        assert told == ["run-changes-left", "gate-not-yours"]
        assert index(world).status == "done"


async def test_a_person_s_retry_asks_anew_and_not_the_agent(tmp_path: Path) -> None:
    """The answer stays, for it was paid; the card is a new one, and one press does one write."""
    async with a_flow_world(tmp_path, PLAN, CLERK) as (world, _):
        world.model.will(propose(RAISE))
        await world.work(start())
        (shown,) = cards(world)
        await world.work(press(shown.body, approve=False, key=RUN))
        assert (index(world).status, find_reason(world)) == ("failed", "refused")
        await world.work(order("retry"))
        (again,) = cards(world)
        await world.work(press(again.body, key=RUN))
        assert (index(world).status, len(world.model.prompts), len(world.portal.written())) == ("done", 1, 1)


async def test_an_unknown_outcome_waits_and_is_not_written_again(tmp_path: Path) -> None:
    """Once the portal shows the value the flow goes on."""
    async with a_flow_world(tmp_path, PLAN, CLERK) as (world, _):
        world.model.will(propose(RAISE))
        await world.work(start())
        (shown,) = cards(world)
        world.portal.will("crm.deal.update", lost)
        await world.work(press(shown.body, key=RUN))
        for _ in range(10):
            if index(world).status != "waiting":
                break
            world.clock.advance(worker.IDLE)
            await world.work()
        assert (index(world).status, len(world.portal.written("crm.deal.update"))) == ("done", 1)


async def cut_short(_portal: Portal, _method: str, _params: dict[str, Any]) -> httpx.Response:
    """An answer that says of the second command neither that it was done nor that it failed."""
    told = {"result": {"op01": True}, "result_error": [], "result_total": [], "result_next": [], "result_time": []}
    return httpx.Response(200, json={"result": told, "time": {"operating": 0}})


async def test_nothing_follows_on_a_batch_of_which_a_part_is_unknown(tmp_path: Path) -> None:
    """Another step might propose the same in other words; the person is told to look, and a retry does not write it again."""
    document = flow(step("work", failure="b"), step("b"), outputs=RESULT)
    async with a_flow_world(tmp_path, document, CLERK) as (world, _):
        world.model.will(propose(RAISE, NOTE))
        await world.work(start())
        (shown,) = cards(world)
        world.portal.will("batch", cut_short)
        await world.work(press(shown.body, key=RUN))
        await world.work(order("retry"))
        ends = [one.data["code"] for one in events(world, "RunFinished")]
        assert (set(ends), len(world.model.prompts)) == ({"flow-outcome-unknown"}, 1)
        assert [method for method, _ in world.portal.requests].count("batch") == 1


async def test_in_shadow_the_flow_plans_and_goes_on(tmp_path: Path) -> None:
    """Nothing is called; the output says that it was planned."""
    async with a_flow_world(tmp_path, PLAN, CLERK, mode="shadow") as (world, _):
        world.model.will(propose(RAISE, NOTE))
        await world.work(start())
        assert (index(world).status, world.portal.written()) == ("done", [])
        assert [one["status"] for one in result(world)["payload"]["done"]] == ["planned", "planned"]


@pytest.mark.parametrize(("operations", "reason"), [
    ({"method": "crm.deal.update"}, "operations is no list"),
    ([1], "operation 1 is no object"),
    ([RAISE, {"method": "crm.deal.delete", "params": {"id": 481}}], "operation 2 has another method"),
    ([{"method": "batch", "params": {"cmd": {"a": "crm.deal.delete?id=481"}}}], "operation 1 has another method"),
    ([{"params": {}}], "operation 1 has another method"),
    ([{"method": "crm.deal.update", "params": "id=481"}], "the params of operation 1 are no object"),
    ([{"method": "crm.deal.update", "params": {"id": 481, "fields": {"a&b": 1, "c[d": 2}}}, RAISE], "an operation cannot be written"),
    ([RAISE] * (MOST_OPERATIONS + 1), f"there are {MOST_OPERATIONS + 1} operations"),
])  # fmt: skip
async def test_operations_that_cannot_be_taken_are_told_to_the_agent_and_none_is_done(tmp_path: Path, operations: Any, reason: str) -> None:
    """All or none; the next attempt knows why."""
    async with a_flow_world(tmp_path, flow(step("work", maxAttempts=2), outputs=RESULT), CLERK) as (world, _):
        world.model.will(dumps({"operations": operations}), "без изменений")
        await world.work(start())
        assert cards(world) == []
        world.clock.advance(timedelta(seconds=1.1))
        await world.work()
        assert (index(world).status, world.portal.written()) == ("done", [])
        assert reason in str(world.model.prompts[1][-1]["content"])


async def test_operations_of_the_last_attempt_that_cannot_be_taken_fail_the_step_by_name(tmp_path: Path) -> None:
    """Without a further attempt."""
    async with a_flow_world(tmp_path, PLAN, CLERK) as (world, _):
        world.model.will(propose({"method": "crm.deal.delete", "params": {"id": 481}}))
        await world.work(start())
        assert (index(world).status, find_reason(world), world.portal.written()) == ("failed", "operations", [])


async def test_an_agent_without_effects_changes_nothing_whatever_it_answers(tmp_path: Path) -> None:
    """The field is then data as every other, and the agent is not told of operations."""
    async with a_flow_world(tmp_path, PLAN, {"writer": agent()}) as (world, _):
        world.model.will(propose(RAISE))
        await world.work(start())
        assert (index(world).status, cards(world), world.portal.written()) == ("done", [], [])
        assert result(world)["payload"]["done"] == [RAISE]
        assert "operations" not in str(world.model.prompts[0])


async def find(_question: str, **_asker: object) -> DocumentAnswer:
    return DocumentAnswer(answer="Здравствуйте")


@pytest.mark.parametrize("answer", [" ", propose({"method": "crm.deal.delete", "params": {}})], ids=["empty", "unfit"])
async def test_what_an_attempt_in_vain_has_read_makes_a_later_step_ask(tmp_path: Path, answer: str) -> None:
    """A document brings the model to no usable answer, and so decides the way: the harmless write of the step that follows asks."""
    agents = {"writer": MAKER, "reader": agent("Ты читаешь.", tools=["rag_search"], effects=["crm.lead.add"])}
    document = flow({**step("read", failure="work"), "agentVersionId": "reader"}, step("work"))
    async with a_flow_world(tmp_path, document, agents, find_documents=find) as (world, _):
        world.model.will(call("rag_search", question="Что?"), answer, propose(LEAD))
        await world.work(start())
        assert (reasons(world), world.portal.written()) == (["gate-taint-prose"], [])


async def test_what_an_attempt_in_vain_has_read_makes_the_next_one_ask(tmp_path: Path) -> None:
    """Although the second attempt reads nothing; without having read, such a write needs nobody."""
    both = agent("Ты оба.", tools=["rag_search"], effects=["crm.lead.add"])
    async with a_flow_world(tmp_path / "a", flow(step("work", maxAttempts=2)), {"writer": both}, find_documents=find) as (world, _):
        world.model.will(call("rag_search", question="Что?"), " ", propose(LEAD))
        await world.work(start())
        world.clock.advance(timedelta(seconds=1.1))
        await world.work()
        assert (reasons(world), world.portal.written()) == (["gate-taint-prose"], [])
        (answer,) = [one for one in events(world, "NodeDone") if one.data["node"] == "work/1/2"]
        assert "document" in answer.data["origins"], "what it leaves in memory counts as made of the document, too"
    async with a_flow_world(tmp_path / "b", PLAN, {"writer": both}) as (world, _):
        world.model.will(propose(LEAD))
        await world.work(start())
        assert (cards(world), len(world.portal.written())) == ([], 1)


async def test_a_retry_does_not_open_a_failure_again_from_which_the_flow_recovered(tmp_path: Path) -> None:
    """Another step did its part: otherwise both would be written."""
    steps = (step("a", failure="b"), step("b", success="c"), {**step("c"), "agentVersionId": "plain"})
    async with a_flow_world(tmp_path, flow(*steps), {"writer": MAKER, "plain": agent()}) as (world, _):
        world.model.will(SILENT, propose(LEAD), SILENT)
        await world.work(start())
        assert (index(world).status, len(world.portal.written())) == ("failed", 1)
        world.model.will("конец")
        await world.work(order("retry"))
        world.clock.advance(timedelta(seconds=1.1))
        await world.work()
        assert (index(world).status, len(world.portal.written()), len(world.model.prompts)) == ("done", 1, 4)
        assert result(world)["failedSteps"] == ["a"]


async def test_a_refusal_from_which_the_flow_recovered_is_not_asked_about_again(tmp_path: Path) -> None:
    """And what became of it still stands in the result."""
    steps = (step("work", failure="b"), {**step("b"), "agentVersionId": "plain"})
    async with a_flow_world(tmp_path, flow(*steps, outputs=RESULT), {**CLERK, "plain": agent()}) as (world, _):
        world.model.will(propose(RAISE), SILENT)
        await world.work(start())
        (shown,) = cards(world)
        await world.work(press(shown.body, approve=False, key=RUN))
        assert index(world).status == "failed"
        world.model.will("конец")
        await world.work(order("retry"))
        world.clock.advance(timedelta(seconds=1.1))
        await world.work()
        asked = [row for row in cards(world) if row.body["status"] == "requested"]
        assert (index(world).status, asked, world.portal.written()) == ("done", [], [])
        assert result(world)["payload"]["done"][0]["status"] == "refused"


async def test_what_was_read_from_strangers_makes_a_later_step_ask_that_read_nothing(tmp_path: Path) -> None:
    """A comment that a customer wrote may have decided which way the flow went; the card says that it was read."""
    reader = {**CLERK, "reader": agent("Ты читаешь.", tools=["rag_search"])}
    note = propose({"method": "crm.timeline.comment.add", "params": {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 482, "COMMENT": "Ок"}}})
    first = {**step("read", success="work"), "agentVersionId": "reader"}
    async with a_flow_world(tmp_path / "a", PLAN, CLERK) as (world, _):
        world.model.will(note)
        await world.work(start())
        alone = reasons(world)
    async with a_flow_world(tmp_path / "b", flow(first, step("work"), outputs=RESULT), reader, find_documents=find) as (world, _):
        world.model.will(call("rag_search", question="Что?"), "прочитано", note)
        await world.work(start())
        after = reasons(world)
        assert world.portal.written() == []
    assert (alone, after) == (["gate-taint-target"], ["gate-taint-prose", "gate-taint-target"])
