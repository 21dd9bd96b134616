"""`sdelka flow test`: a flow is played with the answers of its agents given, and what comes otherwise is said."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

import engines
from engines.flows.core.engine import FlowEngine
from engines.flows.playing import FlowCase, FlowPlayed, play_flow
from orchestrator.documents.reading import read_document
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.runtime import worker
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.flows.flow_kit import Agents, agent, flow, start, step
from tests.unit.engines.flows.terminal.flow_files import OFFER, call, write_files
from tests.unit.engines.scenarios.terminal.scenario_files import expect, stand_alone
from tests.unit.runs.runs_kit import RUN
from tests.unit.spine_kit import a_world

TESTS = """\
tests:
  - name: Второй ответ годится
    parameters: {client: Ромашка, budget: 5}
    context: {deal: 481}
    answers:
      draft: {each: [{failed: no answer}, {failed: late}, Черновик]}
      review: Готово
    expect:
      outcome: failed
      code: flow-step-failed
      path: [draft]
      failedSteps: [draft]
  - name: В чате
    inputs: [Ромашка, {press: Пропустить}]
    answers: {draft: {each: ["", Черновик]}, review: {offer: 5}}
    expect:
      path: [draft, review]
      failedSteps: []
      payload: {offer: '{"offer":5}'}
      operations: []
      messages: ["Для кого предложение?", budget]
"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings but defaults, and a folder of its own."""
    stand_alone(monkeypatch, tmp_path)


def write_tests(folder: Path, tests: str = TESTS) -> None:
    """Write the flow with its agents and these tests."""
    write_files(folder)
    (folder / "offer.test.yaml").write_text(tests, encoding="utf-8")


def call_json(*words: object) -> tuple[int, Any]:
    """The exit code and the one object of --json."""
    code, told = call(*words, "--json")
    return code, json.loads(told)


def test_the_tests_of_the_example_flows_are_green_and_take_every_way() -> None:
    """Who copies a flow copies tests with it that show each of its ends."""
    code, report = call_json("test", Path(engines.__file__).parent / "flows" / "examples")
    assert (code, report["not_reached"], report["transitions_not_reached"]) == (0, [], [])


def test_flows_are_played_with_their_coverage(tmp_path: Path) -> None:
    """Attempts, failures and empty answers in their order; steps and ways that no test took are named."""
    write_tests(tmp_path)
    told = expect(call("test", "offer.yaml"), 0)
    assert told == (
        "offer.yaml\n  ok  Второй ответ годится\n  ok  В чате\n"
        "  covers 2 of 2 steps (100 %)\n"
        "  covers 3 of 4 transitions (75 %); not reached: review -failure-> fail\n"
        "2 tests of 1 flow, 0 failed.\n"
    )
    assert call("test", ".")[0] == 0
    assert call("test", "offer.test.yaml")[0] == 0
    _, report = call_json("test", "offer.yaml")
    assert (report["steps"], report["not_reached"], report["transitions"]) == (2, [], 4)
    assert report["transitions_not_reached"] == ["review -failure-> fail"]
    assert [one["ok"] for one in report["tests"]] == [True, True]


@pytest.mark.parametrize(("before", "after", "what"), [
    ("path: [draft, review]", "path: [draft]", "      + review"),
    ("failedSteps: []", "failedSteps: [draft]", "      - draft"),
    ('{"offer":5}', '{"offer":6}', 'payload.offer: expected "{\\"offer\\":6}", came "{\\"offer\\":5}"'),
    ("review: {offer: 5}", "draft: x", "asks a model: give its answer as answers.review"),
    ('["", Черновик]', '[""]', "and answers.draft.each has no more"),
    ("{press: Пропустить}]", "{press: Пропустить}, ещё]", "inputs: the last 1 were not asked for"),
    ("code: flow-step-failed", "code: degraded", "expected failed degraded, came failed flow-step-failed"),
])  # fmt: skip
def test_what_comes_otherwise_is_shown(tmp_path: Path, before: str, after: str, what: str) -> None:
    """Each thing that a test says can turn it red."""
    changed = TESTS.replace('answers: {draft: {each: ["", Черновик]}, review: {offer: 5}}', "answers: {draft: x}")
    tests = changed if after == "draft: x" else TESTS.replace(before, after)
    assert tests != TESTS
    write_tests(tmp_path, tests)
    expect(call("test", "offer.yaml"), 1, what)


@pytest.mark.parametrize(("tests", "what", "meant"), [
    ("tests: [{name: x, answers: {darft: a}}]", 'there is no step "darft"', "draft"),
    ("tests: [{name: x, operations: {revew: 1}}]", 'there is no step "revew"', "review"),
    ("tests: [{name: x, calls: {revew: 1}}]", 'there is no step "revew"', "review"),
    ("tests: [{name: x, expect: {path: [draft, revue]}}]", 'there is no step "revue"', "review"),
    ("tests: [{name: x, expect: {failedSteps: [drft]}}]", 'there is no step "drft"', "draft"),
    ("tests: [{name: x, expect: {operations: [{step: drft, method: a}]}}]", 'there is no step "drft"', "draft"),
    ("tests: [{name: x, answer: {}}]", 'there is no field "answer"', ""),
    ("tests: []", "tests", ""),
])  # fmt: skip
def test_mistakes_in_tests_are_said_with_the_nearest_name(tmp_path: Path, tests: str, what: str, meant: str) -> None:
    """A misspelt step would otherwise be a mock that nobody takes."""
    write_tests(tmp_path, tests)
    told = expect(call("test", "offer.yaml"), 1, "FAILED: offer.test.yaml has mistakes", what)
    assert not meant or f"{meant}?" in told


def test_a_flow_or_an_agent_with_mistakes_is_not_played(tmp_path: Path) -> None:
    """The mistakes stand above."""
    write_tests(tmp_path)
    Path("writer.yaml").write_text("systemPrompt: [1]\n", encoding="utf-8")
    expect(call("test", "offer.yaml"), 1, "FAILED: the agent writer.yaml has mistakes")
    Path("offer.yaml").write_text(OFFER.replace("next: review", "next: nowhere"), encoding="utf-8")
    expect(call("test", "offer.yaml"), 1, "FAILED: the flow has mistakes")
    Path("lost.test.yaml").write_text("tests: [{name: x}]", encoding="utf-8")
    assert "lost.test.yaml has no flow beside it" in call("test", ".")[1]


def test_agents_without_a_file_are_named_and_their_answers_are_enough(tmp_path: Path) -> None:
    """Also agents that are in a folder of their own."""
    write_tests(tmp_path)
    Path("writer.yaml").unlink()
    Path("agents").mkdir()
    Path("reviewer.yaml").rename("agents/reviewer.yaml")
    expect(call("test", "offer.yaml"), 0, "  no file of writer: played with agents of which only the answers are known\n")


async def play(document: dict[str, Any], **fields: Any) -> FlowPlayed:
    return await play_flow("plan", document, {}, FlowCase.model_validate({"name": "x", "parameters": {}, **fields}))


async def test_a_failure_from_which_the_flow_recovers_is_on_the_path() -> None:
    """The handler follows, and what failed is named although the flow is done."""
    document = flow(step("a", success="b", failure="rescue", fail=False), step("b"), step("rescue", success="b"))
    played = await play(document, answers={"a": {"failed": "x"}, "rescue": "ok", "b": None})
    assert (played.path, played.failed_steps) == (["a", "rescue", "b"], ["a", "b"])
    assert (played.result.status, played.result.code) == ("failed", "flow-step-failed")


async def test_what_is_asked_before_the_first_step_fails_without_a_path() -> None:
    """A parameter that does not fit ends the start; what is wrong is said."""
    document = flow(step("a"), launchParameters=[{"name": "n", "type": "number"}])
    played = await play(document, parameters={"n": "x"}, answers={"a": "ok"})
    assert (played.path, played.result.code) == ([], "flow-parameter-unfit")


async def test_a_real_run_is_saved_as_a_test_that_is_green(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its owner reads the file, and an existing one stays; played beside the flow it comes as the run did."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    write_files(tmp_path)
    document = read_document(OFFER).require_document().data
    agents = Agents({"writer": agent(), "reviewer": agent()})
    engines = Engines(
        runs={"flow": RegisteredEngine(engine=FlowEngine(agents.find))},
        definitions=StaticDefinitions({("flow", "plan"): document}),
    )
    async with a_world(tmp_path, engines=engines, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as world:
        world.model.will("Черновик", "Готово")
        await world.work(start({"client": "Ромашка"}))
    expect(await asyncio.to_thread(call, "record", RUN[4:14], "--out", "offer.test.yaml"), 0)
    assert stat.S_IMODE((await asyncio.to_thread(Path("offer.test.yaml").stat)).st_mode) == 0o600
    expect(await asyncio.to_thread(call, "test", "offer.yaml"), 0, "covers 2 of 2 steps (100 %)")
    expect(await asyncio.to_thread(call, "record", RUN[4:14], "--out", "offer.test.yaml"), 2, "is not overwritten")
