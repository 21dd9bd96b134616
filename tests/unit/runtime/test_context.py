"""What an engine is given: recorded answers after a restart, calls heard to their end, everything on the audit record."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.domain.effect import CommandReport, Outcome, Pending
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.engines.base import TurnContext, TurnEnd, TurnInput, TurnModelRequest
from orchestrator.sessions.iterations import build_call_record
from orchestrator.sessions.recorded_turn import RecordedTurn
from orchestrator.sessions.session import Session
from orchestrator.sessions.turn_context import Context, TurnServices
from orchestrator.turns.turn import run_until_stopped
from state.events.conversation import ModelAnswered
from tests.unit.spine_kit import ANNA, World, effect, message, reply, step
from tests.unit.spine_portal import Held

TASK = ("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})


def context(world: World, session: Session, **more: Any) -> Context:
    async def partial(text: str) -> None:
        world.partials.append(text)

    reach = TurnServices(gate=world.gate, model=world.tools.model, queries=world.tools.queries, show_partial=partial)
    turn = TurnInput(turn_id="t1", text="создай задачу")
    return Context(session, turn, actor=ANNA, mode="full", reach=reach, **{"recorded": RecordedTurn(), **more})


def ask(number: int = 1) -> TurnModelRequest:
    return TurnModelRequest(iteration=number, messages=[{"role": "user", "content": "?"}])


@pytest.mark.req("S004-1", "S004-7")
async def test_an_answer_is_recorded_before_it_is_used(world: World, session: Session) -> None:
    """Before the engine acts on it or the model is asked again, the journal has it."""
    made = context(world, session)
    world.model.will(reply(), reply())
    answer = await made.ask_model(ask())
    assert (world.types(), session.seq) == ([], 2)
    await made.ask_model(replace(ask(), iteration=2))
    assert world.types() == ["ModelAsked", "ModelAnswered"]
    data = world.events()[1].data
    assert (data["text"], data["iteration"], data["prompt_tokens"], data["model"]) == (answer.text, 1, 10, "scripted")
    assert not answer.recorded
    assert made.iterations[0].tokens == {"prompt": 10, "completion": 5}


async def test_a_recorded_answer_is_not_asked_for_again(world: World, session: Session) -> None:
    """After a restart the model is not paid twice for one input."""
    made = context(world, session, recorded=RecordedTurn(answers={1: ModelAnswered(turn_id="", iteration=1, text="раньше", model="m")}))
    answer = await made.ask_model(ask())
    assert (answer.text, answer.recorded) == ("раньше", True)
    assert (world.model.prompts, world.types()) == ([], [])
    assert made.iterations[0].raw == "раньше"


@pytest.mark.req("S004-20", "S004-21")
async def test_a_failure_of_the_model_is_recorded_and_raised(world: World, session: Session) -> None:
    """With its reason."""
    world.model.will(ModelClientError("no key"))
    with pytest.raises(ModelClientError):
        await context(world, session).ask_model(ask())
    await session.flush()
    assert [(event.type, event.data.get("reason")) for event in world.events()] == [("ModelAsked", None), ("ModelFailed", "no key")]


async def test_a_call_on_its_way_is_heard_to_its_end(world: World, session: Session) -> None:
    """Stopped once, twice, thrice: the call ends, its outcome is stored and noted, then the stop is heard."""
    made = context(world, session)
    held = Held()
    world.portal.will("tasks.task.add", held)
    task = asyncio.ensure_future(made.submit(effect(*TASK)))
    made.set_cancel_callback(task.cancel)
    await held.arrived.wait()
    for _ in range(3):
        made.stop()
        await asyncio.sleep(0)
    assert made.stopped
    assert not task.done()
    held.release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.types() == ["CallStarted", "CallSucceeded"]
    assert [item.status for item in made.results if isinstance(item, Outcome)] == ["succeeded"]


class Thinking:
    """An engine that thinks until somebody lets it answer."""

    def __init__(self) -> None:
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()

    async def run(self, ctx: TurnContext) -> TurnEnd:
        """Answer once it may."""
        self.begun.set()
        await self.may_end.wait()
        return TurnEnd(reason="answered", reply=Reply(turn_id=ctx.turn.turn_id))


@pytest.mark.parametrize("stops", [0, 1, 2])
async def test_a_stop_cancels_the_engine_and_nothing_after_it(world: World, stops: int) -> None:
    """What the task of the turn does afterwards is neither cancelled by that stop nor by one that comes too late."""
    made, engine = context(world, await world.session()), Thinking()

    async def work() -> tuple[bool, int]:
        end = await run_until_stopped(engine, made)
        made.stop()
        await asyncio.sleep(0)
        task = asyncio.current_task()
        return end is None, task.cancelling()

    task = asyncio.ensure_future(work())
    await engine.begun.wait()
    for _ in range(stops):
        made.stop()
    engine.may_end.set()
    assert await task == (stops > 0, 0)


async def test_a_shutdown_is_no_stop(world: World) -> None:
    """A turn that nobody has stopped is left to the next start."""
    made, engine = context(world, await world.session()), Thinking()
    task = asyncio.ensure_future(run_until_stopped(engine, made))
    await engine.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(("fresh", "slot", "looks"), [(True, "t1/1/1", 1), (False, "t1/1/1", 2), (True, "t0/1/1", 2)])
async def test_a_place_of_a_fresh_turn_is_looked_up_from_its_second_time_on(
    world: World, session: Session, monkeypatch: pytest.MonkeyPatch, *, fresh: bool, slot: str, looks: int
) -> None:
    """Nothing can be stored of it before; a resumed turn, and a place that is not of this turn, are looked up. None runs twice."""
    made = context(world, session, recorded=RecordedTurn(is_fresh=fresh))
    looked_at, stored = [], world.sql.find_effect

    def seen(effect_id: str) -> Any:
        looked_at.append(effect_id)
        return stored(effect_id)

    monkeypatch.setattr(world.sql, "find_effect", seen)
    first, second = [await made.submit(effect(*TASK, slot=slot)) for _ in range(2)]
    assert (first.status, second.status, first.effect_id) == ("succeeded", "succeeded", second.effect_id)  # type: ignore[union-attr]
    assert len(looked_at) == looks
    assert world.types() == ["CallStarted", "CallSucceeded"]


async def test_what_the_engine_sees(world: World, session: Session) -> None:
    """Time, state, policy and queries are those of the session."""
    made = context(world, session)
    assert (made.now, made.state, made.halt_on_block) == (session.now, session.state, False)
    when = await made.query("when", actor=ANNA)
    assert (when["zone"], when["periods"]["last month"]) == ("Europe/Moscow", "2026-10-01..2026-10-31")
    with pytest.raises(KeyError):
        await made.query("nothing")
    await made.show_partial("Смотрю")
    assert world.partials == ["Смотрю"]
    made.stop()


async def test_blocks_are_kept_by_iteration(world: World, session: Session) -> None:
    """Noted for the present iteration, or for a new one where none was asked for."""
    made = context(world, session)
    made.record_iteration(1, {"thought": "a"})
    made.record_iteration(1, {"thought": "b"})
    made.record_iteration(2, {"thought": "c"})
    assert [(item.number, item.blocks["thought"]) for item in made.iterations] == [(1, "b"), (2, "c")]


@pytest.mark.req("S004-45", "S004-46", "S004-71")
@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            Outcome(status="succeeded", effect_id="e", method="m", call_class="W", result=5, call={"a": 1}),
            {"status": "succeeded", "params": {"a": 1}, "class": "W", "answer": 5},
        ),
        (
            Outcome(status="succeeded", effect_id="e", method="m", commands=(CommandReport(key="a", method="x", status="success"),)),
            {"status": "succeeded", "commands": [{"key": "a", "method": "x", "status": "success", "error": ""}], "answer": None},
        ),
        (
            Outcome(status="refused", effect_id="e", method="m", reason=Notice(code="gate-mode"), detail="no"),
            {"status": "refused", "reason": "gate-mode", "detail": "no"},
        ),
        (Outcome(status="planned", effect_id="e", method="m", detail="shadow"), {"status": "planned", "reason": "", "detail": "shadow"}),
        (
            Pending(effect_id="e", confirmation_id="c", method="m", reasons=(Notice(code="gate-critical"),)),
            {"status": "waiting", "confirmation_id": "c", "reasons": ["gate-critical"]},
        ),
    ],
)
def test_the_audit_record_of_a_call(result: Outcome | Pending, said: dict[str, Any]) -> None:
    """Request, answer, reason: whatever became of it."""
    record = build_call_record(effect("m", {"p": 1}), result)
    assert record["call_id"] == "e"
    assert record["proposed"] == {"p": 1}
    assert said.items() <= record.items()


@pytest.mark.req("S004-43", "S004-44", "S004-45", "S004-46", "S004-47", "S004-48", "S004-X9")
async def test_each_iteration_is_one_audit_record(world: World, session: Session) -> None:
    """Input, blocks, requests, answers, state, who, how much: one JSON line an iteration."""
    world.model.will(reply(step(*TASK), text="Создаю."), reply(text="Готово."))
    await world.turn(session, message("создай задачу"))
    records = [json.loads(line) for line in world.audit().splitlines()]
    assert [(item["type"], item["iteration"]) for item in records] == [("iteration", 1), ("iteration", 2)]
    first = records[0]
    assert first["user_message"] == "создай задачу"
    assert first["model_response"]["thought"] == "думаю"
    assert first["executed_actions"][0]["method"] == "tasks.task.add"
    assert first["executed_actions"][0]["params"]["fields"]["RESPONSIBLE_ID"] == 7
    assert first["executed_actions"][0]["answer"]["task"]["id"] == "9001"
    assert first["state"]["objects"]["current_task_id"] == 9001
    assert first["timestamp"].endswith("Z")
    assert first["requested_by"]["key"] == ANNA.key
    assert first["tokens"] == {"prompt": 10, "completion": 5}
