"""What keeps the building of pages quick, as far as it can be counted; bench/console.py measures the time."""

import asyncio
import re
from pathlib import Path

import pytest

from bot.console import app as console_app
from tests.unit.bot.console.console_kit import OLGA, ConsoleWorld, a_console
from tests.unit.bot.console.talk_kit import put_turn
from tests.unit.spine_kit import until


async def test_the_use_of_limits_is_read_when_the_console_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls of a day and the tokens of a month are known before anybody opens the first page."""
    monkeypatch.setattr(console_app, "_LOAD_AFTER", 0)
    async with a_console(tmp_path) as made:
        usage = made.console.services.usage
        running = asyncio.create_task(made.console.run())
        try:
            await until(lambda: usage._changes._read_to is not None and usage._usage._read_to is not None)
            assert made.console.is_loaded
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_page_that_was_left_reads_nothing_until_its_browser_is_back(made: ConsoleWorld) -> None:
    """Then it shows what has changed meanwhile; a page that is there shows it at once."""
    here, left = await made.open("/conversations"), await made.open("/conversations")
    await here.connect()
    await left.connect()
    await left.leave()
    put_turn(made.world, "tg:1008", "слова Бориса")
    await made.tell_change()
    assert here.has("слова Бориса")
    assert not left.has("слова Бориса")

    await left.connect()

    assert left.has("слова Бориса")


async def test_browsers_keep_the_styles_of_this_version_alone(made: ConsoleWorld) -> None:
    """A page names the version; another version, or none, is asked for again each time."""
    html = (await made.get("/")).text
    [address] = set(re.findall(r"/console(/static/console\.css\?v=\w+)", html))
    answers = [await made.get(path) for path in (address, f"{address}0", "/static/console.css")]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert ["immutable" in answer.headers["Cache-Control"] for answer in answers] == [True, False, False]


@pytest.mark.parametrize("path", ["/", "/policy", "/definitions/scenario/new", "/login"])
async def test_every_file_of_a_page_is_asked_for_with_its_version(made: ConsoleWorld, path: str) -> None:
    """After an update no browser goes on with a script or a style of before."""
    found = re.findall(r"[\"'](/console/static/[^\"']+)", (await made.get(path, None if path == "/login" else OLGA)).text)

    assert found
    assert [address for address in found if not re.fullmatch(r"/console/static/\w+\.(css|js)\?v=[0-9a-f]{16}", address)] == []


async def test_browsers_keep_the_components_of_nicegui(made: ConsoleWorld) -> None:
    """What a page is made of is not asked for anew at each page; what does not exist is not remembered."""
    html = (await made.get("/")).text
    address = re.findall(r"/console(/_nicegui/[^\"']+/components/[^\"']+)", html)[0]
    found, missing = await made.get(address), await made.get(f"{address}.missing")

    assert (found.status_code, found.headers["Cache-Control"]) == (200, "private, max-age=86400")
    assert missing.status_code == 404
    assert "Cache-Control" not in missing.headers
