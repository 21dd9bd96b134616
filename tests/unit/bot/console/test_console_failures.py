"""Failures stay in the console: on a page while it is drawn, over a damaged journal, and beside a bot that goes on and starts first."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from bot.console import app
from bot.console import app as console_app
from bot.console.app import ROOT
from bot.console.page_list import PAGES
from bot.console.visit import VisitOver
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.bot.console.console_kit import ANNA, BORIS, OLGA, PUBLIC, VERA, ConsoleWorld, a_console
from tests.unit.bot.console.talk_kit import ask, decide, put_turn
from tests.unit.spine_kit import CHAT, until

LOAD = "bot.console.today.page.load_today"


def _raise(error: Exception) -> Callable[..., Awaitable[None]]:
    async def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.req("C-41")
async def test_a_page_that_fails_shows_nothing_of_the_error(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of an error may be of a record that the person may not see: it stands in the log alone."""
    await made.get("/", OLGA)
    monkeypatch.setattr(LOAD, _raise(ValueError("deal of somebody else, 481516")))

    page = await made.open("/", OLGA)

    assert page.has(page.visit.say("console-failed"))
    assert "481516" not in page.html
    assert "ValueError" not in page.html


@pytest.mark.req("C-8")
async def test_a_page_whose_person_loses_rights_while_it_is_drawn_is_empty(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leads to the first page, which is drawn with the rights that the person has now."""
    await made.get("/", OLGA)
    monkeypatch.setattr(LOAD, _raise(VisitOver()))

    answer = await made.get("/", OLGA)

    assert answer.status_code == 200
    assert "VisitOver" not in answer.text


async def test_nobody_fills_the_memory_with_pages(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many pages of one person the oldest that has no browser goes; if all have one, no further page is opened."""
    first = await made.open("/", OLGA)
    monkeypatch.setattr("bot.console.pages.MOST_PAGES", 2)
    second, other = await made.open("/", OLGA), await made.open("/", ANNA)
    third = await made.open("/approvals", OLGA)
    assert [page.visit.page.is_deleted for page in (first, second, other, third)] == [True, False, False, False]

    for page in (second, third):
        page.visit.page.tab_id = "a browser"
    assert (await made.get("/", OLGA)).status_code == 429
    assert (await made.get("/", ANNA)).status_code == 200


@pytest.mark.req("C-3")
@pytest.mark.parametrize("path", ["/login", "/login?link=x", "/", "/nowhere", "/static/console.css"])
async def test_answers_to_strangers_carry_the_policy_too(made: ConsoleWorld, path: str) -> None:
    """No site may frame the page on which people press the button that lets them in."""
    answer = await made.get(path, None)

    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.req("C-41")
async def test_a_form_that_is_no_login_lets_nobody_in(made: ConsoleWorld) -> None:
    """A body of another kind, with files, or damaged is answered, and is no login."""
    damaged = {"Origin": PUBLIC, "Content-Type": "multipart/form-data; boundary=x"}
    answers = [
        await made.http.post(f"{ROOT}/login", files={"link": b"x"}, headers={"Origin": PUBLIC}),
        await made.http.post(f"{ROOT}/login", content=b"link=x", headers=damaged),
        await made.http.post(f"{ROOT}/login", content=b"\xff\xfe", headers={"Origin": PUBLIC}),
    ]

    assert [answer.status_code in {400, 403} for answer in answers] == [True] * 3
    assert not any(answer.cookies for answer in answers)


async def test_a_browser_that_loads_pages_over_and_over_is_told_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many pages as somebody may load in a minute are shown at once; then a page waits, for that person alone, and not for long."""
    now = 100.0
    monkeypatch.setattr(console_app, "read_boottime", lambda: now)
    monkeypatch.setattr(console_app, "PAGES_PER_MINUTE", 3)
    async with a_console(tmp_path) as made:
        assert [(await made.get("/people", OLGA)).status_code for _ in range(4)] == [200, 200, 200, 429]
        refused = await made.get("/people", OLGA)
        assert (refused.headers["retry-after"], "Слишком много страниц" in refused.text) == ("20", True)
        assert 'href="/console/"' in refused.text
        assert (await made.get("/", ANNA)).status_code == 200
        assert (await made.get("/static/console.css", OLGA)).status_code == 200

        now += 20
        assert (await made.get("/people", OLGA)).status_code == 200


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


ADDRESSES = [spec for spec in PAGES if "{" not in spec.path]


@pytest.mark.long
@pytest.mark.parametrize("secret", ["AAAA", ""], ids=["damaged", "erased"])
@pytest.mark.req("C-13", "C-14", "C-18", "C-22")
async def test_what_cannot_be_read_of_one_person_closes_no_page(tmp_path: Path, secret: str) -> None:
    """The key of one person is damaged, or erased: each page that lists things is drawn, and so are theirs that tell what happened."""
    async with a_console(tmp_path, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as made:
        put_turn(made.world, CHAT, "посмотри сделку")
        done = await ask(made.world)
        await decide(made.world, done)
        await ask(made.world, amount=1_300_000)
        with closing(sqlite3.connect(tmp_path / "sdelka.db")) as connection, connection:
            assert connection.execute("UPDATE person_keys SET secret=? WHERE person=?", (secret, CHAT)).rowcount == 1
        failed = []
        for person in (OLGA, VERA, ANNA):
            paths = [spec.path for spec in ADDRESSES if not spec.roles or person.role in spec.roles]
            for path in (*paths, f"/conversations/{CHAT}", f"/audit/{done.effect_id}"):
                page = await made.open(path, person)
                if any(page.has(page.visit.say(code)) for code in ("console-failed", "console-no-database")):
                    failed.append((path, person.name))

        assert failed == []


@pytest.mark.req("C-17", "C-41")
async def test_a_card_that_cannot_be_read_is_said_to_be_damaged(tmp_path: Path) -> None:
    """The person of its session and who leads learn what is true and what to do; for everybody else there is no such card."""
    async with a_console(tmp_path, store=open_store(build_sqlite_url(tmp_path / "sdelka.db"))) as made:
        card = await ask(made.world)
        with closing(sqlite3.connect(tmp_path / "sdelka.db")) as connection, connection:
            assert connection.execute("UPDATE person_keys SET secret=? WHERE person=?", ("AAAA", CHAT)).rowcount == 1

        for person in (OLGA, ANNA):
            page = await made.open(f"/approvals/{card.confirmation_id}", person)
            assert page.has("sdelka journal verify"), person.name
            assert not page.has(page.visit.say("console-no-database")), person.name
        assert (await made.open(f"/approvals/{card.confirmation_id}", BORIS)).has("Такой записи нет, или вам её не видно.")


FOLDER = Path(__file__).resolve().parents[4]


@pytest.mark.long
@pytest.mark.req("C-1")
def test_the_bot_starts_without_nicegui() -> None:
    """The modules that `sdelka run` imports, the console's door among them, do not import it."""
    code = "import bot.composition.process, bot.console.app, sys; sys.exit('nicegui' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=FOLDER, check=False).returncode == 0


@pytest.mark.req("C-1")
async def test_the_first_page_loads_the_pages_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages are loaded by the first request of somebody who is logged in, and the event loop goes on meanwhile."""
    threads = []
    from bot.console import app  # noqa: PLC0415 - the module whose import is watched

    def watched(name: str) -> object:
        threads.append(threading.current_thread())
        return __import__(name, fromlist=["open_pages"])

    monkeypatch.setattr(app, "import_module", watched)
    async with a_console(tmp_path) as made:
        await made.get("/", None)
        assert not made.console.is_loaded

        assert (await made.get("/")).status_code == 200

        assert made.console.is_loaded
        assert threading.main_thread() not in threads
        assert len(threads) == 1
