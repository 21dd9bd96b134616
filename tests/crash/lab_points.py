"""Where a child may die: around every write of its store and every request on its wire. Imported by the child only."""

import os
import signal
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import httpx

from state.sql.store import SqlStore

WRITES = ("put_inbox", "next_inbox", "finish_inbox", "acquire", "void_leases", "release", "commit", "outbox_sent")


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
        return at in {len(self.labels), label}

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
