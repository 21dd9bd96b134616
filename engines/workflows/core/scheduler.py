"""Runs the tuums of a compiled graph side by side, each when its last input is there, or batch by batch (S003-15, S003-30 … S003-35).

It knows places in a graph and nothing of what stands there. After a failure nothing becomes ready any more, and what was ready before it
is brought to its end, whether its turn had come or not: which of two places that are ready stands first in a file changes nothing. A place
that waits for something scarce may give up by itself (`NotStarted`).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.engines.runs import RunSuspended


class NotStarted(Exception):
    """Raised by a place that has given up what it waited for because another one has failed: it is no failure, and has not finished."""


Play = Callable[[int], Awaitable[None]]
"""Runs what stands at a place, and publishes what it gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Which places wait for which: `needs[place]` are those that must have ended before it, `levels` the same as batches."""

    needs: Sequence[Sequence[int]]
    dependents: Sequence[Sequence[int]]
    levels: Sequence[Sequence[int]]


@dataclass(slots=True, kw_only=True)
class Played:
    """What became of the places of a graph."""

    finished: set[int] = field(default_factory=set)
    failed: dict[int, Exception] = field(default_factory=dict)
    waiting: dict[int, RunSuspended] = field(default_factory=dict)
    """Places that wait for people or other parties; they are played again when the run is."""


async def play_graph(
    graph: Graph, play: Play, *, scheduling: Literal["ready", "batch"] = "ready", on_failure: Literal["stop", "finish"] = "stop"
) -> Played:
    """Play every place once whose needs have ended, and return what became of them.

    After a failure nothing becomes ready any more; with `on_failure="finish"` everything still does that needs nothing of what failed. A
    place that waits holds up only what needs it. Cancelling cancels all that runs.
    """
    playing = _Playing(graph, play, stops=on_failure == "stop", follows=scheduling == "ready")
    if scheduling == "batch":
        for level in graph.levels:
            await playing.play_all([place for place in level if playing.is_ready(place)])
    else:
        await playing.play_all([place for place, needs in enumerate(graph.needs) if not needs])
    return playing.played


class _Playing:
    """One pass through a graph."""

    def __init__(self, graph: Graph, play: Play, *, stops: bool, follows: bool) -> None:
        """With `stops` nothing becomes ready after a failure; with `follows` the end of a place starts those that waited for it alone."""
        self._graph, self._play, self._stops, self._follows = graph, play, stops, follows
        self._missing = [len(needs) for needs in graph.needs]
        self._ready: deque[int] = deque()
        self._is_helped = False
        """Whether a task has been made for what is ready, and has not begun yet."""
        self.played = Played()

    def is_ready(self, place: int) -> bool:
        """Return whether all that a place needs has ended, and it may start."""
        return not self._missing[place] and not (self._stops and bool(self.played.failed))

    async def play_all(self, places: Sequence[int]) -> None:
        """Play these places side by side, and what follows them; return when all has ended."""
        self._ready.extend(places)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._play_ready(group))

    async def _play_ready(self, group: asyncio.TaskGroup) -> None:
        """Play what is ready, one place after the other; while one of them waits for something, another task plays the rest.

        That task is made before the place begins, and finds nothing if the place did not wait: a task for each place would cost more than
        the scheduling itself.
        """
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
        """Make ready what has waited for this place alone."""
        for other in self._graph.dependents[place]:
            self._missing[other] -= 1
            if self._follows and self.is_ready(other):
                self._ready.append(other)
