"""Builds the app of the HTTP port.

`late_app` imports this in a thread after the start, which needs no FastAPI.
"""

from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse

from bot.access.access import Access
from bot.composition.console_door import find_console_address
from bot.composition.http_port import HttpParts
from bot.composition.late_app import BuiltApp
from bot.console.app import Console
from bot.console.keys import ConsoleKeys
from bot.console.services import ConsoleServices
from bot.http_api.server.app import build_app
from bot.http_api.server.authentication import build_monitoring_check
from bot.http_api.server.health import RequestCounter, build_health_router, build_metrics_router
from bot.http_api.server.portal_events import build_portal_events_router
from bot.monitoring.health_checks import HealthChecks
from bot.monitoring.monitor import Monitor
from bot.settings.settings import CONSOLE_PATH, Settings
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from state.clock import SystemClock


def build_http_app(parts: HttpParts) -> BuiltApp:
    settings, api, monitor = parts.settings, parts.api, parts.monitor
    routers = [
        *(api.build_routers(parts.orchestrator, parts.engines) if api is not None else []),
        *_build_monitoring_routers(settings, parts.checks, monitor),
        *([parts.webhook] if parts.webhook is not None else []),
    ]
    if parts.events_session is not None:
        receive = parts.orchestrator.receive
        routers.append(build_portal_events_router(receive, settings.event_tokens, parts.events_session, parts.clock))
    app = build_app(*routers, identity=api.identity if api is not None else None)
    if monitor is not None:
        app.add_middleware(RequestCounter, meters=monitor.meters)
    if not parts.has_console or parts.access is None or monitor is None or parts.checks is None:
        return BuiltApp(app)
    console = _build_console(settings, parts.orchestrator, parts.access, monitor, parts.engines, parts.checks)
    if console is None:
        return BuiltApp(app)
    app.add_route(CONSOLE_PATH, _go_to_console, include_in_schema=False)
    app.mount(CONSOLE_PATH, console)
    return BuiltApp(app, console.run)


async def _go_to_console(_: Request) -> RedirectResponse:
    return RedirectResponse(f"{CONSOLE_PATH}/")


def _build_monitoring_routers(settings: Settings, checks: HealthChecks | None, monitor: Monitor | None) -> Sequence[APIRouter]:
    if monitor is None:
        return []
    may = build_monitoring_check(settings.metrics_token)
    return [build_health_router(checks, may), build_metrics_router(monitor.scrape, may)]


def _build_console(
    settings: Settings, orchestrator: Orchestrator, access: Access, monitor: Monitor, engines: Engines, health: HealthChecks
) -> Console | None:
    """None without CONSOLE_SECRET. Raises SettingsError."""
    if settings.console_secret is None:
        return None
    services = ConsoleServices(
        settings=settings,
        orchestrator=orchestrator,
        access=access,
        engines=engines,
        clock=SystemClock(),
        monitor=monitor,
        health=health,
    )
    return Console(services, ConsoleKeys(settings.console_secret), find_console_address(settings))
