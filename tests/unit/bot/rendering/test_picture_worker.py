"""The process that makes PNG files starts late, is replaced when it dies, ends with the program, and holds nobody up."""

import asyncio
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.i18n.translate import Translator
from bot.rendering.pictures.drawing import draw_report
from bot.rendering.pictures.worker_process import PictureFailed, PictureWorker
from tests.unit.bot.rendering.report_kit import make_bars

pytestmark = pytest.mark.long
ROOT = Path(__file__).resolve().parents[4]


def draw_svg() -> str:
    picture = draw_report(make_bars(), Translator("ru"))
    assert picture is not None
    return picture.svg


@pytest.fixture
def worker() -> Iterator[PictureWorker]:
    worker = PictureWorker()
    yield worker
    worker.close()


def read_pid(worker: PictureWorker) -> int:
    assert worker._process is not None
    return worker._process.pid


def test_the_first_picture_starts_one_process_which_draws_all(worker: PictureWorker) -> None:
    assert not worker.is_running
    png = worker.render_png(draw_svg())
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24])[0] == 900
    pid = read_pid(worker)
    assert worker.render_png(draw_svg()) == png
    assert read_pid(worker) == pid


def test_words_are_drawn_by_the_shipped_fonts(worker: PictureWorker) -> None:
    """Without the fonts the picture has no letters, and its file is much smaller."""
    svg = draw_svg()
    wordless = worker.render_png(svg.replace("<text", "<desc").replace("</text", "</desc"))
    assert len(worker.render_png(svg)) > 2 * len(wordless)


def test_a_worker_that_died_is_replaced_and_one_bad_picture_harms_no_other(worker: PictureWorker) -> None:
    worker.render_png(draw_svg())
    pid = read_pid(worker)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert worker.render_png(draw_svg())
    assert read_pid(worker) != pid
    with pytest.raises(PictureFailed):
        worker.render_png("<svg")
    assert worker.render_png(draw_svg())


def test_a_picture_that_takes_too_long_fails_and_the_next_gets_a_new_worker() -> None:
    worker = PictureWorker(seconds=0)
    try:
        with pytest.raises(PictureFailed):
            worker.render_png(draw_svg())
        assert not worker.is_running
    finally:
        worker.close()


def test_a_closed_worker_leaves_no_process(worker: PictureWorker) -> None:
    worker.render_png(draw_svg())
    pid = read_pid(worker)
    worker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not worker.is_running


def test_the_worker_ends_by_itself_when_the_program_is_killed() -> None:
    code = """
import os
from bot.rendering.pictures.worker_process import PictureWorker
worker = PictureWorker()
worker.render_png('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
print(worker._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    pid = int(told.stdout)
    until = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]:
        assert time.monotonic() < until
        time.sleep(0.01)


async def test_the_loop_turns_while_a_picture_is_made(worker: PictureWorker) -> None:
    svg = draw_svg()
    drawing = asyncio.create_task(asyncio.to_thread(worker.render_png, svg))
    turns = 0
    while not drawing.done():
        await asyncio.sleep(0)
        turns += 1
    assert await drawing
    assert turns > 100
