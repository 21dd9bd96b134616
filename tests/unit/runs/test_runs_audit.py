"""The audit log names run and node of everything that a run did, and the journal alone can tell it again."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from orchestrator.domain.actor import Mode
from orchestrator.engines.runs import RunContext, RunEffect, RunResult
from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from orchestrator.sessions.audit import Audit, PlayedNode
from state.audit_log.interaction_log import InteractionLogger, list_users, read_records
from tests.fixed_clock import FixedClock
from tests.unit.runs.function_kit import a_function_world
from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, steps
from tests.unit.runs.test_runs_wait import click, order
from tests.unit.spine_kit import ANNA, NOW, World, message, press, raise_sum, reply, step
from tests.unit.spine_portal import lost

pytestmark = pytest.mark.req("S004-43", "S004-44", "S004-45", "S004-46", "S004-47", "G1")

SCHEMA = Path(__file__).parents[3] / "docs" / "audit-record.schema.json"
WRITE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
PLAN = steps(
    {"say": "Начинаю"},
    {"model": "скажи что-нибудь"},
    {"write": "crm.deal.get", "params": {"id": 481}},
    WRITE,
    {"ask": "Как зовут клиента?"},
)
UNTOLD = {"chain", "rebuilt", "timestamp", "trace_id"}
"""What a rebuilt record may have otherwise: its place and time, and the input that it goes back to."""


async def work_through(world: World, *, answers: bool = True) -> None:
    """The whole plan: a card is approved, and the question answered."""
    world.model.will("привет")
    await world.work(start("plan"))
    for card in [row.body for row in world.outbox() if row.kind == "card"]:
        await world.work(press(card, key=RUN))
    if answers:
        await world.work(message("Ольга"))


def records(folder: Path) -> list[dict[str, Any]]:
    return [record for user in list_users(folder) for record in read_records(folder, user)]


@pytest.mark.parametrize("mode", ["full", "shadow"])
async def test_each_node_has_a_record_of_its_own(tmp_path: Path, mode: Mode) -> None:
    """Every record fits the published schema and names the run; the nodes stand in the order in which they were done."""
    async with a_run_world(tmp_path, {"plan": PLAN}, mode=mode) as world:
        await work_through(world)
        world.tools.audit.wait()
    found = records(tmp_path / "logs")
    validator = Draft202012Validator(orjson.loads(SCHEMA.read_bytes()))
    assert [error.message for record in found for error in validator.iter_errors(record)] == []
    nodes = [record for record in found if record["type"] == "node"]
    assert {record["run"] for record in nodes} == {RUN}
    told = [(one["node"], one["what"], [call["status"] for call in one["executed_actions"]]) for one in nodes]
    write = [["waiting"], ["succeeded"]] if mode == "full" else [["planned"]]
    assert told == [
        ("say/s0", "say", []), ("s1", "model", []), ("s2", "effect", ["succeeded" if mode == "full" else "planned"]),
        *(("s3", "effect", status) for status in write), ("s4", "input", []),
    ]  # fmt: skip
    assert nodes[1]["model_response"] == {"raw": "привет"}


@pytest.mark.parametrize("mode", ["full", "shadow"])
async def test_the_records_of_nodes_come_back_from_the_journal(tmp_path: Path, mode: Mode) -> None:
    """Field by field; only what the model or the author proposed is told as it was judged."""
    async with a_run_world(tmp_path, {"plan": PLAN}, mode=mode) as world:
        await work_through(world)
        world.tools.audit.wait()
        rebuild_logs(world.sql, tmp_path / "rebuilt")
    before, after = ([one for one in records(tmp_path / name) if one["type"] == "node"] for name in ("logs", "rebuilt"))
    for old, new in zip(before, after, strict=True):
        for record in (old, new):
            for call in record["executed_actions"]:
                call.pop("proposed")
        for key in (old.keys() | new.keys()) - UNTOLD:
            assert new.get(key) == old.get(key), (old["node"], key)
    validator = Draft202012Validator(orjson.loads(SCHEMA.read_bytes()))
    assert [error.message for record in records(tmp_path / "rebuilt") for error in validator.iter_errors(record)] == []


async def test_a_call_whose_answer_was_lost_is_recorded_as_unknown(tmp_path: Path) -> None:
    """The node waits, and its record says that the call may have happened."""
    plan = steps({"write": "tasks.task.add", "params": {"fields": {"TITLE": "Счёт", "RESPONSIBLE_ID": 7}}})
    async with a_run_world(tmp_path, {"plan": plan}) as world:
        world.portal.will("tasks.task.add", lost)
        await world.work(start("plan"))
        for card in [row.body for row in world.outbox() if row.kind == "card"]:
            await world.work(press(card, key=RUN))
        world.tools.audit.wait()
        rebuild_logs(world.sql, tmp_path / "rebuilt")
    for name in ("logs", "rebuilt"):
        calls = [call for one in records(tmp_path / name) if one["type"] == "node" for call in one["executed_actions"]]
        assert [call["reason"] for call in calls if call["status"] == "unknown"] == ["outcome-unknown"], name


async def test_a_turn_inside_of_a_run_is_recorded_like_one_in_a_chat(tmp_path: Path) -> None:
    """Each answer of the model has its record, whose turn is named by run and node; the journal tells the same."""
    async with a_run_world(tmp_path, {"plan": steps({"turn": "подними сумму сделки 481 до 1 200 000"})}) as world:
        world.model.will(reply(raise_sum()))
        await world.work(start("plan"))
        world.tools.audit.wait()
        rebuild_logs(world.sql, tmp_path / "rebuilt")
    [old] = [one for one in records(tmp_path / "logs") if one["type"] == "iteration"]
    [new] = [one for one in records(tmp_path / "rebuilt") if one["type"] == "iteration"]
    assert [one["type"] for one in records(tmp_path / "rebuilt")] == [one["type"] for one in records(tmp_path / "logs")]
    assert (old["turn_id"], old["session"], old["user_message"]) == (f"{RUN}/s0", RUN, "подними сумму сделки 481 до 1 200 000")
    assert [call["status"] for call in old["executed_actions"]] == ["waiting"]
    for key in (old.keys() | new.keys()) - UNTOLD:
        assert new.get(key) == old.get(key), key
    validator = Draft202012Validator(orjson.loads(SCHEMA.read_bytes()))
    assert [error.message for one in (old, new) for error in validator.iter_errors(one)] == []


async def test_a_card_that_the_end_of_its_run_withdraws_was_decided_by_nobody(tmp_path: Path) -> None:
    """Neither the log nor what is rebuilt of it says that the owner denied the card."""
    async with a_run_world(tmp_path, {"plan": steps(WRITE)}) as world:
        await world.work(start("plan"))
        await world.work(order("cancel"))
        assert (index(world).status, [one.data["via"] for one in events(world, "ConfirmationDenied")]) == ("cancelled", ["run"])
        world.tools.audit.wait()
        rebuild_logs(world.sql, tmp_path / "rebuilt")
    for name in ("logs", "rebuilt"):
        assert [one["type"] for one in records(tmp_path / name)] == ["node"], name


@pytest.mark.parametrize("mode", ["full", "shadow"])
async def test_a_trial_has_no_record_unless_it_was_refused(tmp_path: Path, mode: Mode) -> None:
    """A workflow tries whether the gate would take a change before it shows the card: only what was refused is told, also anew."""
    change = {"id": 481, "fields": {"COMMENTS": "звонил"}}

    async def play(ctx: RunContext) -> RunResult:
        await ctx.submit("tried", RunEffect(method="crm.deal.update", params=change, is_trial=True))
        await ctx.submit("refused", RunEffect(method="crm.deal.delete", params={"id": 481}, is_trial=True))
        await ctx.submit("done", RunEffect(method="crm.deal.get", params={"id": 481}))
        return RunResult()

    async with a_function_world(tmp_path, play, mode=mode) as world:
        await world.work(start("plan"))
        world.tools.audit.wait()
        rebuild_logs(world.sql, tmp_path / "rebuilt")
    for name in ("logs", "rebuilt"):
        assert [one["node"] for one in records(tmp_path / name)] == ["refused", "done"], name


async def test_a_turn_that_asked_and_what_went_on_with_the_answer_come_back(tmp_path: Path) -> None:
    """Both have the request; the second works on the plan of the first one's answer of the model."""
    text = "передай сделку 481 Анне"
    async with a_run_world(tmp_path, {"plan": steps({"turn": text})}) as world:
        world.model.will(reply(step("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": "@user:Анна"}})))
        await world.work(start("plan"))
        (row,) = world.outbox()
        await world.work(click(*row.body["actions"][0]["words"]))
        world.tools.audit.wait()
        rebuild_logs(world.sql, tmp_path / "rebuilt")
    before, after = (sorted(records(tmp_path / name), key=lambda one: one["type"]) for name in ("logs", "rebuilt"))
    assert [(one.get("turn_id"), one.get("user_message")) for one in before if one["type"] == "iteration"] == [
        (f"{RUN}/s0", text),
        (f"{RUN}/s0/2", text),
    ]
    for old, new in zip(before, after, strict=True):
        for call in (*old["executed_actions"], *new["executed_actions"]):
            call.pop("proposed")
        for key in (old.keys() | new.keys()) - UNTOLD - {"mode"}:
            assert new.get(key) == old.get(key), (old.get("turn_id"), key)


async def test_that_the_run_goes_on_after_a_refusal_is_no_node(tmp_path: Path) -> None:
    """The log has no record of it, and neither has what is rebuilt."""

    async def play(ctx: RunContext) -> RunResult:
        await ctx.submit("refused", RunEffect(method="crm.deal.delete", params={"id": 481}))
        await ctx.accept_refusal("refused")
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        world.tools.audit.wait()
        rebuild_logs(world.sql, tmp_path / "rebuilt")
    for name in ("logs", "rebuilt"):
        assert [one["node"] for one in records(tmp_path / name)] == ["refused"], name


async def test_records_of_nodes_are_written_together_and_masked_one_by_one(tmp_path: Path) -> None:
    """More nodes than one write takes keep their order, and of all of them only the one with a secret is changed."""
    log = InteractionLogger(tmp_path, clock=FixedClock(NOW))
    audit = Audit(log, FixedClock(NOW))
    secret = "https://crm.example.ru/rest/1/abcdefgh12345678/"
    nodes = [PlayedNode(node=str(number), what="memo", text=secret if number == 7 else "привет") for number in range(250)]
    await audit.record_nodes(nodes, actor=ANNA, run=RUN, definition="plan", engine="steps", mode="full")
    audit.wait()
    found = records(tmp_path)

    assert [record["node"] for record in found] == [str(number) for number in range(250)]
    texts = {record["node"]: record["model_response"]["raw"] for record in found}
    assert "abcdefgh12345678" not in texts.pop("7")
    assert set(texts.values()) == {"привет"}
