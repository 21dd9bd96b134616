"""The scenario of `scenarios.py` in Burr and LangGraph: 1,000 steps, a third each of messages, branches and changes of variables.

Each in the form that its own documentation shows: one action or node for each step, transitions by conditions; once without storing, and
once with its own SQLite checkpoints. Time of the run alone; the graph is built before. Nothing reaches the network.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

os.environ |= {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}
TRIES = 3
TEXT = "Шаг {n}: {name}"
CONDITION = "n >= 18 and name in ['Анна', 'Борис']"


@dataclass(frozen=True, slots=True)
class Figures:
    """Steps a second of processor time, None if the peer is not installed, and of the time that passed."""

    name: str
    is_stored: bool
    rate: float | None
    passed: float = 0.0


class Memory(TypedDict):
    """The variables of a run."""

    n: int
    name: str
    last: str


FIRST: Memory = {"n": 20, "name": "Анна", "last": ""}
Play = Callable[[list[str]], None]
"""Plays the scenario once and puts what it says into the list."""


def measure_peers(steps: int) -> list[Figures]:
    """Return the figures of each peer, without storing and with SQLite."""
    found = []
    for name, (make, is_stored) in MAKERS.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            try:
                play = stack.enter_context(make(Path(folder) / "peer.db", steps))
            except ImportError:
                found.append(Figures(name, is_stored, None))
                continue
            seconds = [_measure(play, steps) for _ in range(TRIES)]
            best, passed = (min(one[part] for one in seconds) for part in (0, 1))
            found.append(Figures(name, is_stored, steps / best, steps / passed))
    return found


def _measure(play: Play, steps: int) -> tuple[float, float]:
    """Return the seconds of processor time, and those that passed."""
    said: list[str] = []
    begun, at = time.process_time(), time.perf_counter()
    play(said)
    seconds = time.process_time() - begun, time.perf_counter() - at
    if len(said) != (steps + 2) // 3:
        raise RuntimeError(f"{len(said)} messages of {steps} steps")
    return seconds


@contextlib.contextmanager
def _build_burr(path: Path, steps: int, *, is_stored: bool) -> Iterator[Play]:
    """An application with an action for each step; every state is stored by its own persister."""
    from burr.core import ApplicationBuilder, State, action, default, expr  # noqa: PLC0415 - the peers are optional
    from burr.core.graph import GraphBuilder  # noqa: PLC0415
    from burr.core.persistence import SQLLitePersister  # noqa: PLC0415

    heard: list[list[str]] = []

    @action(reads=["n", "name"], writes=[])
    def say(state: State[Any]) -> State[Any]:
        heard[-1].append(TEXT.format(n=state["n"], name=state["name"]))
        return state

    @action(reads=["n", "name"], writes=[])
    def decide(state: State[Any]) -> State[Any]:
        return state

    @action(reads=["n", "name"], writes=["n", "last"])
    def change(state: State[Any]) -> State[Any]:
        return state.update(n=state["n"] + 3, last=state["name"])

    kinds = (say, decide, change)
    names = [f"step_{number}" for number in range(steps)]
    ways: list[Any] = []
    for number, name in enumerate(names[:-1]):
        after = names[number + 1]
        ways += [(name, after, expr(CONDITION)), (name, after, default)] if number % 3 == 1 else [(name, after)]
    actions = {name: kinds[number % 3] for number, name in enumerate(names)}
    graph = GraphBuilder().with_actions(**actions).with_transitions(*ways).build()
    persister: Any = SQLLitePersister(db_path=str(path), table_name="steps")
    persister.initialize()
    count = 0

    def play(said: list[str]) -> None:
        nonlocal count
        count += 1
        heard.append(said)
        builder: Any = ApplicationBuilder().with_graph(graph).with_identifiers(app_id=f"run-{count}", partition_key="bench")
        builder = builder.with_state(**FIRST).with_entrypoint(names[0])
        app = (builder.with_state_persister(persister) if is_stored else builder).build()
        app.run(halt_after=[names[-1]])

    yield play
    persister.cleanup()


@contextlib.contextmanager
def _build_langgraph(path: Path, steps: int, *, is_stored: bool) -> Iterator[Play]:
    """A graph with a node for each step; every step is a checkpoint."""
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415 - the peers are optional
    from langgraph.graph import END, START, StateGraph  # noqa: PLC0415

    heard: list[list[str]] = []

    def say(state: Memory) -> dict[str, Any]:
        heard[-1].append(TEXT.format(**state))
        return {}

    def decide(state: Memory) -> dict[str, Any]:
        del state
        return {}

    def change(state: Memory) -> dict[str, Any]:
        return {"n": state["n"] + 3, "last": state["name"]}

    def build_way(after: str) -> Callable[[Memory], str]:
        ways = {True: after, False: after}
        return lambda state: ways[state["n"] >= 18 and state["name"] in {"Анна", "Борис"}]

    kinds = (say, decide, change)
    names = [f"step_{number}" for number in range(steps)]
    graph: Any = StateGraph(Memory)
    for number, name in enumerate(names):
        graph.add_node(name, kinds[number % 3])
    graph.add_edge(START, names[0])
    for number, name in enumerate(names):
        after = names[number + 1] if number + 1 < steps else END
        if number % 3 == 1:
            graph.add_conditional_edges(name, build_way(after), [after])
        else:
            graph.add_edge(name, after)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver if is_stored else None)
        count = 0

        def play(said: list[str]) -> None:
            nonlocal count
            count += 1
            heard.append(said)
            config: Any = {"recursion_limit": steps + 10, "configurable": {"thread_id": f"run-{count}"}}
            app.invoke(FIRST, config, **({"durability": "sync"} if is_stored else {}))

        yield play


MAKERS: dict[str, tuple[Callable[[Path, int], contextlib.AbstractContextManager[Play]], bool]] = {
    "Burr": (lambda path, steps: _build_burr(path, steps, is_stored=False), False),
    "Burr + SQLite": (lambda path, steps: _build_burr(path, steps, is_stored=True), True),
    "LangGraph": (lambda path, steps: _build_langgraph(path, steps, is_stored=False), False),
    "LangGraph + SQLite": (lambda path, steps: _build_langgraph(path, steps, is_stored=True), True),
}
