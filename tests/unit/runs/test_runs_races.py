"""Two things that happen to a run at one moment end as if one had come first; nothing is lost that is seen early, or begun late."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from orchestrator.domain.errors import RunOver
from orchestrator.domain.outputs import build_reply
from orchestrator.domain.run_inputs import RunPlay
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed, RunResult
from orchestrator.gate.gate import Gate
from orchestrator.runs import ending
from orchestrator.runs.context import Context
from orchestrator.sessions.session import Session
from state.events.fold import list_open_confirmations
from state.events.runs import RunFinished, RunWaits
from state.journal.journal import load_state
from state.journal.run_index import RunFilter
from state.journal.store import Commit, InboxRow, Lane, StoredEvent
from tests.unit.runs.function_kit import a_function_world, ended
from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, steps
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import ANNA, NOW, World, press, until

CHANGE = RunEffect(method="crm.deal.update", params={"id": 481, "fields": {"OPPORTUNITY": 1200000}})
WRITE = {"write": CHANGE.method, "params": CHANGE.params}
STEP = 10.0
"""Seconds after which a side that does not come to its place fails the test."""


class Meeting:
    """Where one side stops, until the other has done what is to happen in between."""

    def __init__(self) -> None:
        self._came, self._goes = asyncio.Event(), asyncio.Event()

    async def stop(self) -> None:
        """Stop here, the first time only."""
        if not self._came.is_set():
            self._came.set()
            await asyncio.wait_for(self._goes.wait(), STEP)

    async def reached(self) -> None:
        await asyncio.wait_for(self._came.wait(), STEP)

    def go_on(self) -> None:
        self._goes.set()


def _said(world: World) -> list[str]:
    return [part["text"] for row in world.outbox() if row.kind == "reply" for part in row.body["parts"]]


@pytest.mark.req("G1")
async def test_a_timer_that_fires_while_the_run_is_played_is_not_waited_for_again(tmp_path: Path) -> None:
    """The run was taken up for another reason, with the memo from before the moment: it does not begin to sleep a second time."""
    meeting, plays = Meeting(), 0

    async def play(ctx: RunContext) -> RunResult:
        nonlocal plays
        plays += 1
        if plays > 1:
            await meeting.stop()
        await ctx.sleep("nap", NOW + timedelta(minutes=5))
        return RunResult()

    async with a_function_world(tmp_path, play) as world, world.working() as orchestrator:
        await orchestrator.receive([start("plan")])

        def of_node() -> list[str]:
            return [one.type for one in events(world) if one.data.get("node") == "nap"]

        await until(lambda: of_node() == ["RunWaits"])
        await orchestrator.receive([order("pause")])
        await until(lambda: index(world).status == "paused")
        await orchestrator.receive([order("resume")])
        await meeting.reached()
        world.clock.advance(timedelta(minutes=6))
        await until(lambda: of_node() == ["RunWaits", "RunWoken"])
        meeting.go_on()
        await until(lambda: index(world).status == "done")
        assert of_node() == ["RunWaits", "RunWoken"]


@pytest.mark.req("G1", "G2")
async def test_a_card_that_is_decided_before_the_run_waits_for_it_wakes_the_run(tmp_path: Path) -> None:
    """The gate has asked, and the decision comes before the run has stored that it waits: the run ends nevertheless, with one write."""
    meeting = Meeting()
    submit = Gate.submit

    async def submit_slowly(gate: Gate, *args: Any, **kwargs: Any) -> Any:
        result = await submit(gate, *args, **kwargs)
        await kwargs["ledger"].flush()  # as the session does by itself after a moment
        await meeting.stop()
        return result

    with patch.object(Gate, "submit", submit_slowly):
        async with a_run_world(tmp_path, {"plan": steps(WRITE, {"say": "Дальше"})}) as world, world.working() as orchestrator:
            await orchestrator.receive([start("plan")])
            await meeting.reached()
            await until(lambda: bool(list_open_confirmations(load_state(world.sql, RUN)[0])))
            (card,) = list_open_confirmations(load_state(world.sql, RUN)[0])
            await orchestrator.receive([press(card, key=RUN)])
            await until(lambda: bool(events(world, "CallSucceeded")))
            assert events(world, "RunWaits") == []
            meeting.go_on()
            await until(lambda: index(world).status == "done")
            assert (_said(world)[-2:], len(world.portal.written(CHANGE.method))) == (["Дальше", "Готово."], 1)


@pytest.mark.req("G1")
async def test_a_child_that_begins_while_its_parent_is_cancelled_is_cancelled(tmp_path: Path) -> None:
    """The cancellation has withdrawn the cards and is about to be stored when a node starts another run."""
    meeting = Meeting()
    withdraw = ending._withdraw_cards

    async def withdraw_slowly(*given: Any) -> None:
        await withdraw(*given)
        await meeting.stop()

    plays, begins = asyncio.Event(), asyncio.Event()

    async def play(ctx: RunContext) -> RunResult:
        if ctx.run.parent:
            await ctx.sleep("long", NOW + timedelta(days=1))
        plays.set()
        await begins.wait()
        await ctx.child("inner", "steps", "plan", {})
        return RunResult()

    with patch.object(ending, "_withdraw_cards", withdraw_slowly), patch.object(Context, "check_going_on", lambda *_: None):
        async with a_function_world(tmp_path, play) as world, world.working() as orchestrator:
            await orchestrator.receive([start("plan")])
            await until(plays.is_set)
            await orchestrator.receive([order("cancel")])
            await meeting.reached()
            begins.set()
            await until(lambda: len(world.sql.list_runs(RunFilter())) == 2)
            meeting.go_on()
            await until(lambda: [one.status for one in world.sql.list_runs(RunFilter())] == ["cancelled", "cancelled"])


@pytest.mark.req("G1")
async def test_a_card_that_is_shown_while_its_run_is_cancelled_is_withdrawn(tmp_path: Path) -> None:
    """The cancellation has withdrawn the cards and is about to be stored when a node asks for a change."""
    meeting, plays, begins = Meeting(), asyncio.Event(), asyncio.Event()
    withdraw = ending._withdraw_cards

    async def withdraw_slowly(*given: Any) -> None:
        await withdraw(*given)
        await meeting.stop()

    async def play(ctx: RunContext) -> RunResult:
        plays.set()
        await begins.wait()
        await ctx.submit("change", CHANGE)
        return RunResult()

    with patch.object(ending, "_withdraw_cards", withdraw_slowly):
        async with a_function_world(tmp_path, play) as world, world.working() as orchestrator:
            await orchestrator.receive([start("plan")])
            await until(plays.is_set)
            await orchestrator.receive([order("cancel")])
            await meeting.reached()
            begins.set()
            await until(lambda: bool(events(world, "ConfirmationRequested")))
            meeting.go_on()
            await until(lambda: index(world).status == "cancelled")
            await world.idle()
            assert list_open_confirmations(load_state(world.sql, RUN)[0]) == []
            assert world.portal.written() == []


@pytest.mark.req("G1")
async def test_nothing_begins_to_wait_in_a_run_that_is_over(tmp_path: Path) -> None:
    """Neither a wait nor a second end is stored after the end of a run, whether at once or with the next commit."""
    async with a_run_world(tmp_path, {"plan": steps({"say": "Готово"})}) as world:
        await world.work(start("plan"))
        assert index(world).status == "done"
        before = len(events(world))
        session = await world.session(RUN, owner="late")
        waits, end = RunWaits(node="late", on="timer", waits_for=""), RunFinished(status="cancelled")
        for late in (waits, end):
            with pytest.raises(RunOver):
                await session.commit(late, actor="system")
            with pytest.raises(RunOver):
                await session.buffer(late, actor="system")
        await session.close()
        assert (len(events(world)), index(world).status) == (before, "done")


@pytest.mark.req("G1")
@pytest.mark.parametrize("is_failing", [False, True], ids=["done", "failed"])
async def test_a_resume_that_meets_the_end_of_the_run_comes_too_late(tmp_path: Path, *, is_failing: bool) -> None:
    """What a paused run did last ends it while the order of its person to resume it is about to be stored: it ends once, and says so once."""
    meeting, plays, begins = Meeting(), asyncio.Event(), asyncio.Event()

    async def play(_ctx: RunContext) -> RunResult:
        plays.set()
        await begins.wait()
        if is_failing:
            raise RunFailed("degraded")
        return RunResult(reply=build_reply(text="Конец"))

    async with a_function_world(tmp_path, play) as world, world.working() as orchestrator:
        await orchestrator.receive([start("plan")])
        await until(plays.is_set)
        await orchestrator.receive([order("pause")])
        await until(lambda: index(world).status == "paused")
        resume = order("resume")
        with patch.object(Session, "commit", _stop_before_commit(meeting, resume.id)):
            await orchestrator.receive([resume])
            await meeting.reached()
            begins.set()
            await until(lambda: index(world).status in {"done", "failed"})
            meeting.go_on()
            await world.idle()
        assert ended(world) == [("failed", "degraded") if is_failing else ("done", "")]
        told = [row.body for row in world.outbox() if row.kind == "reply"]
        codes = [notice["code"] for body in told for notice in body["notices"]]
        said = [part["text"] for body in told for part in body["parts"]]
        assert (codes.count("run-order-late"), codes.count("run-ended"), said) == (1, is_failing, [] if is_failing else ["Конец"])


def _stop_before_commit(meeting: Meeting, row_id: str) -> Any:
    """`Session.commit` that stops before the input with this id is stored as handled."""
    commit = Session.commit

    async def stop_and_commit(session: Session, *given: Any, **named: Any) -> None:
        if row_id in named.get("inbox_done", ()):
            await meeting.stop()
        await commit(session, *given, **named)

    return stop_and_commit


async def test_an_engine_that_changes_what_it_got_changes_no_memory(tmp_path: Path) -> None:
    """Played again in the same process it gets what is stored, as it would after a restart."""
    seen: list[Any] = []

    async def make() -> Any:
        return {"names": ["а"]}

    async def play(ctx: RunContext) -> RunResult:
        got = await ctx.memo("read", make)
        seen.append([*got.data["names"]])
        got.data["names"].append("б")
        for number in (1, 2):
            await ctx.sleep(f"nap{number}", NOW + number * timedelta(minutes=5))
        return RunResult()

    async with a_function_world(tmp_path, play) as world, world.working() as orchestrator:
        await orchestrator.receive([start("plan")])
        for number in (1, 2):
            await until(lambda number=number: len(events(world, "RunWaits")) == number)  # type: ignore[misc]  # bound at once
            await world.idle()
            world.clock.advance(timedelta(minutes=6))
        await until(lambda: index(world).status == "done")
        assert seen == [["а"]] * 3


ROUNDS = 60
"""So many rounds of the loop lie between a commit and its coming into the state: enough for a whole pass over a run."""


def come_late(world: World, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let what was stored come into the state later, as where the thread of the commit waits for the processor while others read.

    The event says that something is stored.
    """
    commit_then, is_stored = world.store.commit_then, asyncio.Event()

    async def commit_late(commit: Commit, then: Callable[[list[StoredEvent]], None]) -> None:
        stored: list[list[StoredEvent]] = []
        await commit_then(commit, stored.append)
        is_stored.set()
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
        then(stored[0])

    monkeypatch.setattr(world.store, "commit_then", commit_late)
    return is_stored


@pytest.mark.req("G2")
async def test_a_retry_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen in the crash lab on a busy machine: the run was taken for one that is over, its input was done, and nothing ever woke it."""
    async with a_run_world(tmp_path, {"plan": steps({"child": "nowhere"})}) as world:
        await world.work(start("plan"))
        come_late(world, monkeypatch)
        await world.work(order("retry"))
        assert (index(world).status, len(events(world, "RunFinished"))) == ("failed", 2)


@pytest.mark.req("G2")
async def test_a_retry_that_is_stored_while_the_run_is_looked_at_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass serves all inputs that let the run go on; what it serves with is the state that they were stored with."""
    async with a_run_world(tmp_path, {"plan": steps({"child": "nowhere"})}) as world:
        await world.work(start("plan"))
        is_stored, list_waiting = come_late(world, monkeypatch), world.store.list_waiting_inbox

        async def list_once_stored(session: str, lane: Lane) -> list[InboxRow]:
            await is_stored.wait()
            return await list_waiting(session, lane)

        monkeypatch.setattr(world.store, "list_waiting_inbox", list_once_stored)
        late = replace(order(""), lane="turn", kind=RunPlay.KIND, body=RunPlay().to_json())
        await world.work(late, order("retry"))
        assert (index(world).status, len(events(world, "RunFinished"))) == ("failed", 2)


ASKS = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}}
FREE = {"write": "crm.deal.update", "params": {"id": 481, "fields": {"COMMENTS": "Свободно"}}}


@pytest.mark.req("G1", "S004-A2")
@pytest.mark.parametrize("write", [ASKS, FREE], ids=["with a card", "without a card"])
async def test_a_cancelled_run_begins_no_call(tmp_path: Path, write: Mapping[str, Any]) -> None:
    """The cancellation comes while the portal is asked about the record: no card is requested, and nothing is written."""
    asked, cancelled = asyncio.Event(), asyncio.Event()

    async def hold(method: str, _params: Mapping[str, Any]) -> None:
        if method == "crm.deal.get":
            asked.set()
            await cancelled.wait()

    async with a_run_world(tmp_path, {"plan": steps(write)}) as world:
        world.portal.watch = hold
        async with world.working() as orchestrator:
            await orchestrator.receive([start("plan")])
            await asyncio.wait_for(asked.wait(), 10)
            await orchestrator.receive([order("cancel")])
            await until(lambda: bool(events(world, "RunFinished")))
            cancelled.set()
            await world.idle()
        state, _ = load_state(world.sql, RUN)
        assert index(world).status == "cancelled"
        assert list_open_confirmations(state) == []
        assert events(world, "ConfirmationRequested", "CallStarted") == []
        assert world.portal.written() == []


READ = {"write": "crm.deal.get", "params": {"id": 481}}
NEXT: Mapping[str, Mapping[str, Any]] = {
    "a write that asks nobody": {
        "write": "crm.timeline.comment.add",
        "params": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "!"}},
    },
    "a write that asks": {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}},
    "a read": READ,
    "a model": {"model": "что дальше?"},
    "a question": {"ask": "Как зовут клиента?"},
    "another run": {"child": "inner"},
    "a turn": {"turn": "подними сумму сделки 481 до 1 200 000"},
    "a message": {"say": "Дальше"},
}


@pytest.mark.req("G1")
@pytest.mark.parametrize("what", NEXT)
async def test_nothing_more_is_begun_for_who_has_lost_access(tmp_path: Path, what: str) -> None:
    """Access ends while the portal answers the first read."""
    gone = False

    async def watch(method: str, _params: Mapping[str, Any]) -> None:
        nonlocal gone
        gone = gone or method == "crm.deal.get"

    async with a_run_world(tmp_path, {"plan": steps(READ, NEXT[what]), "inner": steps({"say": "внутри"})}) as world:
        world.portal.watch = watch
        world.orchestrator.tools = replace(world.tools, refresh_actor=lambda actor: None if gone and actor.key == ANNA.key else actor)
        await world.work(start("plan"))
        assert gone
        assert ended(world) == [("failed", "run-owner-gone")]
        assert events(world, "ConfirmationRequested", "RunWaits", "CallStarted") == []
        assert [one.data["node"] for one in events(world, "NodeDone")] == ["s0"]
        assert [method for method, _ in world.portal.requests] == ["crm.deal.get"] * 2, "whose deal it is, and the deal"
        assert (world.portal.written(), world.model.prompts) == ([], [])
