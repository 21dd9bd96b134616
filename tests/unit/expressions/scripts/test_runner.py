"""Running scripts: values go in and out as copies with their origins, functions are counted, and processes never outlive their use."""

import asyncio
import os
import select
import signal
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunSuspended
from orchestrator.expressions.scripts.failures import ScriptCallFailed, ScriptFailed
from orchestrator.expressions.scripts.runner import ScriptLimits, ScriptRunner

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runner() -> AsyncIterator[ScriptRunner]:
    async with ScriptRunner() as runner:
        yield runner


async def get_code(runner: ScriptRunner, source: str, inputs: dict[str, Any] | None = None, **given: Any) -> tuple[str, int, int]:
    with pytest.raises(ScriptFailed) as failed:
        await runner.run(source, inputs or {}, **given)
    finding = failed.value.finding
    return finding.code.removeprefix("finding-script-"), finding.line, finding.column


async def test_the_last_line_is_the_result_and_inputs_are_copies(runner: ScriptRunner) -> None:
    given = {"deal": {"title": "Ромашка 😀", "sums": [1, 2.5, None, True]}}
    result = await runner.run('deal["sums"].append("x")\n{"deal": deal, "pair": (1, 2)}', given)
    assert result.value.data == {"deal": {"title": "Ромашка 😀", "sums": [1, 2.5, None, True, "x"]}, "pair": [1, 2]}
    assert given == {"deal": {"title": "Ромашка 😀", "sums": [1, 2.5, None, True]}}


async def test_nothing_is_left_for_the_next_script(runner: ScriptRunner) -> None:
    await runner.run("secret = 1", {})
    assert await get_code(runner, "secret") == ("name", 1, 1)


async def test_a_result_comes_from_the_script_its_inputs_and_its_functions(runner: ScriptRunner) -> None:
    inputs = {"a": Value(1, frozenset({"person"})), "b": {"deep": [Value("x", frozenset({"prose"}))]}}
    assert (await runner.run("1", inputs)).value.origins == {"definition", "person", "prose"}
    found = Value([1], frozenset({"label"}))
    assert (await runner.run("await find()", {}, {"find": lambda: {"rows": found}})).value.origins == {"definition", "label"}
    assert (await runner.run("await find()", {}, {"find": lambda: 1})).value.origins == {"definition", "prose"}
    assert (await runner.run("1", {}, {"find": lambda: 1})).value.origins == {"definition"}


async def test_what_an_error_of_a_function_says_is_text_of_strangers(runner: ScriptRunner) -> None:
    """It may quote an answer from outside, and a script that catches it can go on with its words."""

    def refuse() -> None:
        raise ScriptCallFailed("the site answered: pay 5 to me")

    caught = await runner.run("try:\n    await f()\nexcept RuntimeError as error:\n    said = str(error)\nsaid", {}, {"f": refuse})
    assert caught.value == Value("the site answered: pay 5 to me", frozenset({"definition", "prose"}))


async def test_functions_take_and_give_data_and_may_be_awaited(runner: ScriptRunner) -> None:
    async def fetch(*, key: str) -> Value:
        await asyncio.sleep(0)
        return Value({"key": key})

    source = 'import asyncio\nasync def both():\n    return await asyncio.gather(fetch(key="a"), fetch(key="b"))\n[await both(), await double(2)]'
    result = await runner.run(source, {}, {"fetch": fetch, "double": lambda number: Value(number * 2)})
    assert result.value.data == [[{"key": "a"}, {"key": "b"}], 4]
    assert result.calls == 3


async def test_a_script_may_catch_what_a_function_says_and_nothing_else(runner: ScriptRunner) -> None:
    def refuse() -> None:
        raise ScriptCallFailed("no such deal")

    async def suspend() -> None:
        raise RunSuspended

    def fail() -> None:
        raise KeyError("the password")

    source = "try:\n    await f()\nexcept BaseException as error:\n    said = str(error)\nsaid"
    assert (await runner.run(source, {}, {"f": refuse})).value.data == "no such deal"
    assert await get_code(runner, "await f()", functions={"f": refuse}) == ("raised", 1, 1)
    with pytest.raises(KeyError):
        await runner.run(source, {}, {"f": fail})
    with pytest.raises(RunSuspended):
        await runner.run("try:\n    await f()\nexcept BaseException:\n    pass\nwhile True: pass", {}, {"f": suspend})


async def test_what_a_function_is_given_must_be_data(runner: ScriptRunner) -> None:
    assert await get_code(runner, "\nawait f(float('nan'))", functions={"f": lambda value: value}) == ("raised", 2, 1)
    assert await get_code(runner, "await f(x={1})", functions={"f": lambda **values: values}) == ("raised", 1, 1)


async def test_mistakes_have_their_line_and_column(runner: ScriptRunner) -> None:
    assert await get_code(runner, "x = 'яя'; total + 1", {"totals": 1}) == ("name", 1, 11)
    assert await get_code(runner, "x = 1\nif x:\n    1 / 0") == ("raised", 3, 5)
    assert await get_code(runner, "x = (1,\n") == ("syntax", 2, 1)
    assert await get_code(runner, "x", {"not a name": 1}) == ("input", 0, 0)
    assert await get_code(runner, "x", {"x": float("nan")}) == ("input", 0, 0)
    assert await get_code(runner, "x", {"x": [b"x"]}) == ("input", 0, 0)


async def test_the_clock_stands_and_chance_repeats(runner: ScriptRunner) -> None:
    now = datetime(2026, 11, 24, 12, tzinfo=UTC)
    source = "import datetime, random\n[datetime.datetime.now().isoformat(), random.random()]"
    first, again = [(await runner.run(source, {}, now=now, seed="run-1")).value.data for _ in range(2)]
    assert first == again
    assert first[0].startswith("2026-11-24T12:00:00")
    assert (await runner.run(source, {}, now=now, seed="run-2")).value.data[1] != first[1]


async def test_prints_are_kept(runner: ScriptRunner) -> None:
    result = await runner.run("print('a', 1)\nprint('b')", {})
    assert result.printed == "a 1\nb\n"
    assert result.value.data is None
    with pytest.raises(ScriptFailed) as failed:
        await runner.run("print('before')\n1 / 0", {})
    assert failed.value.printed == "before\n"


async def test_texts_that_look_like_the_sandbox_s_are_data_if_they_were_given(runner: ScriptRunner) -> None:
    texts = ["[...]", "<class 'x'>", "range(1)", "{...}"]
    assert (await runner.run("x", {"x": texts})).value.data == texts
    assert (await runner.run("await f()", {}, {"f": lambda: texts})).value.data == texts
    assert (await runner.run("'[...]'", {})).value.data == "[...]"


async def test_texts_that_look_like_the_sandbox_s_are_looked_up_a_few_times_only(runner: ScriptRunner) -> None:
    """What was given may be long: nine thousand searches in it would stop everybody."""
    given = "".join(f"range({number})" for number in range(9000))
    source = "['range(%d)' % number for number in range({})]"
    assert len((await runner.run(source.format(50), {"x": given})).value.data) == 50
    assert (await get_code(runner, source.format(9000), {"x": given}))[0] == "result"


def nest(depth: int) -> Any:
    """A list that many levels deep."""
    data: Any = 1
    for _ in range(depth):
        data = [data]
    return data


@pytest.mark.parametrize(
    "answer",
    [float("nan"), 10**5000, {10**5000: 1}, "\ud800", "\0", object(), {1, 2}, "x" * 2_000_000, [1] * 200_000, nest(101), nest(5000)],
    ids=lambda one: type(one).__name__,
)
async def test_what_a_function_or_an_input_may_not_hold_ends_the_script_with_its_name(runner: ScriptRunner, answer: Any) -> None:
    """Before any of it is copied into the process of the script, and whatever the script would catch."""
    limits = ScriptLimits(memory_bytes=1_000_000)
    source = "try:\n    await find()\nexcept BaseException:\n    pass\n1"
    with pytest.raises(ScriptFailed) as failed:
        await runner.run(source, {}, {"find": lambda: answer}, limits)
    assert (failed.value.finding.code, failed.value.finding.args["name"]) == ("finding-script-input", "find()")
    with pytest.raises(ScriptFailed) as failed:
        await runner.run("1", {"x": answer}, limits=limits)
    assert (failed.value.finding.code, failed.value.finding.args["name"]) == ("finding-script-input", "x")


@pytest.mark.parametrize("name", ["class", "a b", "", "ﬁrst", "1"])
async def test_a_name_that_a_script_cannot_read_is_refused_as_what_it_is(runner: ScriptRunner, name: str) -> None:
    """Not as a mistake of the script."""
    assert (await get_code(runner, "1", {name: 1}))[0] == "input"


async def test_what_a_script_prints_can_be_stored(runner: ScriptRunner) -> None:
    assert (await runner.run("print('a\\0b')", {})).printed == "a\ufffdb\n"
    with pytest.raises(ScriptFailed) as failed:
        await runner.run("print('a\\0b')\nnope", {})
    assert failed.value.printed == "a\ufffdb\n"


async def test_a_function_that_never_answers_ends_with_the_time_of_the_run(runner: ScriptRunner) -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    assert await get_code(runner, "await wait()", functions={"wait": wait}, limits=ScriptLimits(total_seconds=0.05)) == ("time", 0, 0)


async def find_worker(runner: ScriptRunner, *, plain: bool = False) -> int:
    """The process id of a worker: the pool serves the newest idle one. `plain` is the pool of scripts without functions."""
    if plain:
        assert runner._plain is not None
        with runner._plain.checkout() as session:
            found = session.worker_pid
    else:
        assert runner._pool is not None
        async with runner._pool.checkout() as session:
            found = session.worker_pid
    assert found is not None
    return int(found)


def read_nothing() -> Value:
    return Value(None)


FUNCTIONS = {"read": read_nothing}


def wait_for_end(pid: int, seconds: float = 5) -> bool:
    """Wait until the process has ended; whether it did."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    try:
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(watched)


async def test_a_dead_process_fails_its_script_and_is_replaced() -> None:
    async with ScriptRunner(workers=1) as runner:
        await runner.run("1", {}, FUNCTIONS)
        pid = await find_worker(runner)

        async def kill() -> Value:
            os.kill(pid, signal.SIGKILL)
            return Value(1)

        assert (await get_code(runner, "await kill()\nwhile True: pass", functions={"kill": kill}))[0] == "crashed"
        assert (await runner.run("2", {}, FUNCTIONS)).value.data == 2
        assert await find_worker(runner) != pid


async def test_a_dead_process_fails_its_script_without_functions_and_is_replaced() -> None:
    async with ScriptRunner(workers=1) as runner:
        await runner.run("1", {})
        pid = await find_worker(runner, plain=True)
        going = asyncio.create_task(get_code(runner, "while True: pass"))
        await wait_until_fed(runner, pid)
        os.kill(pid, signal.SIGKILL)

        assert (await going)[0] == "crashed"
        assert (await runner.run("2", {})).value.data == 2
        assert await find_worker(runner, plain=True) != pid


async def wait_until_fed(runner: ScriptRunner, pid: int) -> None:
    """Wait until a thread feeds a script to the process."""
    async with asyncio.timeout(30):
        while not any(run.worker == pid for run in runner._fed):  # noqa: ASYNC110 - a thread sets it and tells nobody
            await asyncio.sleep(0)


@pytest.mark.parametrize("how", ["cancelled", "over time", "closed"])
async def test_a_script_without_functions_that_nobody_waits_for_holds_no_process(how: str) -> None:
    """Its computing time would let it run for half a minute."""
    long = ScriptLimits(seconds=30, total_seconds=30 if how != "over time" else 0.5)
    async with ScriptRunner(workers=1) as runner:
        await runner.run("1", {})
        pid = await find_worker(runner, plain=True)
        going = asyncio.create_task(runner.run("while True: pass", {}, limits=long))
        await wait_until_fed(runner, pid)
        if how == "cancelled":
            going.cancel()
        if how == "closed":
            await runner.aclose()
        with pytest.raises(asyncio.CancelledError if how == "cancelled" else ScriptFailed):
            await going

        assert await asyncio.to_thread(wait_for_end, pid)
        assert (await runner.run("2", {})).value.data == 2


async def test_a_script_that_is_given_up_when_it_has_ended_kills_no_other() -> None:
    """Its caller may be cancelled between its end and its result, when its process serves the next one already."""
    async with ScriptRunner(workers=1) as runner:
        await runner.run("1", {})
        pid = await find_worker(runner, plain=True)
        going = asyncio.create_task(runner.run("n = 0\nwhile n < 300_000: n += 1\nn", {}))
        await wait_until_fed(runner, pid)
        (run,) = runner._fed
        await going
        run.abandon()

        assert (await runner.run("2", {})).value.data == 2
        assert await find_worker(runner, plain=True) == pid


async def test_a_script_that_was_given_up_while_it_waited_for_a_thread_kills_no_other() -> None:
    async with ScriptRunner(workers=1) as runner:
        await runner.run("1", {})
        pid = await find_worker(runner, plain=True)
        first = asyncio.create_task(runner.run("n = 0\nwhile n < 300_000: n += 1\nn", {}))
        await wait_until_fed(runner, pid)
        second = asyncio.create_task(runner.run("2", {}))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second

        assert (await first).value.data == 300_000
        assert await find_worker(runner, plain=True) == pid


@pytest.mark.parametrize("source", ["await begin()\nwhile True: pass", "await begin()\nawait begin()\nawait wait()"])
async def test_a_cancelled_script_holds_no_process(source: str) -> None:
    long = ScriptLimits(seconds=30, total_seconds=30)
    async with ScriptRunner(workers=1) as runner:
        begun = asyncio.Event()

        def begin() -> Value:
            begun.set()
            return Value(1)

        task = asyncio.create_task(runner.run(source, {}, {"begin": begin, "wait": asyncio.Event().wait}, long))
        await begun.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await runner.run("2", {}, limits=ScriptLimits(total_seconds=5))).value.data == 2


async def test_scripts_beyond_the_queue_fail_at_once_and_those_in_it_run() -> None:
    async with ScriptRunner(workers=1, waiting=2) as runner:
        results = await asyncio.gather(*[runner.run("1", {}) for _ in range(5)], return_exceptions=True)
        assert [one.finding.code for one in results if isinstance(one, ScriptFailed)] == ["finding-script-busy"] * 2
        assert sum(not isinstance(one, BaseException) for one in results) == 3


@pytest.mark.parametrize("functions", [{}, FUNCTIONS], ids=["plain", "functions"])
async def test_closing_ends_the_processes_and_a_later_script_starts_them_again(functions: dict[str, Any]) -> None:
    runner = ScriptRunner(workers=1)
    await runner.run("1", {}, functions)
    pid = await find_worker(runner, plain=not functions)
    await runner.aclose()
    assert await asyncio.to_thread(wait_for_end, pid)
    await runner.aclose()
    assert (await runner.run("1", {}, functions)).value.data == 1
    await runner.aclose()


CHILD = """
import asyncio, sys
from orchestrator.expressions.scripts.runner import ScriptLimits, ScriptRunner

async def main():
    runner = ScriptRunner(workers=1)
    await runner.run("1", {}, {"read": int})
    async with runner._pool.checkout() as session:
        print(session.worker_pid, flush=True)
    await runner.run("1", {})
    with runner._plain.checkout() as session:
        print(session.worker_pid, flush=True)
    await runner.run("while True: pass", {}, limits=ScriptLimits(seconds=0.3))

asyncio.run(main())
"""


async def test_no_process_outlives_a_killed_parent() -> None:
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", CHILD, stdout=asyncio.subprocess.PIPE, cwd=Path.cwd())
    assert child.stdout is not None
    pids = [int(await child.stdout.readline()) for _ in range(2)]
    child.kill()
    await child.wait()
    for pid in pids:
        assert await asyncio.to_thread(wait_for_end, pid)


async def test_an_error_quotes_its_text_in_one_line_without_hidden_signs(runner: ScriptRunner) -> None:
    """A script may raise what a stranger wrote, and people read the finding."""
    with pytest.raises(ScriptFailed) as failed:
        await runner.run("raise ValueError(x)", {"x": "no\n✅ done \u202e\u200b"})
    assert failed.value.finding.args["problem"] == "no ⏎ ✅ done U+202EU+200B"


async def test_a_call_that_is_not_awaited_ends_with_its_script(runner: ScriptRunner) -> None:
    """It does not go on behind the back of whoever ran the script, and the script fails."""
    ended: list[str] = []

    async def read() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            ended.append("read")

    for source in ("read()\n1", "read()\nwhile True: pass"):
        with pytest.raises(ScriptFailed):
            await runner.run(source, {}, {"read": read}, ScriptLimits(seconds=0.2))
    assert ended == ["read", "read"]
