"""Runs scripts in processes that reach nothing but given functions. Each run has a fresh session, and ends in a result or ScriptFailed."""

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
"""JSON data in and out, with `Value` at any place. It must only read: nothing keeps a script from calling it again."""
NO_FUNCTIONS: Final[Mapping[str, ScriptFunction]] = {}
AUTHOR: Final[Origins] = frozenset({"definition"})
_MOST_GIVEN: Final = 100_000
"""Values of one input."""
_SETTLE: Final = 0.1
"""Seconds for the sandbox's threads to rest: a program that ends before aborts now and then."""
_GRACE: Final = 0.1
"""Seconds until a process that does not end by itself is killed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptLimits:
    seconds: float = 1.0
    """Computing time, without functions."""
    total_seconds: float = 10.0
    memory_bytes: int = 32_000_000
    depth: int = 200
    """Of functions of the script."""
    calls: int = 100
    """Of the given functions."""
    print_bytes: int = 20_000
    result_values: int = 10_000
    result_signs: int = 200_000
    source_signs: int = MOST_SIGNS


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptResult:
    value: Value
    """Of the last line; from the script, its inputs and what its functions gave."""
    printed: str = ""
    calls: int = 0


@dataclass(kw_only=True, slots=True, eq=False)
class _Run:
    source: str
    data: dict[str, Any]
    functions: Mapping[str, ScriptFunction]
    limits: ScriptLimits
    prints: CollectString
    deadline: asyncio.Timeout | None = None
    answers: list[Any] = field(default_factory=list)
    origins: set[Origins] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    """Looked like the sandbox's own, and were in what the script was given."""
    calls: int = 0
    open_calls: set[asyncio.Task[Any]] = field(default_factory=set)
    """They have not ended."""
    ended_by: BaseException | None = None
    turn: Lock = field(default_factory=Lock)
    """Held while `worker` or `abandoned` changes: a thread feeds the script."""
    worker: int | None = None
    """None unless a thread feeds the script."""
    abandoned: bool = False

    def feed_plain(self, pool: Monty, policy: OSPolicy) -> Any:
        """Blocks its thread until the script has ended."""
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
        """Nobody waits for it any more."""
        with self.turn:
            self.abandoned = True
            if self.worker is not None:
                with suppress(ProcessLookupError):
                    os.kill(self.worker, signal.SIGKILL)

    def end(self, error: BaseException) -> BaseException:
        """At once, whatever the script does."""
        if self.ended_by is None:
            self.ended_by = error
            if self.deadline is not None and not self.deadline.expired():
                self.deadline.reschedule(asyncio.get_running_loop().time())
        return error

    async def close_calls(self) -> bool:
        """Those not awaited; whether there were any."""
        left = list(self.open_calls)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return bool(left)

    def raise_end(self) -> None:
        """A script cannot go on after it."""
        if self.ended_by is not None:
            raise self.ended_by from None

    def wrap_functions(self) -> dict[str, ScriptFunction]:
        """Counted, with JSON data in and out."""
        return {name: self._wrap(name, function) for name, function in self.functions.items()}

    def _wrap(self, name: str, function: ScriptFunction) -> ScriptFunction:
        """Async: the sandbox calls sync ones in threads, and may abort when the program ends."""

        async def call(*args: Any, **kwargs: Any) -> Any:
            positional, keywords = self._begin_call(args, kwargs)
            task = asyncio.current_task()
            try:
                answer = function(*positional, **keywords)
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
        """From the script, its inputs or functions, not from the sandbox."""
        if text not in self.known and text not in self.source and not any(text in one for one in list_texts([self.data, self.answers])):
            return False
        self.known.add(text)
        return True

    def _take_answer(self, name: str, answer: object) -> Any:
        """Raises ScriptFailed if it is no JSON data or too large."""
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
        """Raises ScriptFailed if it is no JSON data."""
        try:
            return self._take(output)
        except NotData as error:
            raise ScriptFailed(build_finding("finding-script-result", problem=str(error))) from None


class ScriptRunner:
    """Owns the processes of scripts; dead ones are replaced.

    A script without functions is fed from a thread: the loop's wake-ups cost more than running it.
    """

    def __init__(self, *, workers: int = 2, waiting: int = 100) -> None:
        """Runs beyond `workers` and `waiting` fail at once."""
        self._workers, self._most = workers, workers + waiting
        self._pool: AsyncMonty | None = None
        self._plain: Monty | None = None
        """Of scripts without functions."""
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="script")
        self._fed: list[_Run] = []
        """Fed by threads now, or waiting for one."""
        self._starting = asyncio.Lock()
        self._running = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Runs under way fail."""
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
        """The value of the last line. `now` and `seed` make the same run give the same result.

        Raises ScriptFailed, or what a function raised, unless it was ScriptCallFailed.
        """
        data, input_values = _take_inputs(source, inputs, limits)
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
        value = Value(result, origins.union(join_origins(input_values), *run.origins))
        return ScriptResult(value=value, printed=to_storable_text(run.prints.output), calls=run.calls)

    async def _play(self, run: "_Run", policy: OSPolicy) -> Any:
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
        """Raises ScriptFailed if they do not start."""
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
    """(a copy without origins, the values in it). Raises ScriptFailed."""
    if findings := check_text(source, limits.source_signs):
        raise ScriptFailed(findings[0])
    copies: dict[str, Any] = {}
    input_values: list[Value] = []
    for name, input_value in inputs.items():
        if not is_variable_name(name):
            raise ScriptFailed(build_finding("finding-script-input", name=str(name), problem="its name is no name of a variable"))
        copies[name], values = _take_given(name, input_value, limits)
        input_values.extend(values)
    return copies, input_values


def _take_given(name: str, value: object, limits: ScriptLimits) -> tuple[Any, list[Value]]:
    """(a copy without origins, the values in it). Raises ScriptFailed."""
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
