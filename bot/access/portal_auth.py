"""The portal credentials: an application's if BITRIX_OAUTH_CLIENT_ID is set, else a webhook."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime

from pydantic import SecretStr

from bitrix.auth.auth import Auth, Webhook
from bitrix.auth.oauth import Application, TokenServer, TokenStore
from bot.settings.faults import check_required
from bot.settings.settings import Settings, list_portal_settings
from orchestrator.domain.errors import SettingsError
from state.journal.async_store import AsyncStore
from state.journal.store import StoreError


def build_portal_auth(settings: Settings, store: AsyncStore, now: Callable[[], datetime]) -> Auth:
    """Raises SettingsError naming each missing or wrong setting."""
    return build_auth(settings, OAuthStore(store), now)


def build_auth(settings: Settings, tokens: TokenStore, now: Callable[[], datetime]) -> Auth:
    """Raises SettingsError naming each missing or wrong setting."""
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


class OAuthStore:
    """Implements `bitrix.auth.oauth.TokenStore`."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def load(self, name: str) -> str | None:
        """None if there are none; raises OSError."""
        with _translate_errors():
            return await self._store.get_value(name)

    async def swap(self, name: str, expected: str | None, text: str) -> bool:
        """False if another text than `expected` is stored. Raises OSError."""
        with _translate_errors():
            return await self._store.swap_value(name, expected, text)


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """A StoreError may quote the token."""
    try:
        yield
    except StoreError as error:
        raise OSError(type(error).__name__) from None
