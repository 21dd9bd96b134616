"""Finds the cycles of a graph whose nodes are numbers. Without recursion, so that the length of a way does not matter."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

MOST_CYCLES: Final = 50
"""How many cycles are looked for."""
Following = Sequence[Sequence[int]]
"""Of each node the nodes to which an edge leads from it."""


def find_cycles(following: Following, nodes: Iterable[int]) -> list[list[int]]:
    """Return cycles, each as its nodes in the order of the edges, beginning with those of the smallest nodes.

    Every edge that lies on a cycle stands in one of them, unless there are more than `MOST_CYCLES`. `nodes` are those to begin with: all
    cycles must be reachable from them.
    """
    found: list[list[int]] = []
    seen: set[tuple[int, int]] = set()
    for part in sorted(_Components(following).find(nodes), key=min):
        for source, target in ((one, other) for one in sorted(part) for other in following[one]):
            if target not in part or (source, target) in seen:
                continue
            cycle = [source, *_find_way(following, part, target, source)]
            seen.update(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
            found.append(cycle)
            if len(found) == MOST_CYCLES:
                return found
    return found


def _find_way(following: Following, part: frozenset[int], start: int, end: int) -> list[int]:
    """Return the shortest way inside of `part` from `start` to before `end`, which can be reached; nothing if they are the same."""
    before: dict[int, int] = {start: start}
    waiting = deque([start])
    while end not in before:
        node = waiting.popleft()
        for one in following[node]:
            if one in part and one not in before:
                before[one] = node
                waiting.append(one)
    way: list[int] = []
    while end != start:
        end = before[end]
        way.append(end)
    return way[::-1]


class _Components:
    """Finds the largest sets of nodes of which each can be reached from each, by Tarjan's method."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._order: dict[int, int] = {}
        """When each node was met."""
        self._lowest: dict[int, int] = {}
        """The earliest node that is still open and can be reached from each."""
        self._open: dict[int, None] = {}
        """The nodes whose set is not known yet, in the order in which they were met."""
        self._way: list[tuple[int, Iterator[int]]] = []

    def find(self, roots: Iterable[int]) -> Iterator[frozenset[int]]:
        """Yield the sets that hold a cycle."""
        for root in roots:
            if root not in self._order:
                self._enter(root)
            while self._way:
                node, waiting = self._way[-1]
                if (one := next(waiting, None)) is None:
                    yield from self._leave(node)
                elif one not in self._order:
                    self._enter(one)
                elif one in self._open:
                    self._lowest[node] = min(self._lowest[node], self._order[one])

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
