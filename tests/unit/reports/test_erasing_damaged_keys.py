"""`sdelka journal erase` where the table of keys is damaged: told clearly, and never called proven."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from state.sql import build_sqlite_url
from tests.unit.reports.erasing_kit import WISH, Home, a_command, a_home, often, talk  # noqa: F401 - fixtures among them
from tests.unit.spine_kit import CHAT

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
