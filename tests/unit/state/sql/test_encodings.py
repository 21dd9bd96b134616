"""A PostgreSQL database that cannot hold every text is refused when it is opened, by whoever opens it but to copy it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy import make_url, select

from bot.cli.doctor.database import check_database
from bot.settings.settings import Settings
from state.journal.store import StoreError
from state.sql import build_sqlite_url, dialect, open_reader, open_store
from state.sql.dialect import WrongEncoding
from state.sql.tables import values
from state.transfer.backup import create_backup
from state.transfer.move import find_move_target, move_database
from state.transfer.restore import put_into_place, unpack
from state.transfer.table_copy import open_reading
from state.verify.health import read_server
from tests.postgres_kit import Server, libpq

pytestmark = pytest.mark.long  # a server


@contextmanager
def database_in(postgres: Server, encoding: str) -> Iterator[str]:
    """The address of a new database in an encoding, while the block runs."""
    name = f"sdelka_{encoding.lower()}"
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING {} LC_COLLATE 'C' LC_CTYPE 'C'")
    postgres.run(statement.format(sql.Identifier(name), sql.Literal(encoding)))
    postgres.made.append(name)
    url = make_url(postgres.url).set(database=name).render_as_string(hide_password=False)
    try:
        yield url
    finally:
        postgres.drop(url)


@pytest.mark.parametrize("encoding", ["WIN1251", "KOI8R", "LATIN1", "SQL_ASCII"])
@pytest.mark.parametrize("opens", [open_store, open_reader, read_server, find_move_target])
def test_a_database_in_another_encoding_is_refused_with_what_to_do(postgres: Server, encoding: str, opens: Callable[[str], Any]) -> None:
    """The first «₽» or Cyrillic letter would fail in the middle of work; SQL_ASCII gave bytes in place of texts."""
    with database_in(postgres, encoding) as url, pytest.raises(WrongEncoding, match=f"is in {encoding}: make it anew with ENCODING 'UTF8'"):
        opens(url)


@pytest.mark.parametrize(("encoding", "letters"), [("WIN1251", "АЯаяЁё"), ("KOI8R", "АЯаяЁё"), ("LATIN1", "zé"), ("SQL_ASCII", "АЯаяЁё€")])
def test_it_is_copied_as_its_refusal_says(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, letters: str
) -> None:
    """`db move` and `backup` read what is in it, equal to the letter, whatever the order of its bytes; nothing is moved into such a one."""
    copy, restored = (build_sqlite_url(tmp_path / name / "sdelka.db") for name in ("copy", "restored"))
    with database_in(postgres, encoding) as url:
        with monkeypatch.context() as patch:
            patch.setattr(dialect, "_check_encoding", lambda *_: None)  # as before the check
            open_store(url).close()
        with psycopg.connect(libpq(url), client_encoding="utf8") as connection:
            for letter in letters:
                connection.execute('INSERT INTO "values" (key, value) VALUES (%s, %s)', (letter, letter * 3))
        create_backup(url, tmp_path / "logs", tmp_path / "a.backup", now=lambda: datetime.now(UTC), program="test")
        move_database(url, copy)
        with unpack(tmp_path / "a.backup", tmp_path) as unpacked:
            put_into_place(unpacked, restored, tmp_path / "restored_logs")
        with pytest.raises(WrongEncoding):
            move_database(copy, url)
    for place in (copy, restored):
        with open_reading(place) as reading:
            stored = dict(reading.execute(select(values)).all())
        assert {letter: stored[letter] for letter in letters} == {letter: letter * 3 for letter in letters}


def test_what_is_no_text_is_not_copied(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQL_ASCII takes any bytes: those that are no UTF-8 end a copy with a sentence, and the source stays open."""
    with database_in(postgres, "SQL_ASCII") as url:
        with monkeypatch.context() as patch:
            patch.setattr(dialect, "_check_encoding", lambda *_: None)
            open_store(url).close()
        with psycopg.connect(libpq(url)) as connection:
            connection.execute("SET client_encoding = 'SQL_ASCII'")
            connection.execute("""INSERT INTO "values" (key, value) VALUES ('x', E'\\xff')""")
        with pytest.raises(StoreError, match="cannot be read: invalid byte sequence"):
            create_backup(url, tmp_path / "logs", tmp_path / "a.backup", now=lambda: datetime.now(UTC), program="test")


def test_doctor_says_only_what_mends_it(postgres: Server) -> None:
    """The encoding and what copies: neither the address nor the server is doubted, for both are right."""
    with database_in(postgres, "WIN1251") as url:
        (finding,) = check_database(Settings(_env_file=None, database_url=SecretStr(url)))  # type: ignore[call-arg]
    assert (finding.verdict, finding.check) == ("wrong", "encoding")
    assert "is in WIN1251: make it anew with ENCODING 'UTF8' (`sdelka db move` copies)" in finding.says
    assert "pg_hba" not in finding.mending
