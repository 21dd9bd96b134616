"""An engine that is written badly fails its own run with a sentence, once: it repeats nothing, and the process goes on."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.outputs import Notice, Reply, build_reply
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunFailed, RunModelRequest, RunResult, RunSuspended
from tests.unit.runs.function_kit import FAILED, a_function_world, ended
from tests.unit.runs.runs_kit import index, start
from tests.unit.runs.test_runs_wait import order, texts
from tests.unit.spine_kit import NOW, World, message, press, until
from tests.unit.spine_kit import reply as model_reply

pytestmark = pytest.mark.req("G1")

CHANGE = RunEffect(method="crm.deal.update", params={"id": 481, "fields": {"OPPORTUNITY": 1200000}})
READ = RunEffect(method="crm.deal.get", params={"id": 481})


async def give(value: Any) -> Any:
    return value


async def play_out(folder: Path, play: Callable[[RunContext], Any]) -> list[tuple[str, str]]:
    """The ends of the run of such an engine, after all attempts; the process answers another message afterwards."""
    async with a_function_world(folder, play) as world:
        await world.work(start("plan"))
        told = [one["code"] for row in world.outbox() if row.kind == "reply" for one in row.body["notices"]]
        found = ended(world)
        if found and found[0][0] == "failed":
            assert told == ["run-ended", found[0][1]], "one message says that the run failed, and why"
        world.model.will(model_reply(text="Добрый день"))
        await world.work(message("привет"))
        assert texts(world) == ["Добрый день"]
        return found


def circle() -> dict[str, Any]:
    """A value that holds itself."""
    made: dict[str, Any] = {}
    made["self"] = made
    return made


def deep() -> Any:
    """A value of 5,000 lists in each other."""
    made: Any = 1
    for _ in range(5000):
        made = [made]
    return made


UNSTORABLE = [float("nan"), float("inf"), circle(), {1: "a"}, b"bytes", {"x": {1, 2}}, object(), 2**60, "\x00", "\ud800", deep(), NOW]


@pytest.mark.parametrize("value", UNSTORABLE, ids=lambda value: type(value).__name__)
async def test_a_value_that_cannot_be_stored_fails_the_run(tmp_path: Path, value: Any) -> None:
    """The message names the step."""
    assert await play_out(tmp_path, lambda ctx: ctx.memo("read", lambda: give(value))) == [("failed", "run-bad-value")]


@pytest.mark.parametrize("value", UNSTORABLE, ids=lambda value: type(value).__name__)
async def test_a_result_that_cannot_be_stored_fails_the_run(tmp_path: Path, value: Any) -> None:
    """It fails at once, and is not played three times first."""
    played = []

    async def play(ctx: RunContext) -> RunResult:
        played.append(ctx.now)
        return RunResult(value=Value(value))

    assert await play_out(tmp_path, play) == [("failed", "run-bad-value")]
    assert len(played) == 1


@pytest.mark.parametrize("place", ["memo", "result", "child", "effect"])
async def test_a_value_of_ten_megabytes_fails_the_run(tmp_path: Path, place: str) -> None:
    """Wherever it is given; nothing of it is stored."""
    large = "я" * 10_000_000

    async def play(ctx: RunContext) -> RunResult:
        match place:
            case "memo":
                await ctx.memo("read", lambda: give({"text": large}))
            case "child":
                await ctx.child("inner", "steps", "plan", {"text": Value(large)})
            case "effect":
                params = {"id": 481, "fields": {"COMMENTS": Value(large)}}
                await ctx.submit("write", RunEffect(method="crm.deal.update", params=params))
        return RunResult(value=Value(large if place == "result" else None))

    assert await play_out(tmp_path, play) == [("failed", "run-large-value")]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x00b", "н" * 10_000, "\ud800", "/a", "a/", "a//b", 7, None])
@pytest.mark.parametrize("kind", ["say", "memo", "model", "effect", "input", "sleep", "child"])
async def test_a_bad_name_of_a_node_is_a_mistake_of_the_engine(tmp_path: Path, kind: str, name: Any) -> None:
    """It fails before anything is done: the portal, the model and the chat see nothing of the node."""

    async def play(ctx: RunContext) -> RunResult:
        await NODES[kind](ctx, name)
        return RunResult()

    assert await play_out(tmp_path, play) == [("failed", FAILED)]


NODES: dict[str, Callable[[RunContext, Any], Any]] = {
    "say": lambda ctx, name: ctx.say(build_reply(text="Слово"), key=name),
    "memo": lambda ctx, name: ctx.memo(name, lambda: give(7)),
    "model": lambda ctx, name: ctx.ask_model(name, RunModelRequest(messages=[{"role": "user", "content": "?"}])),
    "effect": lambda ctx, name: ctx.submit(name, READ),
    "input": lambda ctx, name: ctx.wait_input(name, Ask(text="?", options=(Option(label="да", value=1),))),
    "sleep": lambda ctx, name: ctx.sleep(name, ctx.now + timedelta(hours=1)),
    "child": lambda ctx, name: ctx.child(name, "steps", "plan", {}),
}


@pytest.mark.parametrize(("first", "second"), [
    ("memo", "effect"), ("effect", "memo"), ("memo", "model"), ("effect", "model"), ("memo", "input"), ("memo", "sleep"),
    ("memo", "child"),
])  # fmt: skip
async def test_two_nodes_of_different_kinds_may_not_share_a_name(tmp_path: Path, first: str, second: str) -> None:
    """The second would get what the first gave, in the same pass or after a restart."""

    async def play(ctx: RunContext) -> RunResult:
        await NODES[first](ctx, "x")
        await NODES[second](ctx, "x")
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        world.model.will(*["ответ"] * [first, second].count("model") * (first == "model"))
        await world.work(start("plan"))
        assert ended(world) == [("failed", FAILED)]


@pytest.mark.parametrize("inner", ["say/x", "x/closed", "x/turn"])
async def test_a_node_may_not_take_a_name_that_the_context_uses(tmp_path: Path, inner: str) -> None:
    """A message, the end of a question and a turn have nodes of their own behind the engine's."""
    assert await play_out(tmp_path, lambda ctx: ctx.memo(inner, lambda: give(7))) == [("failed", FAILED)]


async def test_a_message_and_a_node_may_have_one_name(tmp_path: Path) -> None:
    """Their names do not meet."""

    async def play(ctx: RunContext) -> RunResult:
        read = await ctx.memo("x", lambda: give(7))
        await ctx.say(build_reply(text=f"Есть {read.data}"), key="x")
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        assert (ended(world), texts(world)) == ([("done", "")], ["Есть 7"])


async def test_the_second_attempt_of_a_node_meets_no_other_node(tmp_path: Path) -> None:
    """A node "x/2" is not the second attempt of the node "x": each makes its own call."""

    async def play(ctx: RunContext) -> RunResult:
        await ctx.submit("x/2", RunEffect(method="crm.deal.update", params={"id": 481, "fields": {"OPPORTUNITY": 1100000}}))
        if (await ctx.submit("x", CHANGE)).status == "refused":
            raise RunFailed("run-step-refused", step="x")
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        for approve in (True, False):
            (shown,) = [row for row in world.outbox() if row.kind == "card" and row.body["status"] == "requested"]
            await world.work(press(shown.body, approve=approve, key="run:" + index(world).run_id))
        assert ended(world) == [("failed", "run-step-refused")]
        await world.work(order("retry"))
        (shown,) = [row for row in world.outbox() if row.kind == "card" and row.body["status"] == "requested"]
        await world.work(press(shown.body, key="run:" + index(world).run_id))
        assert len(world.portal.written("crm.deal.update")) == 2
        assert ended(world)[-1] == ("done", "")


async def test_a_name_that_is_used_twice_at_once_is_a_mistake(tmp_path: Path) -> None:
    """Two nodes side by side under one name would both ask the model, and one answer would be lost."""

    async def wait() -> int:
        await asyncio.sleep(0)  # else the first has ended before the second begins
        return 7

    async def play(ctx: RunContext) -> RunResult:
        await asyncio.gather(ctx.memo("x", wait), ctx.memo("x", wait))
        return RunResult()

    assert await play_out(tmp_path, play) == [("failed", FAILED)]


@pytest.mark.parametrize("result", [None, 7, "готово", {"value": 1}, RunResult(status="waiting"), RunResult(value=7)])  # type: ignore[arg-type]
async def test_a_result_that_is_none_fails_the_run(tmp_path: Path, result: Any) -> None:
    """An engine must give a RunResult; its author finds the mistake in the log."""
    assert await play_out(tmp_path, lambda _: give(result)) == [("failed", FAILED)]


@pytest.mark.parametrize("error", [ValueError("x" * 100_000), asyncio.CancelledError(), TimeoutError(), RecursionError(), GeneratorExit()])
async def test_any_error_fails_the_run_and_only_the_run(tmp_path: Path, error: BaseException) -> None:
    """Also one that usually means that the process stops."""

    async def play(_: RunContext) -> RunResult:
        raise error

    assert await play_out(tmp_path, play) == [("failed", FAILED)]


async def test_a_cancelled_inner_task_fails_the_run(tmp_path: Path) -> None:
    """An engine that lets its own task be cancelled is no stop of the process."""

    async def play(_: RunContext) -> RunResult:
        inner = asyncio.ensure_future(asyncio.sleep(3600))
        inner.cancel()
        return RunResult(value=Value(await inner))

    assert await play_out(tmp_path, play) == [("failed", FAILED)]


@pytest.mark.parametrize("args", [{"x": object()}, {"x": "я" * 3_000_000}, {"x": float("nan")}, {"when": NOW}])
async def test_a_failure_with_a_bad_message_is_still_told(tmp_path: Path, args: dict[str, Any]) -> None:
    """What an engine says of its failure cannot be stored: the run ends all the same."""

    async def play(_: RunContext) -> RunResult:
        raise RunFailed("run-step-refused", "detail", **args)

    (end,) = await play_out(tmp_path, play)
    assert end[0] == "failed"


async def test_an_engine_that_waits_for_nothing_fails(tmp_path: Path) -> None:
    """It would never be played again."""

    async def play(_: RunContext) -> RunResult:
        raise RunSuspended("nothing")

    assert await play_out(tmp_path, play) == [("failed", "run-stuck")]


async def test_an_engine_that_goes_on_after_a_wait_leaves_no_open_card(tmp_path: Path) -> None:
    """It swallows the suspension and ends: the card is withdrawn with the run, and a late press sends nothing."""

    async def play(ctx: RunContext) -> RunResult:
        try:
            await ctx.submit("write", CHANGE)
        except Exception:  # noqa: BLE001 - the mistake under test
            await ctx.say(build_reply(text="Иду дальше"), key="on")
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        rows = world.outbox()
        assert ended(world) == [("done", "")]
        shown = next(row for row in rows if row.kind == "card")
        await world.work(press(shown.body, key="run:" + index(world).run_id))
        assert world.portal.written("crm.deal.update") == []


async def begin_hanging(world: World) -> None:
    """Let the run begin and wait until its engine hangs."""
    await world.orchestrator.receive([start("plan")])
    await until(lambda: bool(world.tools.running))


@pytest.mark.parametrize("stop", ["cancel", "shutdown"])
async def test_an_engine_that_never_returns_can_be_stopped(tmp_path: Path, stop: str) -> None:
    """A cancellation ends its run, and the process can stop; the run is there afterwards."""

    async def play(_: RunContext) -> RunResult:
        await asyncio.Event().wait()
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        async with world.working():
            await begin_hanging(world)
            if stop == "cancel":
                await world.orchestrator.receive([order("cancel")])
                await world.idle()
        assert index(world).status == ("cancelled" if stop == "cancel" else "running")
        assert not world.tools.running


async def test_an_engine_that_ignores_its_cancellation_does_nothing_more(tmp_path: Path) -> None:
    """The run is over at once; what the engine still tries is not done."""
    go = asyncio.Event()

    async def play(ctx: RunContext) -> RunResult:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await go.wait()
        await ctx.say(build_reply(text="Я ещё здесь"), key="late")
        return RunResult()

    async with a_function_world(tmp_path, play) as world, world.working():
        await begin_hanging(world)
        await world.orchestrator.receive([order("cancel")])
        await until(lambda: index(world).status == "cancelled")
        go.set()
        await world.idle()
        assert (ended(world), "Я ещё здесь" in texts(world)) == ([("cancelled", "")], False)


@pytest.mark.parametrize(("moment", "status"), [
    (NOW - timedelta(days=1), "done"),
    (NOW + timedelta(days=3650), "waiting"),
    (datetime.max.replace(tzinfo=UTC), "waiting"),
    (NOW.replace(tzinfo=None), "failed"),
])  # fmt: skip
async def test_a_sleep_to_any_moment_wakes_or_fails(tmp_path: Path, moment: datetime, status: str) -> None:
    """A moment in the past is over at once, one far ahead is kept; a time without a zone is a mistake of the engine."""

    async def play(ctx: RunContext) -> RunResult:
        await ctx.sleep("nap", moment)
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        assert index(world).status == status


@pytest.mark.parametrize("lasts", [timedelta(seconds=-5), timedelta(0), timedelta.max])
async def test_a_question_with_any_timeout_ends_or_fails(tmp_path: Path, lasts: timedelta) -> None:
    """One without time goes on at once; one that no calendar holds is a mistake of the engine."""

    async def play(ctx: RunContext) -> RunResult:
        heard = await ctx.wait_input("ask", Ask(text="?", takes=frozenset({"text"}), timeout=lasts))
        return RunResult(value=heard.value)

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        assert ended(world) == ([("failed", FAILED)] if lasts == timedelta.max else [("done", "")])


ASKS = [
    Ask(text="?"),
    Ask(text="?", options=tuple(Option(label=str(number), value=number) for number in range(1001))),
    Ask(text="?", options=(Option(label="я" * 10_000_000, value=1),)),
    Ask(text="я" * 10_000_000, takes=frozenset({"text"})),
    Ask(text="?\x00", takes=frozenset({"text"})),
    Ask(text="?", takes=frozenset({"голос"})),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("ask", ASKS, ids=range(len(ASKS)))
async def test_a_question_that_cannot_be_asked_or_answered_fails_the_run(tmp_path: Path, ask: Ask) -> None:
    """Nobody could answer it, so the run would wait for ever."""

    async def play(ctx: RunContext) -> RunResult:
        await ctx.wait_input("ask", ask)
        return RunResult()

    (end,) = await play_out(tmp_path, play)
    assert end[0] == "failed"


@pytest.mark.parametrize("text", ["я" * 10_000_000, "a\x00b", "\ud800"])
async def test_a_message_that_cannot_be_stored_fails_the_run(tmp_path: Path, text: str) -> None:
    """The same for what the run says."""

    async def play(ctx: RunContext) -> RunResult:
        await ctx.say(Reply(parts=build_reply(text=text).parts, notices=(Notice(code="chosen", args={"label": text}),)), key="x")
        return RunResult()

    (end,) = await play_out(tmp_path, play)
    assert end[0] == "failed"
