"""Runs scripts that people wrote, in processes of their own that reach nothing but the functions they are given.

Each run has a fresh session, so nothing of it is left for the next. Whatever a script does ends in a result or in ScriptFailed.
"""

import asyncio
import inspect
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self

from pydantic_monty import AsyncMonty, CollectString, Monty, MontyError, OSPolicy, ResourceLimits

from orchestrator.domain.taint import UNDECLARED, Origins, Value, join_origins, split_values
from orchestrator.expressions.scripts.checking import MOST_SIGNS, check_text, is_variable_name
from orchestrator.expressions.scripts.failures import ScriptCallFailed, ScriptFailed, build_finding, explain_error
from orchestrator.expressions.scripts.values import NotData, list_texts, take_data
from state.canonical import to_storable_text

ScriptFunction = Callable[..., Any] | Callable[..., Awaitable[Any]]
"""A function that a script may call, sync or async; the script awaits both. It takes JSON data and returns JSON data, with `Value` at any
place. It must only read: nothing keeps a script from calling it again."""
NO_FUNCTIONS: Final[Mapping[str, ScriptFunction]] = {}
AUTHOR: Final[Origins] = frozenset({"definition"})
_MOST_GIVEN: Final = 100_000
"""How many values one input may hold."""
_SETTLE: Final = 0.1
"""Seconds in which the sandbox's own threads come to rest after it was closed: a program that ends before aborts now and then."""
_GRACE: Final = 0.1
"""Seconds after which a process that does not end its script by itself is killed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptLimits:
    """What one run of a script may use."""

    seconds: float = 1.0
    """Computing time, without the time that its functions take."""
    total_seconds: float = 10.0
    """Time until its result, with that of its functions."""
    memory_bytes: int = 32_000_000
    depth: int = 200
    """How deeply functions of the script may call each other."""
    calls: int = 100
    """How many calls of the given functions it may make."""
    print_bytes: int = 20_000
    result_values: int = 10_000
    result_signs: int = 200_000
    source_signs: int = MOST_SIGNS


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptResult:
    """What a script gave."""

    value: Value
    """The value of its last line; it comes from the script, from all of its inputs, and from all that its functions gave."""
    printed: str = ""
    calls: int = 0


@dataclass(kw_only=True, slots=True, eq=False)
class _Run:
    """The state of one run, which its functions and its prints share."""

    source: str
    data: dict[str, Any]
    functions: Mapping[str, ScriptFunction]
    limits: ScriptLimits
    prints: CollectString
    deadline: asyncio.Timeout | None = None
    answers: list[Any] = field(default_factory=list)
    origins: set[Origins] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    """Texts that look like the sandbox's own and were found in what the script was given."""
    calls: int = 0
    open_calls: set[asyncio.Task[Any]] = field(default_factory=set)
    """The calls of functions that have not ended."""
    ended_by: BaseException | None = None
    turn: Lock = field(default_factory=Lock)
    """Held while `worker` or `abandoned` changes: a thread feeds a script without functions."""
    worker: int | None = None
    """The process that runs the script now, if a thread feeds it."""
    abandoned: bool = False

    def feed_plain(self, pool: Monty, policy: OSPolicy) -> Any:
        """Run the script, which has no functions, in a process of the pool; blocks its thread until the script has ended."""
        with pool.checkout(script_name="script", limits=_build_limits(self.limits), os_policy=policy) as session:
            with self.turn:
                if self.abandoned:
                    raise ScriptFailed(build_finding("finding-script-crashed", problem="it was given up before it began"))
                self.worker = session.worker_pid
            try:
                return session.feed_run(self.source, inputs=self.data, print_callback=self.prints)
            finally:
                with self.turn:  # from here on the process may run the script of somebody else
                    self.worker = None

    def abandon(self) -> None:
        """Kill the process of a script that nobody waits for any more."""
        with self.turn:
            self.abandoned = True
            if self.worker is not None:
                with suppress(ProcessLookupError):
                    os.kill(self.worker, signal.SIGKILL)

    def end(self, error: BaseException) -> BaseException:
        """End the run at once with this error, whatever the script does, and return the error."""
        if self.ended_by is None:
            self.ended_by = error
            if self.deadline is not None and not self.deadline.expired():
                self.deadline.reschedule(asyncio.get_running_loop().time())
        return error

    async def close_calls(self) -> bool:
        """End the calls that the script did not await, and return whether there were any."""
        left = list(self.open_calls)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return bool(left)

    def raise_end(self) -> None:
        """Raise the error that ended the run, if one did; a script cannot go on after it."""
        if self.ended_by is not None:
            raise self.ended_by from None

    def wrap_functions(self) -> dict[str, ScriptFunction]:
        """Return the functions as the sandbox calls them: counted, with JSON data in and out."""
        return {name: self._wrap(name, function) for name, function in self.functions.items()}

    def _wrap(self, name: str, function: ScriptFunction) -> ScriptFunction:
        """Return an async function: the sandbox would call a sync one in a thread of its own, and may abort when the program ends."""

        async def call(*args: Any, **kwargs: Any) -> Any:
            taken, named = self._begin_call(args, kwargs)
            task = asyncio.current_task()
            try:
                answer = function(*taken, **named)
                if not inspect.isawaitable(answer):
                    return self._take_answer(name, answer)
                if task is not None:
                    self.open_calls.add(task)
                return self._take_answer(name, await answer)
            except Exception as error:  # noqa: BLE001 - whatever the function raises ends the run
                raise self._refuse(error) from None
            finally:
                self.open_calls.discard(task)

        return call

    def _begin_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        self.calls += 1
        if self.ended_by is not None:
            raise self.ended_by
        if self.calls > self.limits.calls:
            raise self.end(ScriptFailed(build_finding("finding-script-calls", most=self.limits.calls)))
        try:
            return self._take(list(args)), self._take(kwargs)
        except NotData as error:
            raise TypeError(f"a function takes JSON data only: {error}") from None

    def _take(self, value: Any) -> Any:
        return take_data(value, most_values=self.limits.result_values, most_signs=self.limits.result_signs, is_known=self._is_known)

    def _is_known(self, text: str) -> bool:
        """Whether a text comes from the script, its inputs or its functions, and not from the sandbox."""
        if text not in self.known and text not in self.source and not any(text in one for one in list_texts([self.data, self.answers])):
            return False
        self.known.add(text)
        return True

    def _take_answer(self, name: str, answer: object) -> Any:
        """Return what a function gave as JSON data. Raises ScriptFailed if it is none or too large for a script."""
        data, values = _take_given(f"{name}()", answer, self.limits)
        self.origins.add(join_origins(values) if values else UNDECLARED)
        self.answers.append(data)
        return data

    def _refuse(self, error: Exception) -> Exception:
        if isinstance(error, ScriptCallFailed):
            self.origins.add(UNDECLARED)  # the script can read the sentence, and it may quote anybody
            return RuntimeError(str(error))
        self.end(error)
        return RuntimeError("the function failed")

    def take_result(self, output: Any) -> Any:
        """Return the result as JSON data. Raises ScriptFailed if it is none."""
        try:
            return self._take(output)
        except NotData as error:
            raise ScriptFailed(build_finding("finding-script-result", problem=str(error))) from None


class ScriptRunner:
    """Owns the processes in which scripts run. They start with the first script, a dead one is replaced, and `aclose` ends all of them.

    A script with functions needs the event loop, which calls them. One without is fed from a thread and has a process of its own kind: the
    sandbox wakes the event loop three times for each script that the loop feeds, which costs more than running it.
    """

    def __init__(self, *, workers: int = 2, waiting: int = 100) -> None:
        """Allow this many runs at a time, and this many that wait for their turn; further ones fail at once."""
        self._workers, self._most = workers, workers + waiting
        self._pool: AsyncMonty | None = None
        self._plain: Monty | None = None
        """The processes of scripts without functions."""
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="script")
        self._fed: list[_Run] = []
        """The scripts that threads feed now, or that wait for a thread."""
        self._starting = asyncio.Lock()
        self._running = 0

    async def __aenter__(self) -> Self:
        """Return the runner; its processes start with the first script."""
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        """End the processes."""
        await self.aclose()

    async def aclose(self) -> None:
        """End the processes; runs that are under way fail."""
        async with self._starting:
            pool, self._pool = self._pool, None
            plain, self._plain = self._plain, None
            if pool is not None:
                await pool.__aexit__(None, None, None)
                await asyncio.sleep(_SETTLE)
            if plain is not None:
                for run in self._fed:
                    run.abandon()
                await asyncio.to_thread(plain.__exit__, None, None, None)

    async def run(
        self,
        source: str,
        inputs: Mapping[str, Any],
        functions: Mapping[str, ScriptFunction] = NO_FUNCTIONS,
        limits: ScriptLimits = ScriptLimits(),
        *,
        now: datetime | None = None,
        seed: str = "",
        origins: Origins = AUTHOR,
    ) -> ScriptResult:
        """Run a script and return the value of its last line.

        `inputs` are JSON data with `Value` at any place; the script gets copies. Its clock stands at `now` (it has
        none without), its chance begins with `seed`: the same run gives the same result. `origins` says who wrote the script.

        Raises ScriptFailed; or what a function of `functions` raised, unless it was ScriptCallFailed, which the script may catch.
        """
        data, given = _take_inputs(source, inputs, limits)
        run = _Run(
            source=source,
            data=data,
            functions=functions,
            limits=limits,
            prints=CollectString(max_bytes=limits.print_bytes),
        )
        if self._running >= self._most:
            raise ScriptFailed(build_finding("finding-script-busy"))
        self._running += 1
        try:
            result = run.take_result(await self._play(run, _build_policy(now, seed)))
        except ScriptFailed as error:
            error.printed = to_storable_text(run.prints.output)
            raise
        finally:
            self._running -= 1
        value = Value(result, origins.union(join_origins(given), *run.origins))
        return ScriptResult(value=value, printed=to_storable_text(run.prints.output), calls=run.calls)

    async def _play(self, run: "_Run", policy: OSPolicy) -> Any:
        """Return what the sandbox gives for the script's last line."""
        limits = run.limits
        try:
            async with asyncio.timeout(limits.total_seconds) as run.deadline:  # waiting for a process counts, too
                output = await (self._feed(run, policy) if run.functions else self._feed_from_thread(run, policy))
            run.raise_end()
            if await run.close_calls():
                raise ScriptFailed(build_finding("finding-script-result", problem="a call without await had not ended"))
        except MontyError as error:
            run.raise_end()
            finding = explain_error(error, [*run.data, *run.functions], limits.seconds, limits.print_bytes)
            raise ScriptFailed(finding) from error
        except TimeoutError:
            run.raise_end()
            raise ScriptFailed(build_finding("finding-script-time", most=f"{limits.total_seconds:g}")) from None
        finally:
            await run.close_calls()
        return output

    async def _feed(self, run: "_Run", policy: OSPolicy) -> Any:
        pool = await self._start()
        async with pool.checkout(script_name="script", limits=_build_limits(run.limits), os_policy=policy) as session:
            return await session.feed_run(run.source, inputs=run.data, external_lookup=run.wrap_functions(), print_callback=run.prints)

    async def _feed_from_thread(self, run: "_Run", policy: OSPolicy) -> Any:
        pool = await self._start_plain()
        self._fed.append(run)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(run.feed_plain, pool, policy))
        except asyncio.CancelledError:  # also because its time is over
            run.abandon()
            raise
        finally:
            self._fed.remove(run)

    async def _start_plain(self) -> Monty:
        """Return the processes of scripts without functions, as `_start` returns the others."""
        if self._plain is not None:
            return self._plain
        async with self._starting:
            if self._plain is None:
                try:
                    pool = Monty(min_processes=1, max_processes=self._workers, feed_duration_limit_grace=_GRACE)
                    self._plain = await asyncio.to_thread(pool.__enter__)
                except (MontyError, OSError, RuntimeError) as error:
                    raise ScriptFailed(build_finding("finding-script-crashed", problem=str(error))) from error
            return self._plain

    async def _start(self) -> AsyncMonty:
        """Return the processes; start them if there are none. Raises ScriptFailed if they do not start."""
        if self._pool is not None:
            return self._pool
        async with self._starting:
            if self._pool is None:
                pool = AsyncMonty(min_processes=1, max_processes=self._workers, feed_duration_limit_grace=_GRACE)
                try:
                    self._pool = await pool.__aenter__()
                except (MontyError, OSError, RuntimeError) as error:
                    raise ScriptFailed(build_finding("finding-script-crashed", problem=str(error))) from error
            return self._pool


def _take_inputs(source: str, inputs: Mapping[str, Any], limits: ScriptLimits) -> tuple[dict[str, Any], list[Value]]:
    """Return (a copy of the inputs without their origins, the values in them).

    Raises ScriptFailed if the script cannot be run, or an input cannot be given to it.
    """
    if findings := check_text(source, limits.source_signs):
        raise ScriptFailed(findings[0])
    found: dict[str, Any] = {}
    given: list[Value] = []
    for name, one in inputs.items():
        if not is_variable_name(name):
            raise ScriptFailed(build_finding("finding-script-input", name=str(name), problem="its name is no name of a variable"))
        found[name], values = _take_given(name, one, limits)
        given.extend(values)
    return found, given


def _take_given(name: str, value: object, limits: ScriptLimits) -> tuple[Any, list[Value]]:
    """Return (a copy of what a script is given, without its origins, the values in it). Raises ScriptFailed if it is no JSON data."""
    try:
        tree, values = split_values(value)
        return take_data(tree, most_values=_MOST_GIVEN, most_signs=limits.memory_bytes), values
    except (NotData, RecursionError) as error:
        problem = str(error) if isinstance(error, NotData) else "nested too deeply, or in itself"
        raise ScriptFailed(build_finding("finding-script-input", name=name, problem=problem)) from None


def _build_limits(limits: ScriptLimits) -> ResourceLimits:
    return {
        "max_feed_duration_secs": limits.seconds,
        "max_memory": limits.memory_bytes,
        "max_recursion_depth": limits.depth,
        "max_suspensions": 10 * limits.calls + 100,  # names are looked up, too; calls are counted where they are made
    }


def _build_policy(now: datetime | None, seed: str) -> OSPolicy:
    return {"datetime": now.astimezone(UTC) if now is not None else "call_host", "sleep": "zero", "random_start": {"seed": seed}}
