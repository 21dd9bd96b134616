"""Two bot processes on one PostgreSQL under load, killed with -9 again and again: all is answered, nothing is written twice."""

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from state.journal.process_lease import PREFIX
from state.sql import SqlStore, open_store
from tests import chain_kit
from tests.crash.takeover_world import DONE, TOKEN, Outside, opened_outside
from tests.forker import forked
from tests.postgres_kit import Server

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHATS = range(1001, 1013)
LEASE = 1.5
MARK = re.compile("М[0-9]{4}")
PATIENCE = 60.0
MAY_PAUSE = 15.0
"""Seconds within which another process takes over the polling of a killed one."""


class Bots:
    """The bot processes of one test, by name."""

    def __init__(self, folder: Path, url: str, port: int, *, lease: float | None = LEASE) -> None:
        """Prepare processes whose leases last `lease` seconds, None for as long as in production."""
        self.folder = folder
        self._common = {"folder": str(folder), "database_url": url, "port": port, "lease": lease, "token": TOKEN}
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        self._nursery = subprocess.Popen(
            forked(HERE / "takeover_child.py"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._pids: dict[str, int] = {}

    def start(self, name: str) -> None:
        """Start a bot of that name; it is ready when its log says so."""
        feed, answers = self._nursery.stdin, self._nursery.stdout
        assert feed is not None
        assert answers is not None
        feed.write(json.dumps({**self._common, "name": name}) + "\n")
        feed.flush()
        self._pids[name] = int(answers.readline())

    def send(self, name: str, what: int) -> None:
        """Send a signal to a bot that lives."""
        os.kill(self._pids[name], what)

    def ready(self, name: str) -> bool:
        """Whether the bot that was started last under that name has begun to work."""
        return f"{self._pids[name]} INFO the bot is ready" in self.log(name)

    def alive(self, name: str) -> bool:
        """Whether that process is there still."""
        return Path(f"/proc/{self._pids[name]}").exists()

    def log(self, name: str) -> str:
        """Everything the bots of that name have said."""
        file = self.folder / f"{name}.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def close(self) -> None:
        """Nothing of it is left."""
        for name in self._pids:
            with suppress(ProcessLookupError):
                self.send(name, signal.SIGKILL)
        self._nursery.communicate(timeout=30)


async def until(holds: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait for something that can be seen."""
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end, "it did not come about in time"
        await asyncio.sleep(0.02)


@dataclass
class Stage:
    """A database, the world around it, and the bots on it."""

    outside: Outside
    bots: Bots
    store: SqlStore
    asked: dict[str, int] = field(default_factory=dict)
    """mark → number of its update."""

    def ask(self, chat: int, mark: str) -> None:
        """Somebody asks for the deal of that name."""
        self.outside.say(chat, f"заведи сделку {mark}")
        self.asked[mark] = len(self.outside.updates)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """A look into the database past the store."""
        with self.store._database.read() as transaction:
            return list(transaction._cursor.execute(sql).fetchall())

    async def come_to_rest(self) -> None:
        """Wait until everything that was said has been worked on and told, as long as more and more of it is."""
        told, end = -1, 0.0
        while not self.settled():
            [(now,)] = self.rows("SELECT count(*) FROM deliveries")
            if now > told:
                told, end = now, time.monotonic() + PATIENCE
            assert time.monotonic() < end, f"nothing more was told after {told} deliveries"
            await asyncio.sleep(0.1)

    def settled(self) -> bool:
        """Everything that was said has been stored, worked on and told."""
        left = self.rows("SELECT (SELECT count(*) FROM inbox WHERE status = 'new'), (SELECT count(*) FROM outbox WHERE status <> 'failed')")
        return self.outside.confirmed > len(self.outside.updates) and left == [(0, 0)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The people of the test, all of whom are the same employee."""
    people = "".join(
        f"  - {{telegram_id: {chat}, name: Имя{chat}, bitrix_user_id: 7, role: manager, mode: full, time_zone: Europe/Moscow}}\n"
        for chat in CHATS
    )
    (tmp_path / "access.yaml").write_text(f"people:\n{people}", encoding="utf-8")
    return tmp_path


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """A fresh database on a real server."""
    url = postgres.fresh()
    yield url
    postgres.drop(url)


@pytest.fixture
async def stage(folder: Path, database: str) -> AsyncIterator[Stage]:
    """Everything but the bots themselves."""
    store = open_store(database)
    async with opened_outside() as outside:
        bots = Bots(folder, database, outside.port)
        try:
            yield Stage(outside, bots, store)
        finally:
            bots.close()
            store.close()


def findings(stage: Stage) -> list[str]:
    """Everything that does not hold at the end."""
    found = []
    sources = {source: (row_id, status) for row_id, source, status in stage.rows("SELECT id, source, status FROM inbox")}
    told = {key for (key,) in stage.rows("SELECT key FROM deliveries")}
    doubted: set[str] = set()
    damaged = [
        name for name in stage.store.list_streams() if not isinstance(chain_kit.verify_stream(stage.store, name), chain_kit.Verified)
    ]
    found.extend(f"the chain of {stream} is damaged" for stream in damaged)
    for event in stage.store.scan(["CallOutcomeUnknown"], limit=100_000):
        doubted.add(str(event.data["effect_id"]))
    effects: dict[str, list[tuple[str, str]]] = {}
    for effect_id, status, call in stage.rows("SELECT effect_id, status, call FROM effects"):
        effects.setdefault(MARK.findall(call)[0], []).append((effect_id, status))
    said = {word for _, text in stage.outside.shown for word in text.split()}
    for mark, number in stage.asked.items():
        row_id, status = sources.get(f"telegram:77:{number}", ("", "lost"))
        if status not in {"done", "quarantined"}:
            found.append(f"{mark} is {status}")
        if not {f"turn:{row_id}", f"gave-up:{row_id}"} & told:
            found.append(f"{mark} was never answered")
        found.extend(_effect(mark, effects.get(mark, []), stage.outside.written(mark), said=said, doubted=doubted))
    return found


def _effect(mark: str, rows: list[tuple[str, str]], times: int, *, said: set[str], doubted: set[str]) -> Iterator[str]:
    if times > 1:
        yield f"{mark} was written {times} times"
    if len(rows) > 1 or any(status not in {"succeeded", "refused", "unknown"} for _, status in rows):
        yield f"{mark} stands as {rows}"
    if times and not rows:
        yield f"{mark} was written without an intent"
    for effect_id, status in rows:
        if times != {"succeeded": 1, "refused": 0}.get(status, times):
            yield f"{mark} stands as {status}, but was written {times} times"
        if status == "unknown" and effect_id not in doubted:
            yield f"{mark} is unknown, and the journal does not say so"
    if f"{DONE}:{mark}" in said and times != 1:
        yield f"{mark} was told done, but was written {times} times"


async def _under_load(
    stage: Stage,
    seconds: float,
    victims: tuple[str, ...],
    record: Callable[[str, object], None],
    *,
    pause: tuple[float, float] = (0.03, 0.15),
) -> None:
    """Twelve chats write all the time while the victims die in turn; then all of it comes to rest."""
    chance = random.Random(17)  # noqa: S311  which moment it hits, not a secret
    for name in ("a", "b"):
        await asyncio.to_thread(stage.bots.start, name)
    await until(lambda: stage.outside.polls)
    end, kills, number = time.monotonic() + seconds, 0, 0

    async def writing() -> None:
        nonlocal number
        while time.monotonic() < end:
            number += 1
            stage.ask(CHATS[number % len(CHATS)], f"М{number:04}")
            await asyncio.sleep(chance.uniform(*pause))

    talk = asyncio.ensure_future(writing())
    while time.monotonic() < end:
        await asyncio.sleep(chance.uniform(0.5, 1.3))
        victim = victims[kills % len(victims)]
        stage.bots.send(victim, signal.SIGKILL)
        kills += 1
        await asyncio.to_thread(stage.bots.start, victim)
    await talk
    await stage.come_to_rest()
    assert findings(stage) == []
    assert stage.outside.conflicts == 0
    states = Counter(status for (status,) in stage.rows("SELECT status FROM effects"))
    [(epochs,)] = stage.rows("SELECT sum(epoch - 1) FROM leases")
    named = len(stage.store.scan(["CallOutcomeUnknown"], limit=100_000))
    line = f"{len(stage.asked)} messages, {kills} kills, {epochs} leases taken over, {dict(states)}, {named} outcomes named unknown: 0 lost, 0 doubled"
    record("crash", f"two processes on PostgreSQL ({seconds:.0f} s): {line}")


@pytest.mark.req("S004-A2", "G1", "G2")
async def test_two_processes_one_killed_again_and_again(stage: Stage, record_property: Callable[[str, object], None]) -> None:
    """Every message is answered, no write happens twice, though every second one of the two dies, mostly the same."""
    await _under_load(stage, 5.0, ("a", "a", "a", "b"), record_property)
    await until(lambda: stage.bots.ready("a") and stage.bots.ready("b"))
    for name in ("a", "b"):
        stage.bots.send(name, signal.SIGTERM)
    await until(lambda: not stage.bots.alive("a") and not stage.bots.alive("b"))
    assert [stage.bots.log(name).count("the bot ended") for name in ("a", "b")] == [1, 1]
    leases = stage.rows("SELECT session, owner FROM leases")
    assert [session for session, owner in leases if owner and not session.startswith(PREFIX)] == []
    released = [session for session, owner in leases if not owner and session.startswith(PREFIX)]
    assert len(released) == 2  # those of the two that ended; the lease of a killed process is its own, and nobody else takes it


@pytest.mark.crash_long
@pytest.mark.timeout(400)
async def test_two_processes_both_killed_for_long(stage: Stage, record_property: Callable[[str, object], None]) -> None:
    """The same for minutes, and both of them die in turn; no faster than the survivors of each second can work."""
    await _under_load(stage, 120.0, ("a", "b"), record_property, pause=(0.2, 0.8))


@pytest.fixture
async def real_leases(folder: Path, shared: str) -> AsyncIterator[Stage]:
    """A stage on each kind of database whose bots hold their leases for as long as in production."""
    store = open_store(shared)
    async with opened_outside() as outside:
        bots = Bots(folder, shared, outside.port, lease=None)
        try:
            yield Stage(outside, bots, store)
        finally:
            bots.close()
            store.close()


async def _find_poller(stage: Stage) -> tuple[str, str]:
    """Start two bots and return the name of the one that polls, then of the other, when both are ready."""
    for name in ("a", "b"):
        await asyncio.to_thread(stage.bots.start, name)
    await until(lambda: stage.bots.ready("a") and stage.bots.ready("b") and stage.outside.polls)
    polls, waits = sorted(("a", "b"), key=lambda name: "is led by this process" in stage.bots.log(name), reverse=True)
    return polls, waits


def _read_lease(stage: Stage) -> str:
    [(ends,)] = stage.rows("SELECT until FROM leases WHERE session LIKE 'door:telegram:%'")
    return str(ends)


@pytest.mark.req("G1")
@pytest.mark.timeout(120)
async def test_another_process_polls_within_fifteen_seconds(real_leases: Stage, record_property: Callable[[str, object], None]) -> None:
    """The polling process is killed just after it renewed its lease, the worst moment: who writes then has an answer within 15 seconds."""
    stage = real_leases
    polls, waits = await _find_poller(stage)
    renewed = _read_lease(stage)
    await until(lambda: _read_lease(stage) != renewed)
    stage.bots.send(polls, signal.SIGKILL)
    killed = time.monotonic()
    stage.ask(CHATS[0], "М0001")
    await until(lambda: stage.outside.shown)
    took = time.monotonic() - killed
    await stage.come_to_rest()
    assert took <= MAY_PAUSE
    assert stage.bots.alive(waits)
    assert findings(stage) == []
    kind = "PostgreSQL" if stage.store.threads > 1 else "one SQLite file"
    record_property("crash", f"kill -9 of the polling process ({kind}): the other one answers after {took:.1f} s")


@pytest.mark.req("G1")
@pytest.mark.timeout(120)
async def test_a_suspended_poller_wakes_up_and_ends_nobody(real_leases: Stage) -> None:
    """A process that is stopped past its lease is replaced, and leaves the new poller alone when it goes on."""
    stage = real_leases
    polls, waits = await _find_poller(stage)
    stage.bots.send(polls, signal.SIGSTOP)
    stage.ask(CHATS[0], "М0001")
    await until(lambda: stage.outside.shown)
    stage.bots.send(polls, signal.SIGCONT)
    await until(lambda: "no longer led by this process" in stage.bots.log(polls))
    stage.ask(CHATS[1], "М0002")
    await stage.come_to_rest()
    assert [stage.bots.alive(name) for name in (polls, waits)] == [True, True]
    assert findings(stage) == []
    assert stage.outside.conflicts == 0
