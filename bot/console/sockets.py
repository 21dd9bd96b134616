"""NiceGUI takes a message for any page that it names; here a socket acts on its own login's pages alone."""

from collections.abc import Callable
from inspect import isawaitable
from typing import Final, Protocol

from nicegui import core
from starlette.types import Scope

_NAMESPACE: Final = "/"
_SCOPE: Final = "asgi.scope"
_ACTS: Final = ("event", "javascript_response", "ack")
_HANDSHAKE: Final = "handshake"
_LOG: Final = "log"

Take = Callable[[str, object], object]


class MayUse(Protocol):
    def __call__(self, scope: Scope, page_id: str, *, acts: bool) -> bool:
        """May connect to the page or, with `acts`, do something there."""


def guard_sockets(may_use: MayUse) -> None:
    """Asked before all messages; what browsers want to write into the log is dropped."""
    takes = core.sio.handlers[_NAMESPACE]
    for name in (*_ACTS, _HANDSHAKE):
        takes[name] = _guard(takes[name], may_use, acts=name != _HANDSHAKE)
    takes.pop(_LOG, None)


def _guard(take: Take, may_use: MayUse, *, acts: bool) -> Take:
    async def guarded(sid: str, message: object) -> object:
        page_id = message.get("client_id") if isinstance(message, dict) else None
        scope = (core.sio.get_environ(sid) or {}).get(_SCOPE)
        if not isinstance(page_id, str) or scope is None or not may_use(scope, page_id, acts=acts):
            return False
        done = take(sid, message)
        return await done if isawaitable(done) else done

    return guarded
