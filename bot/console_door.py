"""Builds the console of the browser, if CONSOLE_SECRET is set. Part of the composition root; NiceGUI is not imported here."""

from bot.access.access import Access
from bot.console.app import Console
from bot.console.keys import ConsoleKeys
from bot.console.services import ConsoleServices
from bot.monitoring.health_checks import HealthChecks
from bot.monitoring.monitor import Monitor
from bot.settings import Settings, parse_console_address
from orchestrator.features.console.handlers import SignLink
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from state.clock import SystemClock


def build_link_signer(settings: Settings) -> SignLink | None:
    """Return the function that makes the links by which people log in; None without CONSOLE_SECRET. Raises SettingsError."""
    if settings.console_secret is None:
        return None
    keys, address = ConsoleKeys(settings.console_secret), _find_address(settings)
    return lambda actor, now: f"{address}/login?link={keys.sign_link(actor.key, now)}"


def build_console(
    settings: Settings, orchestrator: Orchestrator, access: Access, monitor: Monitor, engines: Engines, health: HealthChecks
) -> Console | None:
    """Return the console; None without CONSOLE_SECRET. Raises SettingsError."""
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
    return Console(services, ConsoleKeys(settings.console_secret), _find_address(settings))


def _find_address(settings: Settings) -> str:
    return parse_console_address(settings.console_url, settings.http_host, settings.http_port)
