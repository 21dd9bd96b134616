"""What `journal verify` says of a database it cannot read, of one it cannot check, and of logs that are gone."""

from datetime import timedelta
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.journal import verify
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.erasure.erase import ErasureFiles, erase_person, inspect_person
from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from state.audit_log.interaction_log import InteractionLogger, erase_user
from state.sql import build_sqlite_url, open_store
from tests.fixed_clock import FixedClock
from tests.unit.spine_kit import ANNA, CHAT, NOW
from tests.unit.verify_kit import told, verified, written

app = typer.Typer()
app.callback()(lambda: None)
verify.add(app)


def called(*arguments: str) -> tuple[int, str]:
    made = CliRunner().invoke(app, ["verify", *arguments])
    if isinstance(made.exception, SettingsError):
        return 2, made.exception.reason  # as bot.cli.app.main does
    assert made.exception is None or isinstance(made.exception, SystemExit)
    return made.exit_code, made.output


@pytest.mark.long
@pytest.mark.parametrize("name", [b"CREATE TABLE blobs", b"tableevents", b"leases ("])
def test_a_schema_that_sqlite_cannot_even_name_is_damaged(name: bytes, database: Path) -> None:
    """SQLite quotes the damaged text in its message, which is then no text itself: the file is named, and no traceback comes."""
    data = database.read_bytes()
    at = data.index(name)
    for offset in range(at, at + len(name)):
        database.write_bytes(data[:offset] + bytes([data[offset] ^ 0x80]) + data[offset + 1 :])
        found = [item for item in verified(database).findings if item.kind != "note"]
        assert found, offset
        assert all("codec" not in item.why for item in found), (offset, found)
        if any("no text" in item.why for item in found):
            assert ("damaged", str(database)) in [(item.kind, item.file) for item in found]
    database.write_bytes(data.replace(b"CREATE TABLE blobs", b"CREATE TABL\xc5 blobs"))
    assert called("--no-logs")[0] == 1


def test_a_damaged_key_accuses_the_records_it_opens_and_nothing_else(database: Path) -> None:
    """Effects and snapshot of a stream that cannot be read are not compared with it."""
    written(database, f"UPDATE person_keys SET secret='AAAA' || substr(secret, 5) WHERE person='{CHAT}'")  # noqa: S608 - a name of ours
    found = told(verified(database).findings)

    assert found
    assert [line for line in found if not line.startswith(f"damaged: session:{CHAT}: ")] == []


def test_what_cannot_be_checked_is_a_sentence(database: Path) -> None:
    """No database, an empty file, a schema of before: exit code 2, and nothing is said to be damaged."""
    written(database, "UPDATE alembic_version SET version_num='0001'")
    code, said = called("--no-logs")
    assert (code, "cannot be checked: it has schema 0001" in said) == (2, True)
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    database.touch()
    assert called("--no-logs") == (2, "the database cannot be checked: it is empty")
    database.unlink()
    assert called("--no-logs") == (2, f"there is no database {database}")


def test_a_version_that_never_was_is_damage(database: Path) -> None:
    """One flipped bit must not make the whole check a matter of wrong use."""
    written(database, "UPDATE alembic_version SET version_num='0083'")

    assert called("--no-logs")[0] == 1


@pytest.mark.req("S004-48")
def test_a_log_that_is_gone_is_found(database: Path) -> None:
    """Nothing in the folder tells of it, but the journal does; `--no-logs` leaves it out."""
    logs = database.parent / "logs"
    store = open_store(build_sqlite_url(database))
    rebuild_logs(store, logs)
    store.close()
    assert called()[0] == 0
    erase_user(logs, ANNA.key)
    code, said = called()
    assert (code, said.count("is missing before the first record"), "logs rebuild" in said) == (1, 1, True)
    assert called("--no-logs")[0] == 0


def test_of_an_erased_person_no_log_is_missed(database: Path) -> None:
    """The erasure took it, and the journal says so."""
    InteractionLogger(database.parent / "logs", clock=FixedClock(NOW)).record(ANNA.key, {"type": "iteration"})
    store = open_store(build_sqlite_url(database))
    place = ErasureFiles(logs=database.parent / "logs")
    erase_person(store, inspect_person(store, ANNA.key, place), place, now=NOW + timedelta(days=1), by="cli:ops")
    store.close()
    assert (database.parent / "logs" / "tg%3a1007.jsonl").exists() is False
    code, said = called()
    assert (code, "is missing" in said) == (0, False), said
