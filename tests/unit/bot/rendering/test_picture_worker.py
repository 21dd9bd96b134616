"""Pictures are drawn by a worker, with the shipped fonts, and hold nobody up."""

import asyncio
import struct
from collections.abc import Iterator

import pytest

from bot.i18n.translate import Translator
from bot.rendering.pictures.drawing import draw_report
from bot.rendering.pictures.worker_process import PictureWorker
from orchestrator.workers.worker_process import WorkerFailed
from tests.unit.bot.rendering.report_kit import make_bars

pytestmark = pytest.mark.long


def draw_svg() -> str:
    picture = draw_report(make_bars(), Translator("ru"))
    assert picture is not None
    return picture.svg


@pytest.fixture
def worker() -> Iterator[PictureWorker]:
    worker = PictureWorker()
    yield worker
    worker.close()


def test_a_picture_is_two_and_a_half_times_as_wide(worker: PictureWorker) -> None:
    png = worker.render_png(draw_svg())
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24])[0] == 900


def test_words_are_drawn_by_the_shipped_fonts(worker: PictureWorker) -> None:
    """Without the fonts the picture has no letters, and its file is much smaller."""
    svg = draw_svg()
    wordless = worker.render_png(svg.replace("<text", "<desc").replace("</text", "</desc"))
    assert len(worker.render_png(svg)) > 2 * len(wordless)


def test_one_bad_picture_harms_no_other(worker: PictureWorker) -> None:
    with pytest.raises(WorkerFailed):
        worker.render_png("<svg")
    assert worker.render_png(draw_svg())


async def test_the_loop_turns_while_a_picture_is_made(worker: PictureWorker) -> None:
    svg = draw_svg()
    drawing = asyncio.create_task(asyncio.to_thread(worker.render_png, svg))
    turns = 0
    while not drawing.done():
        await asyncio.sleep(0)
        turns += 1
    assert await drawing
    assert turns > 100
