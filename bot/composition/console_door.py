from bot.console.keys import ConsoleKeys
from bot.settings.settings import Settings, parse_console_address
from orchestrator.features.console.feature import SignLink


def build_link_signer(settings: Settings) -> SignLink | None:
    """None without CONSOLE_SECRET. Raises SettingsError."""
    if settings.console_secret is None:
        return None
    keys, address = ConsoleKeys(settings.console_secret), find_console_address(settings)
    return lambda actor, now: f"{address}/login?link={keys.sign_link(actor.key, now)}"


def find_console_address(settings: Settings) -> str:
    """Raises SettingsError."""
    return parse_console_address(settings.console_url, settings.http_host, settings.http_port)
