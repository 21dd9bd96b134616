"""What a call of a script costs: 50 lines that read a list of operations and give a dict back, in a process that is warm."""

import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_monty import AsyncMonty, CollectString, Monty

from orchestrator.expressions.scripts.checking import ScriptChecker
from orchestrator.expressions.scripts.runner import ScriptRunner

CALLS = 20
TRIES = 60
BAR, PYTHON = 300, 24
SOURCE = """
import json

def parse(line):
    parts = [part.strip() for part in line.split("|")]
    if len(parts) < 3:
        return None
    name, kind, number = parts[0], parts[1].lower(), parts[2]
    try:
        value = int(number)
    except ValueError:
        return None
    return {"name": name, "kind": kind, "value": value}

def apply(state, item):
    kind = item["kind"]
    if kind == "add":
        state[item["name"]] = state.get(item["name"], 0) + item["value"]
    elif kind == "set":
        state[item["name"]] = item["value"]
    elif kind == "max":
        state[item["name"]] = max(state.get(item["name"], 0), item["value"])
    return state

operations = []
skipped = 0
for line in text.split("\\n"):
    found = parse(line)
    if found is None:
        skipped += 1
    else:
        operations.append(found)

state = dict(start)
for operation in operations:
    state = apply(state, operation)

total = 0
for name in sorted(state):
    total += state[name]

{"operations": operations, "state": state, "skipped": skipped, "total": total, "as_text": json.dumps(state)}
"""
TEXT = "\n".join(f"field{number % 7} | {('add', 'set', 'max')[number % 3]} | {number}" for number in range(24))


async def script_benches() -> list[dict[str, Any]]:
    """Return the rows. The bar is for a machine on which plain Python takes 24 us for the same work; it grows with that."""
    inputs: dict[str, Any] = {"text": TEXT, "start": {"field1": 5}}
    ours, bare, plain = [], [], []
    async with ScriptRunner(workers=1) as runner, AsyncMonty(min_processes=1, max_processes=1) as pool:
        for _ in range(TRIES):
            ours.append(await _measure(lambda: runner.run(SOURCE, inputs)))
            bare.append(await _measure(lambda: _run_bare(pool, inputs)))
            plain.append(_measure_python(inputs))
        with Monty(min_processes=1, max_processes=1) as blocking:
            floor = [_measure_blocking(blocking, inputs) for _ in range(TRIES)]
    with ScriptChecker() as checker:
        checker.check("1")
        started = time.perf_counter()
        found = checker.check(SOURCE, list(inputs))
        checked = (time.perf_counter() - started) * 1000
    scale = max(1.0, min(plain) / PYTHON)
    best, bar = min(ours), BAR * scale
    beside = (
        f"sandbox alone {min(bare):.0f}, blocking {min(floor):.0f}, plain Python {min(plain):.0f}, median {statistics.median(ours):.0f}"
    )
    return [
        _row("script call, warm", round(best), "us", f"<= {bar:.0f}", best <= bar, beside) | {"factor": round(scale, 2)},
        _row("script check, warm", round(checked, 1), "ms", "", None, f"{len(found)} findings"),
    ]


async def _measure(call: Callable[[], Awaitable[object]]) -> float:
    """Return microseconds a call."""
    started = time.perf_counter()
    for _ in range(CALLS):
        await call()
    return (time.perf_counter() - started) / CALLS * 1e6


async def _run_bare(pool: AsyncMonty, inputs: dict[str, Any]) -> object:
    async with pool.checkout(limits={"max_feed_duration_secs": 1, "max_memory": 32_000_000}) as session:
        return await session.feed_run(SOURCE, inputs=inputs, print_callback=CollectString())


def _measure_blocking(pool: Monty, inputs: dict[str, Any]) -> float:
    """Return microseconds a call of the sandbox alone that blocks the event loop: the floor, which includes waking its process twice."""
    started = time.perf_counter()
    for _ in range(CALLS):
        with pool.checkout(limits={"max_feed_duration_secs": 1, "max_memory": 32_000_000}) as session:
            session.feed_run(SOURCE, inputs=inputs, print_callback=CollectString())
    return (time.perf_counter() - started) / CALLS * 1e6


def _measure_python(inputs: dict[str, Any]) -> float:
    code = compile(SOURCE, "script", "exec")
    started = time.perf_counter()
    for _ in range(CALLS):
        exec(code, dict(inputs))  # noqa: S102 - our own script, as a yardstick
    return (time.perf_counter() - started) / CALLS * 1e6


def _row(name: str, value: float, unit: str, bar: str, holds: bool | None, versus: str) -> dict[str, Any]:  # noqa: FBT001
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus}
