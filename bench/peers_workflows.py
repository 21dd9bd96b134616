"""The graphs of `workflows.py` in Hamilton, Haystack and LangGraph, as far as they are installed. Nothing reaches the network.

Each in the form that its own documentation shows: async functions that add numbers, at once or after a while. The graph is built before.
"""

import asyncio
import operator
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from types import ModuleType
from typing import Annotated, Any, TypedDict

os.environ |= {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false", "HAYSTACK_TELEMETRY_ENABLED": "false"}
os.environ["HAMILTON_TELEMETRY_ENABLED"] = "false"
Needs = Sequence[Sequence[int]]
Play = Callable[[], Awaitable[Any]]


async def measure_peers(needs: Needs, tries: int, seconds: Sequence[float] = ()) -> str:
    """Return what each peer takes: microseconds of processor time a node if they end at once, otherwise seconds for the whole graph."""
    told = []
    for name, build in (("Hamilton", _build_hamilton), ("Haystack", _build_haystack), ("LangGraph", _build_langgraph)):
        try:
            play = build(needs, seconds)
        except ImportError:
            told.append(f"{name} not installed")
            continue
        found = []
        for _ in range(tries):
            begun, at = time.process_time(), time.perf_counter()
            await play()
            found.append(time.perf_counter() - at if seconds else time.process_time() - begun)
        told.append(f"{name} {min(found):.2f} s" if seconds else f"{name} {min(found) / len(needs) * 1e6:.0f}")
    return ", ".join(told)


async def _work(given: Sequence[int], pause: float) -> int:
    if pause:
        await asyncio.sleep(pause)
    return sum(given) % 1000 + 1


def _build_hamilton(needs: Needs, seconds: Sequence[float]) -> Play:
    from hamilton import async_driver  # noqa: PLC0415 - the peers are optional

    module = ModuleType(f"bench_graph_{len(sys.modules)}")
    sys.modules[module.__name__] = module  # where Hamilton looks whose the functions are
    for number, needed in enumerate(needs):
        names = [f"v{one}" for one in needed]
        given, pause = ", ".join(f"{name}: int" for name in names), seconds[number] if seconds else 0
        source = f"async def v{number}({given}) -> int:\n    return await work([{', '.join(names)}], {pause})"
        made: dict[str, Any] = {"work": _work}
        exec(source, made)  # noqa: S102 - our own text: Hamilton reads the names of parameters
        made[f"v{number}"].__module__ = module.__name__
        setattr(module, f"v{number}", made[f"v{number}"])
    driver = async_driver.AsyncDriver({}, module)
    wanted = [f"v{number}" for number in _list_ends(needs)]

    async def play() -> Any:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(50 * len(needs) + before)  # it walks a chain by recursion
        try:
            return await driver.raw_execute(wanted)
        finally:
            sys.setrecursionlimit(before)

    return play


def _list_ends(needs: Needs) -> list[int]:
    """Return the nodes for which none waits."""
    return sorted(set(range(len(needs))) - {one for needed in needs for one in needed})


def _build_haystack(needs: Needs, seconds: Sequence[float]) -> Play:
    from haystack import Pipeline, component  # noqa: PLC0415

    pipeline = Pipeline()
    for number, needed in enumerate(needs):
        pipeline.add_component(f"t{number}", _build_component(component, len(needed), seconds[number] if seconds else 0))
    for number, needed in enumerate(needs):
        for place, one in enumerate(needed):
            pipeline.connect(f"t{one}.out", f"t{number}.in{place}")

    async def play() -> Any:
        return await pipeline.run_async(
            {f"t{number}": {} for number, needed in enumerate(needs) if not needed}, concurrency_limit=len(needs)
        )

    return play


def _build_component(component: Any, count: int, pause: float) -> Any:
    class Adding:
        def __init__(self) -> None:
            component.set_input_types(self, **{f"in{place}": int for place in range(count)})

        @component.output_types(out=int)
        def run(self, **given: int) -> dict[str, int]:
            return {"out": sum(given.values()) % 1000 + 1}

        @component.output_types(out=int)
        async def run_async(self, **given: int) -> dict[str, int]:
            return {"out": await _work(list(given.values()), pause)}

    return component(Adding)()


class State(TypedDict):
    """What the nodes know."""

    values: Annotated[dict[int, int], operator.or_]


def _build_langgraph(needs: Needs, seconds: Sequence[float]) -> Play:
    from langgraph.graph import END, START, StateGraph  # noqa: PLC0415

    graph: Any = StateGraph(State)

    def build(number: int) -> Callable[[State], Awaitable[dict[str, dict[int, int]]]]:
        async def work(state: State) -> dict[str, dict[int, int]]:
            given = [state["values"][one] for one in needs[number]]
            return {"values": {number: await _work(given, seconds[number] if seconds else 0)}}

        return work

    ends = set(_list_ends(needs))
    for number, needed in enumerate(needs):
        graph.add_node(f"t{number}", build(number))
        graph.add_edge([f"t{one}" for one in needed] if len(needed) > 1 else f"t{needed[0]}" if needed else START, f"t{number}")
        if number in ends:
            graph.add_edge(f"t{number}", END)
    app = graph.compile()

    async def play() -> Any:
        return await app.ainvoke({"values": {}}, {"recursion_limit": len(needs) + 10})

    return play
