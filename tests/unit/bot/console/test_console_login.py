"""Who gets into the console, and what a stranger learns."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.console.app import COOKIE, ROOT
from bot.console.keys import LINK_LIFE, SESSION_LIFE
from tests.unit.bot.console.console_kit import ANNA, KEYS, OLGA, PUBLIC, ConsoleWorld, a_console, find_nonces, working
from tests.unit.spine_kit import until


@pytest.mark.req("C-5")
async def test_a_link_lets_in_once(made: ConsoleWorld) -> None:
    """The second use of a link says that it was used, and gives no cookie."""
    link = KEYS.sign_link("tg:1007", made.world.clock.now())

    first = await made.http.post(f"{ROOT}/login", data={"link": link}, headers={"Origin": PUBLIC})
    second = await made.http.post(f"{ROOT}/login", data={"link": link}, headers={"Origin": PUBLIC})

    assert (first.status_code, second.status_code) == (303, 403)
    assert COOKIE in first.cookies
    assert COOKIE not in second.cookies


@pytest.mark.req("C-5")
async def test_only_the_button_uses_a_link(made: ConsoleWorld) -> None:
    """A messenger that opens the link for a preview does not use it up."""
    link = KEYS.sign_link("tg:1007", made.world.clock.now())

    shown = await made.http.get(f"{ROOT}/login", params={"link": link})
    used = await made.http.post(f"{ROOT}/login", data={"link": link}, headers={"Origin": PUBLIC})

    assert "Войти" in shown.text
    assert used.status_code == 303


@pytest.mark.req("C-5", "C-41")
async def test_old_forged_and_foreign_links_let_nobody_in(made: ConsoleWorld) -> None:
    """A link that is too old, altered, or of somebody without access gets the same answer."""
    now = made.world.clock.now()
    old = KEYS.sign_link("tg:1007", now - LINK_LIFE)
    altered = KEYS.sign_link("tg:1007", now)[:-4] + "AAAA"
    stranger = KEYS.sign_link("tg:4242", now)
    cookie = KEYS.sign_session(KEYS.read_link(KEYS.sign_link("tg:1007", now), now), now)  # type: ignore[arg-type]

    answers = [
        await made.http.post(f"{ROOT}/login", data={"link": link}, headers={"Origin": PUBLIC})
        for link in (old, altered, stranger, cookie, "", "%00")
    ]

    assert {(answer.status_code, answer.text) for answer in answers} == {(403, answers[0].text)}


@pytest.mark.req("C-9")
@pytest.mark.parametrize("origin", ["", "http://evil.test", "null", "http://console.test.evil.test"])
async def test_posts_of_other_pages_are_refused(made: ConsoleWorld, origin: str) -> None:
    """A post without the Origin of the console changes nothing."""
    link = KEYS.sign_link("tg:1007", made.world.clock.now())

    answer = await made.http.post(f"{ROOT}/login", data={"link": link}, headers={"Origin": origin} if origin else {})

    assert answer.status_code == 403
    assert not answer.cookies


@pytest.mark.req("C-41")
async def test_without_login_every_address_answers_alike(made: ConsoleWorld) -> None:
    """A stranger cannot tell pages that exist from those that do not."""
    answers = [await made.get(path, None) for path in ("/", "/runs/1", "/nowhere", "/_nicegui/x", "/approvals")]

    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}


@pytest.mark.req("C-41")
async def test_a_login_ends_after_its_time(made: ConsoleWorld) -> None:
    """The cookie of yesterday shows the page for strangers."""
    assert "Ольга" in (await made.get("/", OLGA)).text
    made.world.clock.advance(SESSION_LIFE + timedelta(seconds=1))

    assert "Ольга" not in (await made.get("/", OLGA)).text


@pytest.mark.req("C-2", "C-3")
async def test_pages_carry_a_policy_and_their_scripts_its_nonce(made: ConsoleWorld) -> None:
    """Every script of a page has the nonce of its answer, and each answer another."""
    first, second = await made.get("/"), await made.get("/")

    [nonce] = find_nonces(first.text)
    assert nonce
    assert f"'nonce-{nonce}'" in first.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in first.headers["content-security-policy"]
    assert "http" not in first.headers["content-security-policy"]
    assert list(find_nonces(second.text)) != [nonce]


@pytest.mark.req("C-5", "C-11")
async def test_whoever_logs_out_is_out_in_every_browser(made: ConsoleWorld) -> None:
    """To log out ends the other sessions of the person too, and nobody else's."""
    cookie, other = await made.log_in(ANNA), await made.log_in(ANNA)
    made.world.clock.advance(timedelta(seconds=1))
    headers = {"Cookie": f"{COOKIE}={cookie}", "Origin": PUBLIC}

    assert (await made.http.post(f"{ROOT}/logout", headers=headers)).status_code == 303

    for one in (cookie, other):
        assert "Анна" not in (await made.http.get(f"{ROOT}/", headers={"Cookie": f"{COOKIE}={one}"})).text
    assert "Ольга" in (await made.get("/", OLGA)).text


@pytest.mark.req("C-8", "C-10")
async def test_a_page_of_somebody_demoted_is_over(made: ConsoleWorld) -> None:
    """With other rights than those with which it was drawn a page is closed; its buttons do nothing."""
    page = await made.open("/", OLGA)
    assert not page.visit.is_over
    made.access._by_telegram[1001] = OLGA.model_copy(update={"role": "manager"})

    assert page.visit.is_over
    made.console.pages.close_ended()
    made.console.pages.close_ended()
    assert page.visit.page.id not in made.console.pages.visits


@pytest.mark.req("C-5")
async def test_a_login_is_recorded_and_told(tmp_path: Path) -> None:
    """The journal of the person's chat names the login, and the chat says that somebody came in."""
    async with a_console(tmp_path) as made, working(made.world):
        await made.log_in(ANNA)
        await until(lambda: bool(made.world.events("ConsoleEntered")))
        assert "console-entered" in str([row.body for row in made.world.outbox()])
