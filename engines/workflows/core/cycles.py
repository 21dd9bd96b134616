"""Finds the cycles of a graph of numbered nodes, without recursion."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

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
