"""How this installation is known to the portal, from its settings: an application, else an incoming webhook. Ring 3; sends nothing."""

from collections.abc import Callable
from datetime import datetime

from pydantic import SecretStr

from bitrix.auth import Auth, Webhook
from bitrix.oauth import Application, TokenStore
from bitrix.oauth_server import TokenServer
from bot.oauth_store import OAuthStore
from bot.settings import Settings, check_required, list_portal_settings
from orchestrator.errors import SettingsError
from state.worker import AsyncStore


def build_portal_auth(settings: Settings, store: AsyncStore, now: Callable[[], datetime]) -> Auth:
    """What calls prove themselves with; raise SettingsError naming each setting that is missing or wrong (S004-40, S004-73)."""
    return build_auth(settings, OAuthStore(store), now)


def build_auth(settings: Settings, tokens: TokenStore, now: Callable[[], datetime]) -> Auth:
    """The same over another keeper of tokens; raises as `build_portal_auth` does."""
    check_required(settings, *list_portal_settings(settings))
    if settings.bitrix_oauth_client_id is None:
        return _build_webhook(settings.bitrix_webhook_url or SecretStr(""))
    return _build_application(settings, settings.bitrix_oauth_client_id, tokens, now)


def _build_webhook(address: SecretStr) -> Webhook:
    try:
        return Webhook(address)
    except ValueError as error:
        raise SettingsError(f"BITRIX_WEBHOOK_URL: {error}") from None


def _build_application(settings: Settings, client_id: str, tokens: TokenStore, now: Callable[[], datetime]) -> Application:
    try:
        server = TokenServer(client_id, settings.bitrix_oauth_client_secret or SecretStr(""), base=settings.bitrix_oauth_base)
    except ValueError as error:
        raise SettingsError(f"BITRIX_OAUTH_BASE: {error}") from None
    first = settings.bitrix_oauth_refresh_token or SecretStr("")
    try:
        return Application(settings.bitrix_portal or "", first, server=server, store=tokens, now=now)
    except ValueError as error:
        raise SettingsError(f"BITRIX_PORTAL: {error}") from None
