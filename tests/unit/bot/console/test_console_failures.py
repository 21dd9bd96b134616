"""What a page shows when something fails while it is drawn, or when its person has just lost rights; and the headers of all answers."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.console import app as console_app
from bot.console.app import ROOT
from bot.console.visit import VisitOver
from tests.unit.bot.console.console_kit import ANNA, OLGA, PUBLIC, ConsoleWorld, a_console

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
