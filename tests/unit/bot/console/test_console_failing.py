"""An error of the console stays in the console: the bot in whose process it works goes on."""

import asyncio
from contextlib import suppress

import pytest

from bot.console import app
from tests.unit.bot.console.console_kit import ConsoleWorld
from tests.unit.spine_kit import until


@pytest.mark.req("C-1")
async def test_errors_while_loading_and_while_closing_pages_do_not_end_it(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of the console goes on after an error at its start and at each round, and pages are still served."""
    tried: list[str] = []

    async def fail_to_load(_now: object) -> None:
        tried.append("load")
        raise RuntimeError("damaged")

    def fail_to_close() -> None:
        tried.append("close")
        raise RuntimeError("NiceGUI has another idea")

    monkeypatch.setattr(app, "_LOAD_AFTER", 0.0)
    monkeypatch.setattr(app, "_LOOK_EVERY", 0.0)
    monkeypatch.setattr(made.console.services.usage, "catch_up", fail_to_load)
    monkeypatch.setattr(made.console, "close_ended", fail_to_close)
    work = asyncio.create_task(made.console.run())

    await until(lambda: tried.count("close") > 1)

    assert not work.done()
    assert tried[0] == "load"
    assert (await made.get("/")).status_code == 200
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work
