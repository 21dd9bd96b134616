"""What a turn costs beyond the model and the portal: text → card → approval → one write → answer stored, both answering at once.

Real orchestrator, gate, journal; SQLite on disk with synchronous=FULL. The model stands at the port `Model`, the portal behind the
client's `call`: no HTTP is part of the overhead. A row of its own tells what a turn costs with both HTTP clients and the door's delivery.
Beside it: the same turn in the agent frameworks, with the same fakes (`peers_turn`).
"""

import asyncio
import itertools
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from bench.peers_turn import Figures, peers
from bench.turn_world import SESSION, WINDOW, Runner, instant, over_http, product

WARM_UP = 10
EARLY = 20
LATE = 2000
WITH_WIRES = 60
FRESH = 60
GROWTH_ROUNDS = 120
UNDELIVERED = 500
YOUNG = "young"


async def turn_benches() -> list[dict[str, Any]]:
    """Overhead and journal bytes of a turn, early and late in one conversation; the same of the peers."""
    async with product(instant) as runner:
        times, sizes = await runner.turns(LATE)
        fresh = [await runner.turn(f"tg:{1000 + number}", number) for number in range(FRESH)]
        async with product(instant) as young:
            growth = await _measure_growth(runner, young)
    async with product(over_http) as runner:
        wired = [await runner.turn(SESSION, number, delivered=True) for number in range(WITH_WIRES)]
    ours = Figures(name="sdelka", fresh=_ms(fresh[WARM_UP:]), early=_ms(times[WARM_UP : WARM_UP + WINDOW]), late=_ms(times[-WINDOW:]))
    return [*_rows(ours, sizes, _ms(wired[WARM_UP:])), *_show_growth(growth), *_show_peers(await asyncio.to_thread(peers))]


class Growth(NamedTuple):
    """What a turn costs in one case: CPU milliseconds of it and of a young turn (medians), and the median of their ratios in one round."""

    spent: float
    young: float
    ratio: float


async def _measure_growth(old: Runner, young: Runner) -> dict[str, Growth]:
    """What a turn costs with a journal of 2,000 turns of one person in one conversation, by case.

    In the cases but the first, a young conversation goes on: what is old is only what the case names.
    """
    numbers = itertools.count(10_000)
    cases: dict[str, Callable[[], Awaitable[float]]] = {
        YOUNG: lambda: young.turn(SESSION, 0, deal=next(numbers)),
        "of one conversation": lambda: old.turn(SESSION, 0, deal=next(numbers)),
        "of one deal": lambda: old.turn("tg:2001", 0, person=2001),
        "of one person in a day": lambda: old.turn("tg:2002", 0, deal=next(numbers)),
    }
    found = await _measure_cases(cases)
    await old.leave_undelivered(UNDELIVERED)
    away = f"with {UNDELIVERED} messages undelivered"
    with_away = await _measure_cases({YOUNG: cases[YOUNG], away: cases["of one person in a day"]})
    return found | with_away


async def _measure_cases(cases: Mapping[str, Callable[[], Awaitable[float]]]) -> dict[str, Growth]:
    """What a turn costs by case, beside the case `YOUNG`: one turn of each case in every round, compared with the young one of that round.

    A machine that others use has quick and slow seconds. The least of longer windows compares one case's quick second with another's slow
    one (0.8 and 1.4 for the same code); two turns that follow each other meet the same second.
    """
    spent: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(EARLY + GROWTH_ROUNDS):
        for name, turn in cases.items():
            started = time.process_time()
            await turn()
            if number >= EARLY:  # the first ones warm up
                spent[name].append(1000 * (time.process_time() - started))
    young = spent.pop(YOUNG)
    medians = {name: round(statistics.median(times), 2) for name, times in spent.items()}
    beside = round(statistics.median(young), 2)
    return {
        name: Growth(medians[name], beside, statistics.median(one / other for one, other in zip(times, young, strict=True)))
        for name, times in spent.items()
    }


def _rows(ours: Figures, sizes: list[int], wired: float) -> list[dict[str, Any]]:
    return [
        _row(f"turn overhead p50, turn {EARLY}", ours.early, "ms", "", holds=None),
        _row(f"turn overhead p50, turn {LATE}", ours.late, "ms", "", holds=None),
        _row("turn p50, first of a conversation", ours.fresh, "ms", "", holds=None),
        _row("turn p50 with HTTP clients and delivery", wired, "ms", "", holds=None),
        _row(f"journal bytes, turn {EARLY}", sizes[EARLY], "B", "<= 6144", holds=sizes[EARLY] <= 6144),
        _row(f"journal bytes, turn {LATE}", sizes[LATE - 1], "B", "not growing", holds=sizes[LATE - 1] <= 1.1 * sizes[EARLY]),
    ]


def _show_growth(growth: Mapping[str, Growth]) -> list[dict[str, Any]]:
    """Rows of the ratios: turn 2,000 / turn 20."""
    rows = []
    for name, case in growth.items():
        ratio = round(case.ratio, 2)
        told = f"{case.spent} / {case.young} ms of CPU, median of {GROWTH_ROUNDS} pairs"
        rows.append(_row(f"turn {LATE} / turn {EARLY} {name}", ratio, "x", "<= 1.1", holds=ratio <= 1.1) | {"versus": told})
    return rows


def _show_peers(others: list[Figures]) -> list[dict[str, Any]]:
    rows = []
    for other in others:
        told = f"turn 200 of one thread: {other.late} ms"
        rows.append(_row(f"{other.name}: same turn p50, fresh thread", other.fresh, "ms", "", holds=None) | {"versus": told})
    return rows


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": ""}


def _ms(seconds: list[float]) -> float:
    return round(statistics.median(seconds) * 1000, 2)
