"""The lab: run a conversation, kill it, let others finish it, and see whether anything was done twice, lost or told wrongly."""

import json
import os
import selectors
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crash_servers import SCRIPT, Around, served
from spine_portal import CODE

from state.journal import Damage, state_of, verify_stream
from state.sql.dialect import sqlite_url
from state.sql.store import SqlStore, open_store

CHAT = "session:tg:1007"
AFTER_LEASE, SETTLED, LATER = 65.0, 200.0, 400.0
"""How far the clocks of the following lives are ahead: the lease is over; the portal has settled; whatever was left."""
KILLED = -9
PATIENCE = 20.0


class Lab:
    """One process with everything imported, from which every life is forked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.template = folder / "template.db"
        self._runs = 0
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("crash_child.py")), str(self.template)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if not name.startswith(("BITRIX", "OPENAI", "AGENT", "DATABASE"))},
        )
        assert self._answer() == "ready"

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def live(self, run: "Run", *, shift: float, kill_at: int = 0, kinds: Sequence[str] = ()) -> int:
        """One life of the program; its exit code."""
        told = {
            "folder": str(run.folder),
            "port": run.around.port,
            "code": CODE,
            "script": run.script,
            "faults": run.faults,
            "shift": shift,
            "kill_at": kill_at,
            "kinds": list(kinds),
            "patience": PATIENCE,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        code = int(self._answer())
        assert code in {0, KILLED}, (run.folder / "stderr.txt").read_text(encoding="utf-8")
        return code

    def _answer(self) -> str:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            assert selector.select(PATIENCE + 20), "the lab does not answer"
        return self._process.stdout.readline().strip()

    @contextmanager
    def run(self, script: Sequence[str] = SCRIPT, faults: Sequence[str] = ()) -> Iterator["Run"]:
        """A fresh database, portal and model."""
        self._runs += 1
        folder = self.folder / f"run{self._runs}"
        folder.mkdir()
        shutil.copy(self.template, folder / "sdelka.db")
        with served(Around(folder / "sdelka.db")) as around:
            yield Run(folder, around, list(script), list(faults))
        shutil.rmtree(folder)


class Run:
    """One conversation over several lives."""

    def __init__(self, folder: Path, around: Around, script: list[str], faults: list[str]) -> None:
        self.folder, self.around, self.script, self.faults = folder, around, script, faults

    def chat(self) -> list[dict[str, Any]]:
        """What the person has seen, in order."""
        path = self.folder / "chat.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def where(self) -> str:
        """The last words of the killed."""
        return (self.folder / "stderr.txt").read_text(encoding="utf-8").strip()

    def faults_found(self) -> list[str]:
        """Everything that must never be; an empty list when all is well."""
        store = open_store(sqlite_url(self.folder / "sdelka.db"))
        try:
            return [*self.around.violations, *self._ledger(store), *self._inbox(store), *self._told(store), *self._journal(store)]
        finally:
            store.close()

    def _ledger(self, store: SqlStore) -> Iterator[str]:
        """No write twice, and every effect knows the truth about itself."""
        sent = [_line(method, params) for method, params in self.around.portal.ledger]
        wishes = Counter(_line(method, params, marks=False) for method, params in self.around.portal.ledger)
        yield from (f"written {times} times: {what}" for what, times in wishes.items() if times > 1)
        for status, call in _query(store, "select status, call from effects"):
            for method, params in _parts(json.loads(call)["call"]):
                happened = _line(method, params) in sent
                if status not in {"succeeded", "refused", "superseded", "denied"} and not (status == "unknown" and method == "tasks.task.add"):
                    yield f"{method} was left {status}"
                if (status == "succeeded" and not happened) or (status == "refused" and happened):
                    yield f"{method} is called {status}, and the portal says otherwise"

    def _inbox(self, store: SqlStore) -> Iterator[str]:
        """Nothing taken in is lost: each input done, each message one turn with one end."""
        yield from (f"input {kind} is {status}" for kind, status in _query(store, "select kind, status from inbox") if status != "done")
        ends = Counter(json.loads(data)["turn_id"] for (data,) in _query(store, "select data from events where type = 'TurnFinished'"))
        begun = Counter(json.loads(data)["turn_id"] for (data,) in _query(store, "select data from events where type = 'MessageReceived'"))
        said = {row for (row,) in _query(store, "select id from inbox where kind = 'message'")}
        if not len(said) >= len(self.script) or ends != begun or set(begun) != said or any(times > 1 for times in ends.values()):
            yield f"{len(said)} messages, begun {sorted(begun.values())}, ended {sorted(ends.values())}"

    def _told(self, store: SqlStore) -> Iterator[str]:
        """The person has an answer to every message and sees every card as it stands."""
        chat = self.chat()
        answered = {line["body"].get("turn_id") for line in chat if line["kind"] == "reply"}
        for (turn,) in _query(store, "select json_extract(data, '$.turn_id') from events where type = 'TurnFinished'"):
            if turn not in answered:
                yield "a message was not answered"
        state, _ = state_of(store, CHAT)
        seen = {line["body"]["confirmation_id"]: line["body"]["status"] for line in chat if line["kind"] == "card"}
        for entry in state["agent"]["confirmations"].values():
            if seen.get(entry["confirmation_id"]) != entry["status"]:
                yield f"a card is {entry['status']} and shown as {seen.get(entry['confirmation_id'])}"
        verdicts = [json.loads(data)["verdict"] for (data,) in _query(store, "select data from events where type = 'OutcomeReconciled'")]
        codes = [notice["code"] for line in chat if line["kind"] == "reply" for notice in line["body"]["notices"]]
        for verdict in verdicts:
            if f"recovered-{verdict.replace('_', '-')}" not in codes:
                yield f"a call was found {verdict} and nobody was told"

    def _journal(self, store: SqlStore) -> Iterator[str]:
        for stream in store.streams():
            found = verify_stream(store, stream)
            if isinstance(found, Damage):
                yield f"the journal is damaged at {found.seq}: {found.why}"


def _query(store: SqlStore, sql: str) -> list[Any]:
    with store._database.read() as transaction:
        return list(transaction._cursor.execute(sql).fetchall())


def _parts(call: dict[str, Any]) -> list[tuple[str, Any]]:
    """A call as the ledger holds it: a batch command by command."""
    return [(part["method"], part["params"]) for part in call["commands"] or [call]]


def _line(method: str, params: Any, *, marks: bool = True) -> str:
    """One spelling for what was sent as JSON and as a query; without its marks a repeated wish looks like the first."""
    return json.dumps([method, _worded(params, marks=marks)], sort_keys=True, ensure_ascii=False)


def _worded(value: Any, *, marks: bool) -> Any:
    if isinstance(value, dict):
        return {key: _worded(item, marks=marks) for key, item in value.items() if marks or not key.startswith("ORIGIN")}
    return [_worded(item, marks=marks) for item in value] if isinstance(value, list) else str(value)
