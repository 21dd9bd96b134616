"""The program that is killed: the whole core on a real database and a real wire, with a scripted person instead of a door.

Run as `child.py` it is a nursery: it imports everything once, then forks one child for each line of JSON on its input, before any
thread or loop exists, and answers each with the child's exit code.
"""

import asyncio
import importlib
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, get_args

import httpx
from lab_faults import FAULTS
from lab_script import SCRIPTS, SESSION, Step
from pydantic import SecretStr

from bitrix.client import BitrixClient
from bitrix.limiter import Limiter
from bot import bootstrap
from bot.settings import Settings
from orchestrator import workers
from orchestrator.errors import SettingsError
from orchestrator.gate.confirmations import second_nonce
from orchestrator.messages import Actor, Notice
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.settings import ModelSettings
from orchestrator.workers import Orchestrator
from state import agent_state, journal
from state.clock import new_id
from state.sql.dialect import sqlite_url
from state.sql.store import SqlStore, open_store
from state.store import EffectStatus, InboxRow, Store
from state.worker import AsyncStore

DEADLINE = 30
WRITES = ("put_inbox", "next_inbox", "finish_inbox", "acquire", "void_leases", "release", "commit", "outbox_sent")
ACTOR = Actor(key=SESSION, name="Анна", bitrix_user_id=7)
AHEAD = timedelta(seconds=120)
REFUSED = 4


class Points:
    """Counts the places where the process may die, and dies at the one it was given."""

    def __init__(self, target: dict[str, Any] | None, wal: Path) -> None:
        self.labels: list[str] = []
        self._target = target or {"at": 0, "how": ""}
        self._wal = wal

    def hit(self, label: str) -> None:
        """One place; does not return when it is the one."""
        if self._due(label):
            self._die()

    def torn(self, label: str, write: Callable[[], Any]) -> Any:
        """A write, or only the first half of what it puts into the write-ahead log."""
        if not self._due(label):
            return write()
        size = self._wal.stat().st_size if self._wal.exists() else 0
        write()
        grown = self._wal.stat().st_size
        if grown > size:
            os.truncate(self._wal, size + (grown - size) // 2)
        return self._die()

    def _due(self, label: str) -> bool:
        self.labels.append(label)
        at = self._target["at"]
        return len(self.labels) == at or label == at

    def _die(self) -> None:
        how = self._target["how"]
        if how == "exit":
            os._exit(137)
        self._target = {"at": 0, "how": ""}
        if how == "stop":
            self._wal.with_name("stopped").touch()
        os.kill(os.getpid(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)


def watch_store(points: Points) -> None:
    """Every writing method of the store gets a place before it, one in the middle and one after."""
    for name in WRITES:
        setattr(SqlStore, name, _watched(getattr(SqlStore, name), points))


def _watched(method: Callable[..., Any], points: Points) -> Callable[..., Any]:
    @wraps(method)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        label = f"{method.__name__}{_detail(args)}"
        points.hit(f"{label}:before")
        answer = points.torn(f"{label}:torn", lambda: method(self, *args, **kwargs))
        points.hit(f"{label}:after")
        return answer

    return watched


def _detail(args: tuple[Any, ...]) -> str:
    commit = args[0] if args and hasattr(args[0], "effects") else None
    if commit is None:
        return ""
    events = [type(event).__name__ for event in commit.events]
    effects = [f"->{change.status}" for change in commit.effects]
    return f"({','.join([*events, *effects, *(row.kind for row in commit.outbox)])})"


class Wire(httpx.AsyncBaseTransport):
    """The real transport with places before the send, after the other side acted, and after its answer was read."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._inner = httpx.AsyncHTTPTransport(verify=False)  # plain http; a context for https would cost 0.1 s a child

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        label = f"send({request.url.path.rpartition('/')[2]})"
        self._points.hit(f"{label}:before")
        request.headers["x-pid"] = str(os.getpid())
        response = await self._inner.handle_async_request(request)
        self._points.hit(f"{label}:acted")
        await response.aread()
        self._points.hit(f"{label}:after")
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class LabClock:
    """The machine's clock, which can be put forward: from within, or by a file while the process is stopped."""

    def __init__(self, ahead: float, file: Path) -> None:
        self.ahead = timedelta(seconds=ahead)
        self._file = file

    def now(self) -> datetime:
        """The present moment."""
        slept = float(self._file.read_text(encoding="utf-8")) if self._file.exists() else 0.0
        return datetime.now(UTC) + self.ahead + timedelta(seconds=slept)


class Told:
    """What a person saw and what a door acknowledged: lines that are on the disk before anything goes on."""

    def __init__(self, path: Path, generation: int) -> None:
        self._path = path
        self._generation = generation
        self.lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def add(self, kind: str, **body: Any) -> None:
        """One line, flushed."""
        line = {"kind": kind, "generation": self._generation, **body}
        self.lines.append(line)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def acknowledged(self, source: str) -> bool:
        """Whether the door told the messenger that it has this input."""
        return any(line["kind"] == "acknowledged" and line["source"] == source for line in self.lines)

    def cards(self, name: str) -> list[dict[str, Any]]:
        """The cards of that part of the script as the person sees them now."""
        own = {line["id"] for line in self.lines if line["kind"] == "offered" and line["source"].startswith(f"{name}/")}
        shown = [line["body"] for line in self.lines if line["kind"] == "card" and line["body"].get("turn_id") in own]
        return list({body["confirmation_id"]: body for body in shown}.values())


class Person:
    """Writes, reads and presses, one thing after the other; offers again what was not acknowledged."""

    def __init__(self, orchestrator: Orchestrator, store: AsyncStore, told: Told, clock: LabClock) -> None:
        self._orchestrator = orchestrator
        self._store = store
        self._told = told
        self._clock = clock

    async def act(self, steps: tuple[Step, ...]) -> None:
        """Everything of the script that was not done yet."""
        await self.rest()
        for step in steps:
            offered = [row for source in step.sources for row in self._rows(step, source)]
            rows = [row for row in offered if not self._told.acknowledged(row.source)]
            if rows:
                for row in rows:
                    self._told.add("offered", source=row.source, id=row.id)
                await self._orchestrator.receive(rows)
                for row in rows:
                    self._told.add("acknowledged", source=row.source)
                await self.rest()

    async def rest(self) -> None:
        """Until nothing is left to work on and everything was told."""
        while True:
            while not await self._orchestrator.idle() or await self._store.due_timers(self._clock.now()):
                await asyncio.sleep(0.002)
            rows = await self._store.due_outbox("tg", self._clock.now())
            if not rows:
                return
            for row in rows:
                self._told.add(row.kind, key=row.key, body=dict(row.body))
                await self._store.outbox_sent(row.id, "1")

    def _rows(self, step: Step, source: str) -> list[InboxRow]:
        """The message, or a press on every card that waits (`again`: on every card at all)."""
        if step.kind == "message":
            return [self._input("message", source, {"text": step.text, "origin": "typed"})]
        rows = []
        for card in self._told.cards(source.partition("/")[0]):
            number = card["confirmation_id"]
            if step.kind == "again" or card["status"] == "requested":
                nonce = second_nonce(card["nonce"]) if card["taps"] > 1 else card["nonce"]
                press = {"confirmation_id": number, "nonce": nonce, "approve": step.kind != "deny", "via": "button"}
                rows.append(self._input("decision", f"{source}/{number}", press | {"callback_id": f"{source}/{number}"}))
        return rows

    def _input(self, kind: str, source: str, body: dict[str, Any]) -> InboxRow:
        return InboxRow(
            id=new_id(),
            source=source,
            session=SESSION,
            lane="turn" if kind == "message" else "express",
            kind=kind,
            actor=ACTOR.model_dump(mode="json"),
            body=body,
            received_at=self._clock.now(),
        )


def known_answers(store: Store) -> list[list[Any]]:
    """[what was asked, iteration] of every recorded answer of the model."""
    events = [event for stream in store.streams() for event in store.read_events(stream)]
    asked = {event.data["turn_id"]: event.data["text"] for event in events if event.type == "MessageReceived"}
    return [[asked[event.data["turn_id"]], event.data["iteration"]] for event in events if event.type == "ModelAnswered"]


def inspected(store: Store) -> dict[str, Any]:
    """What the journal and the tables say at the end."""
    streams = {}
    for stream in store.streams():
        folded = agent_state.fold(agent_state.empty(), ((item.type, dict(item.data), item.ts) for item in store.read_events(stream)))
        streams[stream] = {"verified": type(journal.verify_stream(store, stream)).__name__, "state": folded}
        streams[stream]["loaded"] = journal.state_of(store, stream)[0]
    effects = [row for stream in store.streams() for status in get_args(EffectStatus) for row in store.effects(stream, status)]
    shown = [{"effect_id": row.effect_id, "status": row.status, "call": dict(row.call)} for row in effects]
    types = [event.type for stream in store.streams() for event in store.read_events(stream)]
    return {"streams": streams, "effects": shown, "events": types}


async def play(config: dict[str, Any], points: Points, told: Told) -> None:
    """Open the product on the database of the run, let the person act, and report."""
    folder = Path(config["folder"])
    address = f"http://127.0.0.1:{config['port']}"
    url = SecretStr(config["database_url"]) if config.get("database_url") else None
    settings = Settings(_env_file=None, state_dir=folder, log_dir=folder / "logs", agent_mode="full", database_url=url)
    clock = LabClock(config.get("ahead", 0.0), folder / "slept")

    async def trouble(session: str, notice: Notice) -> None:
        told.add("trouble", session=session, code=notice.code)

    async def silent(session: str, text: str) -> None:
        del session, text

    async with bootstrap.opened_store(settings) as store:
        told.add("begun", pid=os.getpid(), answers=await store.read(known_answers))
        client = BitrixClient(f"{address}/rest/1/lab/", limiter=Limiter.off(), transport=Wire(points))
        model = ModelClient(ModelSettings(base_url=f"{address}/v1", api_key=SecretStr("lab")), transport=Wire(points))
        orchestrator = bootstrap.assemble(settings, store, client, model, trouble=trouble, partial=silent, clock=clock)
        person = Person(orchestrator, store, told, clock)
        working = asyncio.ensure_future(orchestrator.run())
        try:
            await _course(config, person, clock, told)
            live = {session.stream: dict(session.state) for session in orchestrator._sessions.values()}
            report = await store.read(inspected)
            told.add("report", live=live, labels=points.labels, **report)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            await client.aclose()
            await model.aclose()


async def _course(config: dict[str, Any], person: Person, clock: LabClock, told: Told) -> None:
    """The script to its end; or, for two at a time, its first step (if any) and then whatever comes until a file says stop."""
    steps = SCRIPTS.get(config["script"], ())
    if config.get("until_stopped"):
        await person.act(steps[:1])
        told.add("rested")
        while not Path(config["folder"], "stop").exists():
            await person.rest()
            await asyncio.sleep(0.01)
    else:
        await person.act(steps)
    if config.get("settles", True):
        async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(verify=False)) as http:
            await http.post(f"http://127.0.0.1:{config['port']}/lab/late")
        clock.ahead += AHEAD  # now the outcomes that stayed open are looked at again
        await person.rest()


def live(config: dict[str, Any]) -> None:
    """The life of one child; leaves by os._exit."""
    signal.alarm(DEADLINE)
    folder = Path(config["folder"])
    log = os.open(folder / "child.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    logging.basicConfig(level=logging.WARNING, format=f"%(asctime)s {os.getpid()} %(message)s")
    logging.getLogger("orchestrator").setLevel(logging.INFO)
    told = Told(folder / "told.jsonl", config["generation"])
    points = Points(config.get("kill"), folder / "sdelka.db-wal")
    try:
        watch_store(points)
        FAULTS[config.get("fault", "")]()
        asyncio.run(play(config, points, told))
    except SettingsError as error:
        told.add("refused", text=str(error))
        os._exit(REFUSED)
    except BaseException:
        logging.exception("the child failed")
        os._exit(1)
    os._exit(0)


def warm_up() -> None:
    """Load what would otherwise be loaded in every child; leaves no thread, loop or connection behind."""
    for name in ("httpcore", "anyio._backends._asyncio", "alembic.command"):
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        open_store(sqlite_url(Path(folder, "warm.db"))).close()


def main() -> None:
    """The nursery."""
    warm_up()
    workers.POLL = 0.02
    rules = bootstrap._rules(Settings(_env_file=None))
    bootstrap._rules = lambda _: rules
    for line in sys.stdin:
        config = json.loads(line)
        pid = os.fork()
        if pid == 0:
            live(config)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
