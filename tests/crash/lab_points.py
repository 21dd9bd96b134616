"""Where a child may die: around every write of its store and every request on its wire. Imported by the child only."""

import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Protocol

import httpx

from state.journal.store import Commit
from state.sql.database import Database
from state.sql.store import SqlStore
from tests.crash.lab_shim import Shim

STALLED = 30
"""Seconds without any step after which a child is given up: a busy machine only makes the steps slow."""
MOST = 20_000
"""Steps after which it no longer counts that it takes further ones: it would go round for ever."""
WRITES = ("put_inbox", "take_inbox", "finish_inbox", "acquire", "expire_leases", "release", "commit", "commit_group", "mark_outbox_sent")

CAUSED = "caused "
"""Before how many inputs a commit has stored that no door has taken in."""


class Jumps(Protocol):
    """A clock that can be put forward or back."""

    def jump(self, seconds: float) -> None:
        """By so much."""
        ...


class Points:
    """Counts the places where the process may die, and dies at the one it was given; where ordered, the clock jumps or the disk fails."""

    def __init__(self, config: dict[str, Any], wal: Path, shim: Shim, clock: Jumps) -> None:
        """`config` may order `kill` (at, how, `first`: a path), `jump` (at, seconds), `disk` (from, `again` so often, what the shim is told there).

        Of the processes that are to die at the same place, the one dies that can create the file at the path `first`.
        """
        self.labels: list[str] = []
        self.names: list[str] = []
        """Of each place the name under which another run of the same script finds it again, such as "commit(TurnFinished,reply):after#2"."""
        self._seen: Counter[str] = Counter()
        self._target = config.get("kill") or {"at": 0, "how": ""}
        self._jump = config.get("jump") or {"at": 0}
        self._disk = config.get("disk") or {}
        self._wal = wal
        self._clock = clock
        self._transacting = threading.RLock()
        self.shim = shim

    def hit(self, label: str, own: str = "") -> None:
        """One place; does not return when it is the one. `own` is its label without what a commit takes along, which differs from run to run."""
        if self._due(label, own or label):
            self._die()

    def _on_the_way(self, label: str) -> None:
        self.shim.mark(label)
        if self._is(self._jump["at"], label):
            order, self._jump = self._jump, {"at": 0}
            self._clock.jump(order["seconds"])
        if self._is(self._disk.get("from", 0), label):
            self.shim.order(self._disk)
            left = self._disk.get("again", 1) - 1
            self._disk = {**self._disk, "again": left} if left else {}

    def torn(self, label: str, own: str, write: Callable[[], Any]) -> Any:
        """A write, or only the first half of what it puts into the write-ahead log."""
        if not self._due(label, own):
            return write()
        size = self._wal.stat().st_size if self._wal.exists() else 0
        write()
        grown = (
            self._wal.stat().st_size if self._wal.exists() else 0
        )  # a server's log is not ours to tear: there it is a death after the write
        if grown > size:
            os.truncate(self._wal, size + (grown - size) // 2)
        return self._die()

    def _due(self, label: str, own: str) -> bool:
        self.labels.append(label)
        self._seen[own] += 1
        self.names.append(f"{own}#{self._seen[own]}")
        if len(self.labels) < MOST:
            signal.alarm(STALLED)
        self._on_the_way(label)
        return self._is(self._target["at"], label) and self._is_first()

    def _is_first(self) -> bool:
        if not (path := self._target.get("first")):
            return True
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            self._target = {"at": 0, "how": ""}
            return False
        return True

    def _is(self, at: int | str, label: str) -> bool:
        """Whether this place is meant: by its number, its label, its name, or "~" and a pattern that its label holds."""
        if isinstance(at, str) and at.startswith("~"):
            return re.search(at[1:], label) is not None
        return at in {len(self.labels), label, self.names[-1]}

    def _die(self) -> None:
        how = self._target["how"]
        if how == "exit":
            os._exit(137)
        self._target = {"at": 0, "how": ""}
        if how != "stop":
            os.kill(os.getpid(), signal.SIGKILL)
        with self._transacting:  # one that sleeps within a transaction of another thread holds up the whole database: another matter
            self._wal.with_name("stopped").touch()
            os.kill(os.getpid(), signal.SIGSTOP)

    def watch_transactions(self) -> None:
        """Where this process is to fall asleep, it does so between transactions."""
        if self._target["how"] != "stop":
            return
        plain = Database._transaction

        @contextmanager
        def watched(database: Database, *given: Any) -> Iterator[Any]:
            with self._transacting, plain(database, *given) as transaction:
                yield transaction

        setattr(Database, "_transaction", watched)  # noqa: B010 - a method is put in the place of another


def watch_store(points: Points) -> None:
    """Every writing method of the store gets a place before it, one in the middle and one after."""
    points.watch_transactions()
    for name in WRITES:
        setattr(SqlStore, name, _watched(getattr(SqlStore, name), points))


def _watched(method: Callable[..., Any], points: Points) -> Callable[..., Any]:
    @wraps(method)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        name = method.__name__.removesuffix("_group")
        label, own = f"{name}{_detail(args)}", f"{name}{_detail(args, taken_along=False)}"
        points.hit(f"{label}:before", f"{own}:before")
        answer = points.torn(f"{label}:torn", f"{own}:torn", lambda: method(self, *args, **kwargs))
        if caused := _count_caused(args):
            points.shim.mark(f"{CAUSED}{caused}")
        points.hit(f"{label}:after", f"{own}:after")
        return answer

    return watched


def _detail(args: tuple[Any, ...], *, taken_along: bool = True) -> str:
    """What a write is about: the kinds of inputs; of a commit its events, the effects it moves, what it sends, with all that it takes along."""
    commit = args[0] if args else None
    if isinstance(commit, Sequence) and commit and hasattr(commit[0], "kind"):
        return f"({','.join(row.kind for row in commit)})"
    steps = _list_steps(commit) if taken_along else _list_own_steps(commit)
    if not steps:
        return ""
    events = [type(event).__name__ for step in steps for event in step.events]
    effects = [f"->{change.status}" for step in steps for change in step.effects]
    return f"({','.join([*events, *effects, *(row.kind for step in steps for row in step.outbox)])})"


def _count_caused(args: tuple[Any, ...]) -> int:
    """How many inputs a commit stores, such as the one that lets a turn go on."""
    return sum(len(step.inbox_new) for step in _list_steps(args[0] if args else None))


def _list_steps(given: Any) -> list[Commit]:
    """The commits that one write takes: itself with what waited before it, or a group of such."""
    if isinstance(given, Commit):
        return [*given.earlier, given]
    return [step for one in given for step in _list_steps(one)] if isinstance(given, list) else []


def _list_own_steps(given: Any) -> list[Commit]:
    """The commits that were to be stored now, without the earlier ones that waited for them."""
    if isinstance(given, Commit):
        return [given]
    return [step for one in given for step in _list_own_steps(one)] if isinstance(given, list) else []


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
