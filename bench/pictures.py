"""How long a picture of a report takes to be drawn and to become a file, and how far the loop is held up meanwhile.

Every kind and every hard case of the tests, one after the other, in the worker that a bot has.
"""

import asyncio
import time
from typing import Any, Final

from bot.i18n.translate import Translator
from bot.rendering.pictures.drawing import draw_svg
from bot.rendering.pictures.worker_process import PictureWorker
from tests.unit.bot.rendering.report_kit import MAKERS, list_edges

_BEAT: Final = 0.002


async def picture_benches() -> list[dict[str, Any]]:
    tr, worker = Translator("ru"), PictureWorker()
    answers = [answer for kind, make in MAKERS.items() for answer in (make(), *(answer for _, answer in list_edges(kind)))]
    drawn: list[float] = []
    made: list[float] = []
    lags: list[float] = []
    beating = asyncio.create_task(beat(lags))
    try:
        begun = time.perf_counter()
        await asyncio.to_thread(worker.render_png, draw_svg(answers[0], tr))
        first = time.perf_counter() - begun
        for answer in answers:
            begun = time.perf_counter()
            svg = draw_svg(answer, tr)
            drawn.append(time.perf_counter() - begun)
            await asyncio.sleep(0)
            begun = time.perf_counter()
            await asyncio.to_thread(worker.render_png, svg)
            made.append(time.perf_counter() - begun)
    finally:
        beating.cancel()
        worker.close()
    return [
        _row("picture of a report: its SVG, p95", find_quantile(drawn, 0.95), 10, f"{len(answers)} pictures"),
        _row(
            "picture of a report: PNG in the worker, median",
            find_quantile(made, 0.5),
            150,
            f"p95 {1000 * find_quantile(made, 0.95):.0f} ms",
        ),
        _row("the first picture, with the start of its worker", first, 1000, ""),
        _row("lag of the loop while pictures are made, p99", find_quantile(lags, 0.99), 10, f"largest {1000 * max(lags):.0f} ms"),
    ]


async def beat(lags: list[float]) -> None:
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(_BEAT)
        lags.append(time.perf_counter() - begun - _BEAT)


def find_quantile(numbers: list[float], share: float) -> float:
    return sorted(numbers)[min(int(len(numbers) * share), len(numbers) - 1)]


def _row(name: str, seconds: float, most: int, versus: str) -> dict[str, Any]:
    milliseconds = round(1000 * seconds, 1)
    return {"name": name, "value": milliseconds, "unit": "ms", "bar": f"<= {most} ms", "holds": milliseconds <= most, "versus": versus}
