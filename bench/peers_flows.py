"""The flows of `flows.py` in LangGraph with its own SQLite checkpoints, each stored before the next step begins (`durability="sync"`).

A node for each step, which asks an agent that answers at once or after a while, and appends the answer to a channel that all read. In the
form that its own documentation shows; the graph is built before. Nothing reaches the network.
"""

import asyncio
import operator
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

os.environ |= {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}
Ask = Callable[[], Awaitable[str]]


class Passed(NamedTuple):
    """The seconds of processor time of some runs, and those that passed."""

    processor: float
    wall: float


class Memory(TypedDict):
    """What the steps know."""

    answers: Annotated[list[str], operator.add]


async def measure_langgraph(steps: int, runs: int, ask: Ask, tries: int) -> Passed | None:
    """Return the best of `tries` for so many runs at once of so many steps, None if it is not installed."""
    try:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415 - the peers are optional
        from langgraph.graph import END, START, StateGraph  # noqa: PLC0415
    except ImportError:
        return None

    async def work(state: Memory) -> dict[str, list[str]]:
        del state
        return {"answers": [await ask()]}

    graph: Any = StateGraph(Memory)
    names = [f"step_{number}" for number in range(steps)]
    for name in names:
        graph.add_node(name, work)
    for before, after in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(before, after)
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncSqliteSaver.from_conn_string(str(Path(folder) / "peer.db")) as saver:
            app = graph.compile(checkpointer=saver)
            found = [await _play_all(app, steps, runs, number) for number in range(tries)]
    return Passed(min(one.processor for one in found), min(one.wall for one in found))


async def _play_all(app: Any, steps: int, runs: int, number: int) -> Passed:
    begun, at = time.process_time(), time.perf_counter()
    ended = await asyncio.gather(
        *(
            app.ainvoke(
                {"answers": []},
                {"recursion_limit": steps + 10, "configurable": {"thread_id": f"{number}-{run}"}},
                durability="sync",
            )
            for run in range(runs)
        )
    )
    seconds = Passed(time.process_time() - begun, time.perf_counter() - at)
    if any(len(one["answers"]) != steps for one in ended):
        raise RuntimeError("a run did not do all its steps")
    return seconds
