"""A PostgreSQL database that cannot hold every text is refused when it is opened, by whoever opens it."""

from collections.abc import Callable
from typing import Any

import pytest
from psycopg import sql
from sqlalchemy import make_url

from state.sql import open_reader, open_store
from state.sql.dialect import WrongEncoding
from state.verify.health import read_server
from tests.postgres_kit import Server

pytestmark = pytest.mark.long  # a server


@pytest.mark.parametrize("encoding", ["WIN1251", "KOI8R", "LATIN1", "SQL_ASCII"])
@pytest.mark.parametrize("opens", [open_store, open_reader, read_server])
def test_a_database_in_another_encoding_is_refused_with_what_to_do(postgres: Server, encoding: str, opens: Callable[[str], Any]) -> None:
    """The first «₽» or Cyrillic letter would fail in the middle of work; SQL_ASCII gave bytes in place of texts."""
    name = f"sdelka_{encoding.lower()}_{opens.__name__}"
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING {} LC_COLLATE 'C' LC_CTYPE 'C'")
    postgres.run(statement.format(sql.Identifier(name), sql.Literal(encoding)))
    postgres.made.append(name)
    url = make_url(postgres.url).set(database=name).render_as_string(hide_password=False)
    with pytest.raises(WrongEncoding, match=f"is in {encoding}: make it anew with ENCODING 'UTF8'"):
        opens(url)
    postgres.drop(url)
