"""Pages over a journal in which something cannot be read: that hides nothing of others."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.console.page_list import PAGES
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.bot.console.console_kit import ANNA, BORIS, OLGA, VERA, a_console
from tests.unit.bot.console.talk_kit import ask, decide, put_turn
from tests.unit.spine_kit import CHAT

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
