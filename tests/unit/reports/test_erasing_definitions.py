"""Erasing: who wrote definitions goes while the company's documents stay, and a damaged table of keys is told and never called proven."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.reports.consistency import EffectChecker
from state.canonical import hash_text
from state.journal import definitions
from state.model.definitions import Author, DefinitionVersion, Writer
from state.sql import build_sqlite_url
from state.verify.journal import verify_journal
from tests.unit.reports.erasing_kit import LATER, WISH, Home, a_command, often, opened, run, talk  # noqa: F401 - fixtures among them
from tests.unit.reports.erasing_kit import a_home as a_home  # noqa: PLC0414 - the fixture
from tests.unit.spine_kit import BORIS, CHAT

ANNA = Author(key=CHAT, name="Аннушка Краснопольская", user=7, via="http", at=LATER)
BOB = Author(key=BORIS.key, name="Борис", user=8, via="cli", at=LATER)
NOTE, WHY, THEIRS = "так просил Синицын из Вектора", "пожаловался Кузнецов из Вектора", "Аннушка Краснопольская так хотела"


def write(home: Home) -> DefinitionVersion:
    """Anna writes and switches, Boris saves another draft with a note about her, and each publishes once."""
    with opened(home) as store:
        write = lambda _: f"say: Пишет {ANNA.name}  # {ANNA.name} так решила\n"  # noqa: E731
        definitions.create_version(store, ANNA, "flow", "a", {"say": f"Пишет {ANNA.name}"}, title="Приём", note=NOTE, write_source=write)
        definitions.create_version(store, BOB, "flow", "a", {"say": "ждите"}, title="Приём", note=THEIRS)
        definitions.publish_version(store, BOB, "flow", "a", 1, expected=1, check=lambda _: None)
        definitions.publish_version(store, ANNA, "flow", "a", 2, expected=1, check=lambda _: None)
        definitions.switch_key(store, ANNA, "flow", "a", enabled=False, expected=3, note=WHY)
        found = definitions.find_version(store, "flow", "a", 1)
        assert found is not None
        return found


@pytest.mark.parametrize("home", ["file", "postgresql"], indirect=True)
def test_names_and_notes_go_and_what_others_wrote_stays(home: Home) -> None:
    before = write(home)
    found, done = run(home)
    assert found.rows == {"definitions": 2, "definition_history": 4, "events": 3}
    assert {name: done.removed[name] for name in ("definitions", "definition_history")} == {"definitions": 2, "definition_history": 4}
    with opened(home) as store:
        assert definitions.find_version(store, "flow", "a", 1) == replace(before, author_name="", note="")
        second = definitions.find_version(store, "flow", "a")
        assert second is not None
        assert (second.author_name, second.note, second.published_by_name) == ("Борис", THEIRS, "")
        told = [(one.by, one.by_name, one.note) for one in definitions.list_history(store, "flow", "a")]
        assert {(name, note) for by, name, note in told if by == CHAT} == {("", "")}
        assert {(name, note) for by, name, note in told if by == BOB.key} == {("Борис", THEIRS), ("Борис", "")}


@pytest.mark.parametrize("home", ["file", "postgresql"], indirect=True)
def test_what_remains_is_named_as_the_company_s_or_that_of_others(home: Home) -> None:
    """The proof holds: her words stand only in a document, in its text and in a note of Boris, and nowhere in free space."""
    before = write(home)
    found, done = run(home)
    assert {ANNA.name} <= set(found.names)
    assert (done.remains, done.unproven_reasons) == ((), ())
    held = {(trace.place, trace.owner) for trace in done.held_by_others}
    with opened(home) as store:
        noted = definitions.find_version(store, "flow", "a")
        assert noted is not None
        [entry] = [one for one in definitions.list_history(store, "flow", "a") if one.note == THEIRS]
    assert held == {
        (f"definition_texts {before.digest}", "company"),
        (f"definition_sources {hash_text(before.source)}", "company"),
        (f"definitions {noted.id}", BOB.key),
        (f"definition_history {entry.id}", BOB.key),
    }


def test_who_wrote_is_known_by_key_after_the_erasure_too(home: Home) -> None:
    """Nobody publishes alone what they wrote: an erasure must not open that. The journal still bears out every row."""
    write(home)
    run(home)
    with opened(home) as store:
        found = definitions.find_version(store, "flow", "a", 1)
        assert found is not None
        assert (found.author, found.writers) == (CHAT, (Writer(key=CHAT, user=7),))
        assert definitions.create_version(store, BOB, "flow", "a", {}, title="", note="").version == 3
    assert verify_journal(home.url, judge=EffectChecker, anchors={}, progress=lambda _: None).findings == []


DAMAGES = {
    "a secret that is no text": "secret=CAST(x'ff41' AS TEXT)",
    "a secret that is no base64": "secret='!' || substr(secret, 2)",
    "a secret that is too short": "secret=substr(secret, 1, 8)",
    "another secret": "secret='A' || substr(secret, 3, 1) || substr(secret, 3)",
    "a secret of bytes": "secret=CAST(secret AS BLOB)",
    "an empty secret": "secret=''",
    "a person that is no text": "person=CAST(x'ff41' AS TEXT)",
    "a person of bytes": "person=CAST(person AS BLOB)",
    "another person": "person='tg:70'",
    "an id that is no text": "key_id=CAST(x'ff41' AS TEXT)",
    "another id": "key_id='AAAAAAAA'",
    "no row": "",
    "a moment that is no text": "created_at=CAST(x'ff41' AS TEXT)",
    "an erasure that is no text": "erased_at=CAST(x'ff41' AS TEXT)",
}


TOLD_AT_ONCE = DAMAGES.keys() - {"another secret", "another person", "another id", "no row"}
"""What can be seen in the table alone."""


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One talk for all tests of this file."""
    folder = tmp_path_factory.mktemp("talked")
    asyncio.run(talk(Home(folder, build_sqlite_url(folder / "state" / "sdelka.db"))))
    return folder


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda name: name.replace(" ", "_"))
def test_a_damaged_key_is_told_and_proves_nothing(home: Home, command: Any, talked: Path, damage: str) -> None:
    """Whatever of the row is damaged: the person is erased, why nothing is proven is told, and no key is shown; without a traceback."""
    shutil.copytree(talked, home.folder, dirs_exist_ok=True)
    database = home.folder / "state" / "sdelka.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        [secret] = connection.execute("SELECT secret FROM person_keys WHERE person=?", (CHAT,)).fetchone()
        change = f"UPDATE person_keys SET {DAMAGES[damage]}" if DAMAGES[damage] else "DELETE FROM person_keys"  # noqa: S608 - our own words
        connection.execute(f"{change} WHERE person=?", (CHAT,))
    shutil.rmtree(home.folder / "logs")  # without it nothing else says that there was somebody

    listed, told = command("--list")
    code, shown = command(CHAT, "--yes", "--force")

    assert listed == (1 if damage in TOLD_AT_ONCE else 0), told
    assert code == 1, shown
    assert "Not proven: " in shown
    assert any(reason in shown for reason in ("damaged", "their records cannot be read", "their records are sealed")), shown
    assert secret[2:8] not in told + shown
    with closing(sqlite3.connect(database)) as connection:
        assert not [body for (body,) in connection.execute("SELECT body FROM inbox") if WISH in body]
