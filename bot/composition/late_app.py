"""An ASGI app that is imported and built in a thread, after the start of the process or when the first request comes.

FastAPI with all endpoints takes 0.7 s of the processor to import and build, of which a process that has just begun needs nothing.
"""

import asyncio
import gc
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from state.stored import JsonObject

_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Work = Callable[[], Coroutine[object, None, None]]


@dataclass(frozen=True)
class BuiltApp:
    """An app, and the work that must be running while it is served, if there is any."""

    app: ASGIApp
    run: Work | None = None


class LateApp:
    """Serves the app that `build` returns; requests that come before it is built wait for it."""

    def __init__(self, build: Callable[[], BuiltApp], early: Mapping[str, JsonObject] | None = None) -> None:
        """Take the function that imports and builds the app; a thread calls it, once.

        `early` are the answers to GET, by path, that are given while the app is not built yet; the app itself answers the same.
        """
        self._build, self._early = build, early or {}
        self._built: BuiltApp | None = None
        self._loading: asyncio.Task[BuiltApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or socket."""
        if self._built is None and scope["type"] == "http" and scope["method"] == "GET" and scope["path"] in self._early:
            await JSONResponse(self._early[scope["path"]], headers=_HEADERS)(scope, receive, send)
            return
        built = self._built or await self.load()
        await built.app(scope, receive, send)

    async def load(self) -> BuiltApp:
        """Return the app with its work, built by the first call; raises what `build` raises.

        A caller that is cancelled does not end the building for the others: a second thread would build the same beside the first.
        """
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._load())
        return await asyncio.shield(self._loading)

    async def _load(self) -> BuiltApp:
        was_collecting = gc.isenabled()
        gc.disable()  # as for the imports of the start: a collection among imported objects finds nothing and holds everybody up
        try:
            self._built = await asyncio.to_thread(self._build)
            gc.freeze()
        finally:
            if was_collecting:
                gc.enable()
        return self._built

    async def run(self, after: float) -> None:
        """Build the app `after` seconds, unless a request has needed it before, and do its work; raises what `build` raises."""
        await asyncio.sleep(after)
        built = await self.load()
        if built.run is not None:
            await built.run()
