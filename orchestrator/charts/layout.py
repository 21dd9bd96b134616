"""Layers from top to bottom, so that most arrows lead downwards.

Find arrows that lead back, put each box below the lowest that leads to it, order layers by the middle of neighbours, and move boxes there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from orchestrator.charts.chart import Arrow, Chart

BOX_WIDTH: Final = 252.0
BOX_HEIGHT: Final = 48.0
_GAP: Final = 28.0
_BEND_WIDTH: Final = 22.0
_LAYER: Final = 104.0
_ASIDE: Final = 70.0
_SWEEPS: Final = 8
MOST_BOXES: Final = 2000
MOST_POINTS: Final = 50_000
"""Boxes and bends; a larger chart nobody can read."""


class ChartTooLarge(ValueError):
    """More boxes or longer arrows than can be drawn."""


@dataclass(frozen=True, slots=True)
class Route:
    """From the box that it leaves to the one that it reaches."""

    arrow: Arrow
    points: Sequence[tuple[float, float]]
    is_back: bool
    """Upwards, beside the boxes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """x and y are the middle of a box."""

    places: Sequence[tuple[float, float]]
    routes: Sequence[Route]
    width: float
    height: float


def arrange(chart: Chart) -> Layout:
    """Raises ChartTooLarge."""
    count = len(chart.boxes)
    if count > MOST_BOXES:
        raise ChartTooLarge(f"the picture has {count} steps, and more than {MOST_BOXES} cannot be drawn")
    back = _find_back_arrows(count, chart.arrows)
    layers_of = _find_layers(count, [one for number, one in enumerate(chart.arrows) if number not in back])
    grid = _Grid(layers_of)
    chains = [() if number in back else grid.add_chain(arrow) for number, arrow in enumerate(chart.arrows)]
    grid.order()
    xs = grid.place()
    lowest = max(layers_of, default=0)
    right = max((x + grid.get_width(node) / 2 for node, x in enumerate(xs)), default=0.0)
    places = [(xs[node], _LAYER * layers_of[node]) for node in range(count)]
    routes: list[Route] = []
    lanes = 0
    for arrow, chain in zip(chart.arrows, chains, strict=True):
        if not chain:
            lanes += 1
            routes.append(_lead_back(arrow, places, right + 18.0 + 14.0 * lanes))
            continue
        routes.append(Route(arrow, [(xs[node], _LAYER * grid.layer_of[node]) for node in chain], is_back=False))
    return Layout(places=places, routes=routes, width=right + 40.0 + 14.0 * lanes, height=_LAYER * lowest + BOX_HEIGHT + _GAP)


def _lead_back(arrow: Arrow, places: Sequence[tuple[float, float]], lane: float) -> Route:
    """Out below, up beside all boxes, in from above."""
    (x1, y1), (x2, y2) = places[arrow.source], places[arrow.target]
    out, into, half, gap = x1 + _ASIDE, x2 + _ASIDE, BOX_HEIGHT / 2, (_LAYER - BOX_HEIGHT) / 4
    turn, end = y1 + half + gap, y2 - half - gap
    return Route(arrow, [(out, y1 + half), (out, turn), (lane, turn), (lane, end), (into, end), (into, y2 - half)], is_back=True)


def _find_back_arrows(count: int, arrows: Sequence[Arrow]) -> set[int]:
    """They lead to a box from which a walk from the first has come."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, arrow in enumerate(arrows):
        leaving[arrow.source].append(number)
    back: set[int] = set()
    state = ["new"] * count
    for first in range(count):
        walk = [(first, iter(leaving[first]))] if state[first] == "new" else []
        while walk:
            box, ways = walk[-1]
            state[box] = "open"
            number = next(ways, -1)
            if number < 0:
                state[box] = "done"
                walk.pop()
                continue
            target = arrows[number].target
            if state[target] == "open":
                back.add(number)
            elif state[target] == "new":
                walk.append((target, iter(leaving[target])))
    return back


def _find_layers(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """One below the lowest of those that lead to it."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    open_ways = [0] * count
    for arrow in arrows:
        leaving[arrow.source].append(arrow.target)
        open_ways[arrow.target] += 1
    layers = [0] * count
    ready = [box for box in range(count) if not open_ways[box]]
    while ready:
        box = ready.pop()
        for target in leaving[box]:
            layers[target] = max(layers[target], layers[box] + 1)
            open_ways[target] -= 1
            if not open_ways[target]:
                ready.append(target)
    return layers


class _Grid:
    """With the bends of long arrows."""

    def __init__(self, layers_of: Sequence[int]) -> None:
        self.layer_of = list(layers_of)
        self._boxes = len(layers_of)
        self._above: list[list[int]] = [[] for _ in layers_of]
        self._below: list[list[int]] = [[] for _ in layers_of]
        self._layers: list[list[int]] = []

    def get_width(self, node: int) -> float:
        return BOX_WIDTH if node < self._boxes else _BEND_WIDTH

    def add_chain(self, arrow: Arrow) -> Sequence[int]:
        """Both boxes, and a bend in each layer between."""
        chain = [arrow.source]
        for layer in range(self.layer_of[arrow.source] + 1, self.layer_of[arrow.target]):
            self.layer_of.append(layer)
            self._above.append([])
            self._below.append([])
            chain.append(len(self.layer_of) - 1)
            if len(self.layer_of) > MOST_POINTS:
                raise ChartTooLarge(f"the arrows of the picture have more than {MOST_POINTS} bends, which cannot be drawn")
        chain.append(arrow.target)
        for upper, lower in pairwise(chain):
            self._below[upper].append(lower)
            self._above[lower].append(upper)
        return chain

    def order(self) -> None:
        """By the middle of neighbours, downwards and upwards in turn."""
        self._layers = [[] for _ in range(max(self.layer_of, default=-1) + 1)]
        for node in range(len(self.layer_of)):
            self._layers[self.layer_of[node]].append(node)
        at = [0.0] * len(self.layer_of)
        for sweep in range(_SWEEPS):
            neighbours = self._below if sweep % 2 else self._above
            for layer in self._walk(upwards=bool(sweep % 2)):
                middles = {node: _find_middle([at[one] for one in neighbours[node]], at[node]) for node in layer}
                layer.sort(key=middles.__getitem__)
                for place, node in enumerate(layer):
                    at[node] = float(place)

    def place(self) -> list[float]:
        xs = [0.0] * len(self.layer_of)
        for layer in self._layers:
            self._spread(layer, [0.0] * len(layer), xs)
        for sweep in range(_SWEEPS):
            neighbours = self._below if sweep % 2 else self._above
            for layer in self._walk(upwards=bool(sweep % 2)):
                self._spread(layer, [_find_middle([xs[one] for one in neighbours[node]], xs[node]) for node in layer], xs)
        left = min((x - self.get_width(node) / 2 for node, x in enumerate(xs)), default=0.0)
        return [x - left for x in xs]

    def _walk(self, *, upwards: bool) -> Iterator[list[int]]:
        return reversed(self._layers) if upwards else iter(self._layers)

    def _spread(self, layer: Sequence[int], targets: Sequence[float], xs: list[float]) -> None:
        """As near to `targets` as order and widths allow: between both extremes."""
        steps = [(self.get_width(a) + self.get_width(b)) / 2 + _GAP for a, b in pairwise(layer)]
        pushed, pulled = list(targets), list(targets)
        for place, step in enumerate(steps):
            pushed[place + 1] = max(pushed[place + 1], pushed[place] + step)
        for place, step in reversed(list(enumerate(steps))):
            pulled[place] = min(pulled[place], pulled[place + 1] - step)
        for node, pushed_x, other in zip(layer, pushed, pulled, strict=True):
            xs[node] = (pushed_x + other) / 2


def _find_middle(values: Sequence[float], otherwise: float) -> float:
    if not values:
        return otherwise
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
