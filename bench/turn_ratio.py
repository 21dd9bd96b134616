"""A turn of ours beside a fresh turn of LangGraph in one process: windows of both in turn, so that other work meets both alike.

Our window ends when what a turn leaves for later (records of the audit log, notes of the session) is written as well. The tenth part of the
windows that cost least is compared: they met the least of the machine's other work.
"""

import asyncio
import contextlib
import gc
import itertools
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from bench.peers_turn import MAKERS, Deal
from bench.turn_world import instant, product

ROUNDS: Final = 40
EACH: Final = 10
"""Turns in a window."""
PEOPLE: Final = 20
FIRST_PERSON: Final = 3000
FIRST_DEAL: Final = 10_000
REST: Final = 0.6
"""Seconds after our window in which what was left for later is written; they count as processor's time, not as time of a turn."""
_PEER: Final = "langgraph"


async def ratio_benches() -> list[dict[str, Any]]:
    """The processor's time of our turn by LangGraph's, and the same of the clock; no row without LangGraph."""
    async with product(instant) as runner:
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            try:
                peer = stack.enter_context(MAKERS[_PEER](Path(folder) / "peer.db", Deal()))
            except ImportError:
                return []
            numbers, left_out = itertools.count(), list[float]()

            async def make_ours() -> float:
                """What the frameworks have not, delivery, is not counted."""
                delivered, number = runner.delivering, next(numbers)
                person = FIRST_PERSON + number % PEOPLE
                took = await runner.turn(f"tg:{person}", number, deal=FIRST_DEAL + number, person=person)
                left_out.append(runner.delivering - delivered)
                return took

            async def make_theirs() -> float:
                number, begun = next(numbers), time.perf_counter()
                peer(f"fresh-{number}", number)
                return time.perf_counter() - begun

            for _ in range(2 * PEOPLE):  # the first turns of everybody read what later ones know
                await make_ours()
                await make_theirs()
            ours: list[tuple[float, float]] = []
            theirs: list[tuple[float, float]] = []
            for _ in range(ROUNDS):
                theirs.append(await _measure_window(make_theirs, left_out))
                ours.append(await _measure_window(make_ours, left_out))
    return [
        _compare("CPU", [cpu for cpu, _ in ours], [cpu for cpu, _ in theirs], 0.95),
        _compare("wall time", [wall for _, wall in ours], [wall for _, wall in theirs], 1.5),
    ]


async def _measure_window(turn: Callable[[], Awaitable[float]], left_out: list[float]) -> tuple[float, float]:
    """Milliseconds of the processor and of the clock for one turn of a window."""
    gc.collect()
    left_out.clear()
    cpu = time.process_time()
    took = sum([await turn() for _ in range(EACH)])
    await asyncio.sleep(REST)
    return 1000 * (time.process_time() - cpu - sum(left_out)) / EACH, 1000 * took / EACH


def _compare(what: str, ours: list[float], theirs: list[float], bar: float) -> dict[str, Any]:
    mine, beside = (sorted(each)[len(each) // 10] for each in (ours, theirs))
    ratio = round(mine / beside, 2)
    told = f"ours {mine:.2f} ms, LangGraph {beside:.2f} ms, p10 of {ROUNDS} windows of {EACH} turns in turn"
    row = {"name": f"{what} of a turn / LangGraph's fresh one", "value": ratio, "unit": "x", "bar": f"<= {bar}", "holds": ratio <= bar}
    return row | {"versus": told}
