"""Signs the links by which people log in to the console, if CONSOLE_SECRET is set. Part of the composition root."""

from bot.console.keys import ConsoleKeys
from bot.settings.settings import Settings, parse_console_address
from orchestrator.features.console.handlers import SignLink


def build_link_signer(settings: Settings) -> SignLink | None:
    """Return the function that makes the links by which people log in; None without CONSOLE_SECRET. Raises SettingsError."""
    if settings.console_secret is None:
        return None
    keys, address = ConsoleKeys(settings.console_secret), find_console_address(settings)
    return lambda actor, now: f"{address}/login?link={keys.sign_link(actor.key, now)}"


def find_console_address(settings: Settings) -> str:
    """Return the address by which browsers reach the console. Raises SettingsError."""
    return parse_console_address(settings.console_url, settings.http_host, settings.http_port)
