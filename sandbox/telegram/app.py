"""Builds the ASGI application of the sandbox: the Bot API, the control interface for tests, the demo's endpoints, and the chat page."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles

from sandbox.telegram import bot_api
from sandbox.telegram.control import control_router
from sandbox.telegram.demo import demo_router
from sandbox.telegram.webhook import deliver_forever
from sandbox.telegram.world import World

_STATIC = Path(__file__).with_name("static")
# The page shows text written by anybody; nothing but its own files may be executed or fetched.
_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "media-src 'self'; frame-src 'self'; base-uri 'none'"
)


def create_app(world: World) -> FastAPI:
    """Build the application for an open world (the state of one sandbox). Its shutdown closes the world's database."""
    client = httpx.AsyncClient(trust_env=False)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            webhook = tasks.create_task(deliver_forever(world))
            yield
            webhook.cancel()
            with suppress(asyncio.CancelledError):
                await webhook
        await client.aclose()
        world.db.close()

    app = FastAPI(title="Sdelka: a Telegram for the demo", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.router.routes.extend(bot_api.routes(world))
    app.include_router(control_router(world))
    app.include_router(demo_router(world.settings, client))
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    _pages(app)
    app.add_exception_handler(RequestValidationError, _misread)
    return app


def _pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        headers = {"Content-Security-Policy": _CONTENT_POLICY, "Cache-Control": "no-cache"}
        return FileResponse(_STATIC / "index.html", headers=headers)

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return FileResponse(_STATIC / "icon.svg", media_type="image/svg+xml")


async def _misread(_request: Request, error: Exception) -> JSONResponse:
    """Return status 400 with one sentence per mistake in the request, for the tests and the chat page that sent it."""
    problems: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
    sentences = [f"{'.'.join(str(part) for part in item['loc'][1:])}: {item['msg']}" for item in problems]
    return JSONResponse({"detail": "; ".join(sentences)}, status_code=400)
