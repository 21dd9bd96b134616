"""An ASGI app that a thread imports and builds after the start: FastAPI with all endpoints takes 0.7 s."""

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
    """`run` is the work beside it."""

    app: ASGIApp
    run: Work | None = None


class LateApp:
    """Requests that come before the app is built wait for it."""

    def __init__(self, build: Callable[[], BuiltApp], early: Mapping[str, JsonObject] | None = None) -> None:
        """A thread calls `build`, once; until then `early` answers GET by path."""
        self._build, self._early = build, early or {}
        self._built: BuiltApp | None = None
        self._loading: asyncio.Task[BuiltApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._built is None and scope["type"] == "http" and scope["method"] == "GET" and scope["path"] in self._early:
            await JSONResponse(self._early[scope["path"]], headers=_HEADERS)(scope, receive, send)
            return
        built = self._built or await self.load()
        await built.app(scope, receive, send)

    async def load(self) -> BuiltApp:
        """A cancelled caller does not end it: a second thread would build beside the first."""
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
        """`after` is in seconds. Raises what `build` raises."""
        await asyncio.sleep(after)
        built = await self.load()
        if built.run is not None:
            await built.run()
