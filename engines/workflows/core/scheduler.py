"""Runs the places of a graph side by side, each when its last input is there, or batch by batch (S003-15, S003-30…35); finds its cycles."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from orchestrator.engines.runs import RunSuspended

MOST_CYCLES: Final = 50
Following = Sequence[Sequence[int]]


def find_cycles(following: Following, nodes: Iterable[int]) -> list[list[int]]:
    """Return cycles in the direction of the edges, those of the smallest nodes first."""
    cycles: list[list[int]] = []
    seen: set[tuple[int, int]] = set()
    for part in sorted(_Components(following).find(nodes), key=min):
        for source, target in ((one, other) for one in sorted(part) for other in following[one]):
            if target not in part or (source, target) in seen:
                continue
            cycle = [source, *_find_way(following, part, target, source)]
            seen.update(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
            cycles.append(cycle)
            if len(cycles) == MOST_CYCLES:
                return cycles
    return cycles


def _find_way(following: Following, part: frozenset[int], start: int, end: int) -> list[int]:
    """The shortest way from `start` to before `end`, which must be reachable."""
    before: dict[int, int] = {start: start}
    waiting = deque([start])
    while end not in before:
        node = waiting.popleft()
        for neighbour in following[node]:
            if neighbour in part and neighbour not in before:
                before[neighbour] = node
                waiting.append(neighbour)
    way: list[int] = []
    while end != start:
        end = before[end]
        way.append(end)
    return way[::-1]


class _Components:
    """Strongly connected components, by Tarjan's method."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._order: dict[int, int] = {}
        self._lowest: dict[int, int] = {}
        """The earliest open node reachable from each."""
        self._open: dict[int, None] = {}
        self._way: list[tuple[int, Iterator[int]]] = []

    def find(self, roots: Iterable[int]) -> Iterator[frozenset[int]]:
        for root in roots:
            if root not in self._order:
                self._enter(root)
            while self._way:
                node, waiting = self._way[-1]
                if (neighbour := next(waiting, None)) is None:
                    yield from self._leave(node)
                elif neighbour not in self._order:
                    self._enter(neighbour)
                elif neighbour in self._open:
                    self._lowest[node] = min(self._lowest[node], self._order[neighbour])

    def _enter(self, node: int) -> None:
        self._order[node] = self._lowest[node] = len(self._order)
        self._open[node] = None
        self._way.append((node, iter(self._following[node])))

    def _leave(self, node: int) -> Iterator[frozenset[int]]:
        self._way.pop()
        if self._way:
            above = self._way[-1][0]
            self._lowest[above] = min(self._lowest[above], self._lowest[node])
        if self._lowest[node] != self._order[node]:
            return
        part: set[int] = set()
        while node not in part:
            part.add(self._open.popitem()[0])
        if len(part) > 1 or node in self._following[node]:
            yield frozenset(part)


class NotStarted(Exception):
    """A place has given up waiting because another one has failed: it has neither failed nor finished."""


Play = Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """`needs[place]` must have ended before it; `levels` are the same as batches."""

    needs: Sequence[Sequence[int]]
    dependents: Sequence[Sequence[int]]
    levels: Sequence[Sequence[int]]


@dataclass(slots=True, kw_only=True)
class Played:
    finished: set[int] = field(default_factory=set)
    failed: dict[int, Exception] = field(default_factory=dict)
    waiting: dict[int, RunSuspended] = field(default_factory=dict)
    """They wait for people or other parties, and are played again when the run is."""


async def play_graph(
    graph: Graph, play: Play, *, scheduling: Literal["ready", "batch"] = "ready", on_failure: Literal["stop", "finish"] = "stop"
) -> Played:
    """After a failure nothing becomes ready any more; with `on_failure="finish"` what needs nothing of it still does.

    A waiting place holds up only what needs it. Cancelling cancels all that runs.
    """
    playing = _Playing(graph, play, stops=on_failure == "stop", follows=scheduling == "ready")
    if scheduling == "batch":
        for level in graph.levels:
            await playing.play_all([place for place in level if playing.is_ready(place)])
    else:
        await playing.play_all([place for place, needs in enumerate(graph.needs) if not needs])
    return playing.played


class _Playing:
    def __init__(self, graph: Graph, play: Play, *, stops: bool, follows: bool) -> None:
        """`stops`: nothing becomes ready after a failure; `follows`: the end of a place starts others."""
        self._graph, self._play, self._stops, self._follows = graph, play, stops, follows
        self._missing = [len(needs) for needs in graph.needs]
        self._ready: deque[int] = deque()
        self._is_helped = False
        """A task was made for what is ready, and has not begun yet."""
        self.played = Played()

    def is_ready(self, place: int) -> bool:
        return not self._missing[place] and not (self._stops and bool(self.played.failed))

    async def play_all(self, places: Sequence[int]) -> None:
        """Return when these places and all that follows have ended."""
        self._ready.extend(places)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._play_ready(group))

    async def _play_ready(self, group: asyncio.TaskGroup) -> None:
        """Play one place after the other; while one waits, another task plays the rest."""
        self._is_helped = False
        ready, played = self._ready, self.played
        while ready:
            place = ready.popleft()
            if ready and not self._is_helped:
                self._is_helped = True
                group.create_task(self._play_ready(group))
            try:
                await self._play(place)
            except RunSuspended as wait:
                played.waiting[place] = wait
            except NotStarted:
                continue
            except Exception as error:  # noqa: BLE001 - whatever a place raises is its failure, and the caller decides about it
                played.failed[place] = error
            else:
                played.finished.add(place)
                self._note_finished(place)

    def _note_finished(self, place: int) -> None:
        for other in self._graph.dependents[place]:
            self._missing[other] -= 1
            if self._follows and self.is_ready(other):
                self._ready.append(other)
