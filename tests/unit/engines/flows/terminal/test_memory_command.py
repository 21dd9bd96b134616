"""`sdelka memory` lists, shows and clears what flows remember of people, beside a running bot."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engines.flows.terminal.memory import app
from state.clock import SystemClock
from state.journal import flow_memory
from state.journal.flow_memory import MemoryEntry, MemoryPlace, MemoryWrite, Retention
from state.sql import build_sqlite_url, open_store

KEPT = {"log": Retention(2, 30)}
Call = Callable[..., tuple[int, str]]


@pytest.fixture(name="call")
def a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command on a database in which a flow remembers two people."""
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    now, store = SystemClock().now(), open_store(build_sqlite_url(tmp_path / "sdelka.db"))
    for person, texts in (("employee:7", ["a", "b", "\x1b[31mc"]), ("tg:9", ["d"])):
        for number, text in enumerate(texts):
            write = MemoryWrite("tg:1007", "r1", str(number), [MemoryEntry("log", {"content": text}, ["model", "prose"])])
            flow_memory.add_entries(store, MemoryPlace("offer", person), write, KEPT, now)
    old = MemoryWrite("tg:1007", "r0", "0", [MemoryEntry("log", "old", ["model"])])
    flow_memory.add_entries(store, MemoryPlace("other", "tg:9"), old, KEPT, now - timedelta(days=31))
    store.close()

    def call(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output

    return call


@pytest.mark.req("S002-A8")
def test_staff_see_what_is_remembered_and_clear_it(call: Call) -> None:
    """What is too old or replaced is not shown; what was cleared is gone for this person and stays for others."""
    code, told = call("list", "--json")
    assert (code, [(one["flow"], one["person"], one["entries"]) for one in map(json.loads, told.splitlines())]) == (
        0,
        [("offer", "employee:7", 2), ("offer", "tg:9", 1)],
    )
    assert "employee:7" not in call("list", "--person", "tg:9")[1]
    code, told = call("show", "offer", "employee:7")
    assert code == 0
    assert all(part in told for part in ("log", "r1", "model, prose", '{"content":"b"}'))
    assert '"a"' not in told
    assert "\x1b[31m" not in told
    assert json.loads(call("show", "offer", "tg:9", "--json")[1])["data"] == {"content": "d"}
    assert call("clear", "offer", "employee:7") == (0, "The flow offer has forgotten employee:7.\n")
    assert call("show", "offer", "employee:7")[0] == 1
    assert call("clear", "offer", "employee:7")[0] == 1
    assert call("show", "offer", "tg:9")[0] == 0


def test_a_place_that_never_was_is_said_to_be_empty(call: Call) -> None:
    """Exit code 1, and nothing is made."""
    assert call("show", "nothing", "tg:1")[0] == 1
    assert call("clear", "nothing", "tg:1")[0] == 1
    assert "nothing" not in call("list")[1]
