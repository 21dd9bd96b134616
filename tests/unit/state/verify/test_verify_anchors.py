"""Anchors catch forged journals whose own chain is right; what cannot be read or checked, and logs that are gone, are told."""

import logging.handlers
import os
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import httpx
import orjson
import pytest
from typer.testing import CliRunner

from bot.cli.journal.app import app
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.erasure.erase import ErasureFiles, erase_person, inspect_person
from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from sandbox.telegram.server import running
from sandbox.telegram.settings import TelegramSandboxSettings
from state.audit_log.interaction_log import InteractionLogger, erase_user, read_records
from state.clock import SystemClock
from state.journal import journal
from state.journal.journal import RecordHead
from state.sql import build_sqlite_url, open_reader, open_store
from state.verify.anchors import Anchor, NoAnchor, group_by_stream, read_anchors, take_anchor
from tests.fixed_clock import FixedClock
from tests.unit.spine_kit import ANNA, CHAT, NOW
from tests.unit.verify_kit import STREAM, told, verified, written


def anchored(database: Path) -> Anchor:
    """Where it stands."""
    store = open_reader(build_sqlite_url(database))
    try:
        return take_anchor(store, SystemClock().now())
    finally:
        store.close()


def rewritten(database: Path) -> None:
    """The first message says something else, and every hash from there on is right again, the head too."""
    columns = "seq, id, ts, type, v, actor, data"
    with closing(sqlite3.connect(database)) as connection, connection:
        head = ""
        for row in connection.execute(f"SELECT {columns} FROM events WHERE stream = ? ORDER BY seq", (STREAM,)).fetchall():  # noqa: S608 - ours
            seq, id_, ts, type_, v, actor, data = row
            ts = ts.replace("2026", "2025")
            head = journal.hash_record(head, journal.record_text(RecordHead(STREAM, seq, id_, ts, type_, v, actor), data))
            connection.execute("UPDATE events SET ts = ?, hash = ? WHERE stream = ? AND seq = ?", (ts, head, STREAM, seq))
        connection.execute("UPDATE leases SET hash = ?", (head,))
        connection.execute("UPDATE effects SET updated_at = replace(updated_at, '2026', '2025')")
        connection.execute("DELETE FROM snapshots")


def cut(database: Path) -> None:
    """The last record is gone, and the head says so."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")
        connection.execute("UPDATE leases SET (seq, hash) = (SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1)")


@pytest.mark.req("G2")
@pytest.mark.parametrize(("forge", "kind", "code"), [(rewritten, "damaged", 1), (cut, "cut", 3)])
def test_a_forged_journal_is_caught_with_an_anchor_only(forge: Callable[[Path], None], kind: str, code: int, database: Path) -> None:
    """Without one the forgery is whole, which shows that it is a good one."""
    kept = anchored(database)
    (database.parent / "anchors").write_text(f"Nov 22 host sdelka: {kept.render_line()}\n", encoding="utf-8")
    forge(database)

    assert told(verified(database).findings) == []
    found = [item for item in verified(database, group_by_stream([kept])).findings if item.kind != "note"]
    assert [(item.kind, item.place) for item in found] == [(kind, STREAM)]
    assert found[0].file.endswith("sdelka.db")
    done = CliRunner().invoke(app, ["verify", "--anchor", "anchors", "--no-logs", "--json"])
    assert (done.exit_code, orjson.loads(done.stdout.splitlines()[-1])["exit_code"]) == (code, code)
    assert CliRunner().invoke(app, ["verify", "--no-logs"]).exit_code == 0


def test_an_anchor_that_was_changed_is_refused() -> None:
    """A digest covers all of it; a short line proves another and says nothing alone."""
    made = Anchor(at="2026-11-22T00:00:00.000000Z", streams={STREAM: (3, "ab")}, logs={})

    assert read_anchors(f"x {made.render_short()}\nsyslog: {made.render_line()}\n") == [made]
    for text in (
        made.render_line().replace('3,"ab"', '2,"ab"'),
        made.render_short(),
        "",
        made.render_line()[:-5],
        made.render_line().replace('"anchor":1', '"anchor":2'),
    ):
        with pytest.raises(NoAnchor):
            read_anchors(text)


def test_a_whole_journal_says_so_in_one_line(database: Path) -> None:
    """Exit code 0 and the counts."""
    done = CliRunner().invoke(app, ["verify", "--no-logs"])

    assert (done.exit_code, done.stdout) == (0, "1 streams, 123 records, 10 effects, 0 logs: whole\n")


def test_damage_is_a_table_with_stream_number_and_file(database: Path) -> None:
    """Exit code 1."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE events SET actor = 'tg:9' WHERE seq = 7")
    done = CliRunner().invoke(app, ["verify", "--json"])
    row = orjson.loads(done.stdout.splitlines()[0])

    assert done.exit_code == 1
    assert (row["kind"], row["place"], row["seq"], Path(row["file"]).name) == ("damaged", STREAM, 7, "sdelka.db")
    assert row["offset"] is None, "what SQLite's file holds at which byte is SQLite's business"
    assert "NOT whole" in CliRunner().invoke(app, ["verify"]).stdout


@pytest.mark.parametrize("arguments", [["verify", "--anchor", "nowhere"], ["anchor", "--to", "nowhere/x"], ["anchor", "--to", "mine"]])
def test_wrong_use_is_a_sentence(arguments: list[str], database: Path) -> None:
    """SettingsError, which the program turns into exit code 2: no anchor file, no such place, a file one could rewrite oneself."""
    (database.parent / "mine").touch()
    done = CliRunner().invoke(app, arguments)

    assert type(done.exception).__name__ == "SettingsError"


def test_an_anchor_goes_to_a_file_a_pipe_and_to_syslog(database: Path) -> None:
    """The same line everywhere; a file is appended to."""
    runner = CliRunner()
    for _ in range(2):
        assert runner.invoke(app, ["anchor", "--to", "kept", "--own"]).exit_code == 0
    lines = (database.parent / "kept").read_text(encoding="utf-8").splitlines()
    piped = runner.invoke(app, ["anchor", "--to", "-"]).stdout
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(5)
        assert runner.invoke(app, ["anchor", "--to", f"syslog:127.0.0.1:{listener.getsockname()[1]}"]).exit_code == 0
        heard = listener.recv(65536).decode()

    streams = anchored(database).streams
    assert [found.streams for found in read_anchors("\n".join([*lines, piped, heard]))] == [streams] * 4
    assert heard.startswith(f"<{logging.handlers.SysLogHandler.LOG_AUTHPRIV << 3 | 6}>sdelka: ")
    assert os.stat(database.parent / "kept").st_mode & 0o777 == 0o640  # noqa: PTH116 - of the path as it stands


def test_an_anchor_goes_to_an_ops_chat(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message of the bot with the line itself; a refusal of the messenger is a sentence without the token."""
    with running(TelegramSandboxSettings(data_dir=tmp_path / "telegram")) as url:
        monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "1:sandbox")
        monkeypatch.setenv("TELEGRAM_API_BASE", url)
        sent = CliRunner().invoke(app, ["anchor", "--to", "telegram:1007"])
        shown = httpx.get(f"{url}/sandbox/chats/1007/messages", params={"after": 0}, trust_env=False).json()["messages"]
        monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "2:verysecret")
        refused = CliRunner().invoke(app, ["anchor", "--to", "telegram:999999"])

    assert sent.exit_code == 0
    assert read_anchors(shown[-1]["text"])[0].streams == anchored(database).streams
    assert type(refused.exception).__name__ == "SettingsError"
    assert "verysecret" not in str(refused.exception)


def test_a_database_put_back_beside_newer_logs_is_named(database: Path) -> None:
    """The chain of an older copy is whole; the log knows a turn that it does not, and is named with its line."""
    logs = database.parent / "logs"
    store = open_store(build_sqlite_url(database))
    rebuild_logs(store, logs)
    store.close()
    assert CliRunner().invoke(app, ["verify"]).exit_code == 0
    *_, last = (record for record in read_records(logs, CHAT) if record["type"] == "iteration")
    InteractionLogger(logs, clock=FixedClock(NOW)).record(CHAT, {**last, "turn_id": "01a2030b-90be-799d-b898-6bb62976bc1e"})
    count = len(list(read_records(logs, CHAT)))

    done = CliRunner().invoke(app, ["verify", "--json"])

    assert done.exit_code == 1
    found = [line for line in map(orjson.loads, done.stdout.splitlines()) if line.get("kind") == "inconsistent"]
    assert [(line["place"], line["seq"], line["file"]) for line in found] == [(CHAT, count, "tg%3a1007.jsonl")]
    assert "older database put back" in found[0]["what"]


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
