"""A version is played by the rules of the time when it was first published, whatever program plays it later."""

import sqlite3
from pathlib import Path

import pytest

from orchestrator.runs.definitions import list_pins
from state.journal.definitions import create_version, find_active, publish_version
from state.model.definitions import EDITION, Author
from state.sql import build_sqlite_url, open_store
from state.sql.tables import definitions
from state.verify.definitions import find_definition_differences
from tests.unit.definitions.service_kit import HELLO, OLEG, VERA, a_desk, build_desk, data
from tests.unit.runs.runs_kit import RUN, a_run_world, start, started
from tests.unit.spine_kit import NOW

pytestmark = pytest.mark.req("G1")


async def test_a_version_gets_its_edition_when_it_is_first_published() -> None:
    """A draft has none, and one that was published before keeps its own when it becomes active again."""
    async with a_desk() as desk:
        first = (await desk.service.create(VERA, "steps", "plan", data(HELLO))).version
        assert first.edition == 0
        assert (await desk.service.publish(OLEG, "steps", "plan", 1, expected=1)).version.edition == EDITION
        with desk.sql._database._engine.begin() as connection:
            connection.execute(definitions.update().values(edition=0))  # as one that an earlier program has published
        await desk.publish("plan", HELLO)
        again = await desk.service.find_version(OLEG, "steps", "plan", 1)
        assert (await desk.service.publish(OLEG, "steps", "plan", 1, expected=again.revision)).version.edition == 0
        assert (await desk.service.find_version(OLEG, "steps", "plan", 2)).edition == EDITION


async def test_an_edition_that_its_records_do_not_bear_out_is_found() -> None:
    """Changed by hand it would give a published text another meaning."""
    async with a_desk() as desk:
        await desk.publish("plan", HELLO)
        with desk.sql._database._engine.connect() as connection:
            ask = lambda query: [tuple(row) for row in connection.execute(query)]  # noqa: E731 - as the verifier is given it
            assert find_definition_differences(ask) == []
            connection.execute(definitions.update().values(edition=7))
            (finding,) = find_definition_differences(ask)
        assert "edition is 7, its records say 1" in finding.why


async def test_a_run_keeps_the_edition_with_which_it_began(tmp_path: Path) -> None:
    """It stands in its first record, and in what its children are told."""
    async with a_run_world(tmp_path, {}) as world:
        desk = build_desk(world.store, world.sql)
        await desk.publish("plan", HELLO)
        await world.work(start("plan"))
        event = started(world, RUN)
        assert (event.edition, list_pins(event)[0]["edition"]) == (EDITION, EDITION)


def test_what_an_earlier_program_has_published_is_of_no_edition(tmp_path: Path) -> None:
    """Its drafts get the present edition when they are published."""
    path = tmp_path / "sdelka.db"
    author = Author(key="tg:1006", name="", user=6, via="http", at=NOW)
    store = open_store(build_sqlite_url(path))
    for key in ("plan", "draft"):
        create_version(store, author, "steps", key, HELLO, title="", note="")
    publish_version(store, author, "steps", "plan", 1, expected=1, check=lambda _version: None)
    store.close()
    with sqlite3.connect(path) as connection:
        for column in ("edition", "source"):
            connection.execute(f"ALTER TABLE definitions DROP COLUMN {column}")
        connection.execute("DROP TABLE definition_sources")
        connection.execute("UPDATE alembic_version SET version_num = '0008'")
    connection.close()
    store = open_store(build_sqlite_url(path))
    active = find_active(store, "steps", "plan")
    assert active is not None
    assert active.edition == 0
    assert publish_version(store, author, "steps", "draft", 1, expected=1, check=lambda _version: None).edition == EDITION
    store.close()
