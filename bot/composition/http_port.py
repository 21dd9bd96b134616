"""Opens the HTTP port of a process; the app is built later (`late_app`)."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.access.access import Access
from bot.composition.late_app import BuiltApp, LateApp, Work
from bot.http_api.api import Api
from bot.http_api.server.serving import bind_socket, serve
from bot.monitoring.health_checks import HealthChecks
from bot.monitoring.monitor import Monitor
from bot.settings.settings import Settings
from orchestrator.features.portal_events.watcher import START as PORTAL_START
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from state.clock import Clock

if TYPE_CHECKING:
    from fastapi import APIRouter

    from bot.telegram.door import TelegramDoor

_BUILD_AFTER: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class HttpParts:
    """Without `monitor` no health checks and metrics, without `access` no console."""

    settings: Settings
    orchestrator: Orchestrator
    clock: Clock
    engines: Engines
    telegram: "TelegramDoor | None" = None
    api: Api | None = None
    monitor: Monitor | None = None
    checks: HealthChecks | None = None
    access: Access | None = None
    webhook: "APIRouter | None" = None
    events_session: str | None = None

    @property
    def has_console(self) -> bool:
        return self.settings.console_secret is not None and self.access is not None


@contextlib.asynccontextmanager
async def open_http_port(parts: HttpParts) -> AsyncIterator[Work | None]:
    """Yield None if no setting needs HTTP."""
    settings = parts.settings
    webhook = parts.telegram.build_router() if parts.telegram is not None else None
    if not settings.event_tokens and webhook is None and parts.api is None and settings.metrics_token is None and not parts.has_console:
        yield None
        return
    with contextlib.closing(bind_socket(settings.http_host, settings.http_port)) as listener:
        session = await parts.orchestrator.start_feature(PORTAL_START) if settings.event_tokens else None

        def build() -> BuiltApp:
            from bot.composition.http_door import build_http_app  # noqa: PLC0415 - FastAPI and the endpoints, see `late_app`

            return build_http_app(replace(parts, webhook=webhook, events_session=session))

        app = LateApp(build, early={"/healthz": {"ok": True}})
        yield partial(_serve, app, listener, has_sockets=parts.has_console)


async def _serve(app: LateApp, listener: socket.socket, *, has_sockets: bool) -> None:
    """Raises what building the app raises."""
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(app, listener, has_sockets=has_sockets))
        group.create_task(app.run(_BUILD_AFTER))
