"""Whatever a model answers, a flow ends in a way that has a name: empty, cut off, far too long, no JSON, JSON of odd shapes."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engines.flows.core.tools import MOST_CALLS, MOST_ROUNDS
from orchestrator.domain.models import ModelAnswer, UnusableAnswer
from orchestrator.model_client.answer import MAX_CHARACTERS
from state.canonical import dumps
from tests.unit.engines.flows.flow_kit import a_flow_world, agent, find_reason, flow, result, start, step
from tests.unit.engines.tool_agent.ask_kit import call, say
from tests.unit.runs.runs_kit import events, index
from tests.unit.spine_kit import World

CUT = UnusableAnswer("The model's answer was cut off.")
LONG = UnusableAnswer(f"The model's answer is longer than {MAX_CHARACTERS} characters.")
CLERK = {"writer": agent("Ты секретарь.", effects=["crm.deal.update"], tools=["crm.deal.get", "calculate"])}
RESULT = {"resultPayload": {"content": "$steps.work.output.content", "field": "$steps.work.output.draft"}}


async def play(world: World, *answers: Any) -> None:
    """Play the flow to its end with these answers."""
    world.model.will(*answers)
    await world.work(start())
    for _ in answers:
        world.clock.advance(timedelta(seconds=1.1))
        await world.work()


@pytest.mark.req("S002-40", "S002-X7")
@pytest.mark.parametrize("agents", [{"writer": agent()}, CLERK], ids=["plain", "with tools"])
@pytest.mark.parametrize(
    ("answer", "reason"), [(CUT, "silent"), (LONG, "silent"), ("", "empty"), (" \n\t ", "empty"), (say(), "empty")], ids=range(5)
)
async def test_an_answer_that_cannot_be_used_costs_an_attempt_and_the_last_one_has_a_name(
    tmp_path: Path, agents: dict[str, Any], answer: str | Exception | ModelAnswer, reason: str
) -> None:
    """Two attempts, two questions, and a person reads why; the next attempt may be better."""
    document = flow(step("work", maxAttempts=2), outputs=RESULT)
    async with a_flow_world(tmp_path / "a", document, agents) as (world, _):
        await play(world, answer, answer)
        assert (index(world).status, len(world.model.prompts), find_reason(world)) == ("failed", 2, reason)
    async with a_flow_world(tmp_path / "b", document, agents) as (world, _):
        await play(world, answer, "готово")
        assert (index(world).status, result(world)["payload"]["content"]) == ("done", "готово")


@pytest.mark.req("S002-43", "S002-A9")
@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("просто текст", None), ('{"draft": "да"} и ещё', "да"), ('Вот: {"draft": "да",}', "да"),
        ('```json\n{"draft": "да",}\n```\nГотово', "да"), ('[{"draft": "да"}]', None), ("null", None),
        ('{"draft": 40702810900000012345}', "40702810900000012345"), ('{"draft": {"a": [1]}}', {"a": [1]}),
        ('```json\n{"draft": "да"}\n```', "да"), ('{"content": "чужое", "draft": "да"}', "да"), ("{" * 100_000, None),
        ('{"draft": 1152921504606846976}', "1152921504606846976"), ('{"draft": "да\\u0000"}', "да\ufffd"),
    ],
    ids=range(13),
)  # fmt: skip
async def test_an_answer_that_is_no_json_object_has_content_and_no_fields(tmp_path: Path, text: str, field: object) -> None:
    """The content is always the whole answer, whatever shape it has and however deep it is; what no journal holds in fields is text."""
    document = flow(
        step("work", success="end", memoryWrites=[{"channel": "log"}]), step("end", memoryReads=[{"channel": "log"}]), outputs=RESULT
    )
    async with a_flow_world(tmp_path, document) as (world, _):
        await play(world, text, "конец")
        assert index(world).status == "done"
        assert result(world)["payload"] == {"content": text, "field": field}


UNREADABLE = [
    '{"draft": "да"', '{"draft": [1, 2', '{"draft": NaN}', '{"draft": 1e999}', "{'draft': 'да'}", '{"draft": "да"} или {"draft": "нет"}',
    '{"draft": "да", "draft": "нет"}', '{"a":' * 50_000 + "1" + "}" * 50_000, '{"draft":' * 101 + "1" + "}" * 101,
]  # fmt: skip


@pytest.mark.req("S002-40", "S002-43", "S002-A9")
@pytest.mark.parametrize("text", UNREADABLE, ids=range(len(UNREADABLE)))
async def test_json_that_cannot_be_read_is_asked_for_once_more_and_fails_the_step(tmp_path: Path, text: str) -> None:
    """Where the result takes a field of it: the agent is told why, and a second such answer ends the step by name; it gave null."""
    document = flow(step("work"), outputs=RESULT)
    async with a_flow_world(tmp_path / "a", document) as (world, _):
        await play(world, text, '{"draft": "да"}')
        assert (index(world).status, result(world)["payload"]["field"]) == ("done", "да")
        assert "Your last answer could not be taken" in world.model.prompts[1][-1]["content"]
    async with a_flow_world(tmp_path / "b", document) as (world, _):
        await play(world, text, text)
        assert (index(world).status, len(world.model.prompts), find_reason(world)) == ("failed", 2, "json")
    async with a_flow_world(tmp_path / "c", flow(step("work"))) as (world, _):
        await play(world, text)
        assert index(world).status == "done"


@pytest.mark.req("S002-40")
async def test_operations_in_json_that_was_cut_off_are_asked_for_again(tmp_path: Path) -> None:
    """What an agent wants to change is not lost in silence, and what stands among words as if it were quoted is not proposed."""
    whole = dumps({"operations": [{"method": "crm.deal.update", "params": {"id": 481, "fields": {"TITLE": "Новое"}}}]})
    for wrong, reason in ((whole[:-3], "json"), (f"Вот пример: {whole}, так не делай", "operations")):
        async with a_flow_world(tmp_path / reason, flow(step("work", maxAttempts=2)), CLERK) as (world, _):
            await play(world, wrong, wrong)
            assert (index(world).status, find_reason(world)) == ("failed", reason)
            assert not events(world, "ConfirmationRequested")


@pytest.mark.req("S002-29", "S002-43")
async def test_the_longest_answers_reach_the_next_step_and_the_end(tmp_path: Path) -> None:
    """What the client lets through neither fails the run nor fills the chat."""
    text = "д" * MAX_CHARACTERS
    document = flow(
        step("work", success="end", memoryWrites=[{"channel": "log"}]), step("end", memoryReads=[{"channel": "log"}]), outputs=RESULT
    )
    async with a_flow_world(tmp_path, document) as (world, _):
        await play(world, text, text)
        assert (index(world).status, result(world)["payload"]["content"]) == ("done", text)
        shown = [dumps(row.body["parts"]) for row in world.outbox() if row.kind == "reply"]
        assert 10_000 < max(map(len, shown)) < 40_000


async def test_many_long_answers_are_quoted_as_far_as_there_is_room(tmp_path: Path) -> None:
    """A break of a line takes two characters of JSON; the last message holds the beginnings of the first answers."""
    names = [f"s{number}" for number in range(15)]
    steps = [step(name, success=following) for name, following in zip(names, [*names[1:], ""], strict=True)]
    async with a_flow_world(tmp_path, flow(*steps)) as (world, _):
        await play(world, *(f"{number}\n" * 20_000 for number in range(15)))
        assert index(world).status == "done"
        (last,) = [row.body["parts"] for row in world.outbox() if row.kind == "reply"]
        assert 3 < len(last) < 12
        assert all(part["text"].endswith(" …") for part in last)


async def test_an_answer_of_two_megabytes_ends_the_run_by_name(tmp_path: Path) -> None:
    """If a client let it through: nothing of it is stored."""
    async with a_flow_world(tmp_path, flow(step("work", maxAttempts=2))) as (world, _):
        await play(world, "д" * 2_000_001)
        (end,) = events(world, "RunFinished")
        assert (end.data["status"], end.data["code"]) == ("failed", "run-large-value")
        assert max(len(dumps(one.data)) for one in events(world)) < 10_000


@pytest.mark.long
@pytest.mark.parametrize("attempts", [1, 3])
async def test_a_model_that_calls_tools_for_ever_leaves_a_bounded_journal(tmp_path: Path, attempts: int) -> None:
    """So many questions and calls an attempt, and no more; each call of an answer has its own node."""
    many = say("", *(one for _ in range(MOST_CALLS) for one in call("crm_deal_get", params='{"id": 481}').calls))
    async with a_flow_world(tmp_path, flow(step("work", maxAttempts=attempts)), CLERK) as (world, _):
        await play(world, *[many] * MOST_ROUNDS * attempts)
        assert (index(world).status, find_reason(world)) == ("failed", "tools")
        nodes = [str(one.data["node"]) for one in events(world, "NodeDone")]
        assert len([one for one in nodes if "/call-" in one]) <= MOST_CALLS * MOST_ROUNDS * attempts
        assert len(world.model.prompts) == MOST_ROUNDS * attempts
