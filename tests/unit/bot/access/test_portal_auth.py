"""Webhook or application: chosen by the settings, and each missing or wrong one is named without its value."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bitrix.auth.auth import Auth
from bot.access.portal_auth import build_portal_auth
from bot.settings.loading import load_settings
from orchestrator.domain.errors import SettingsError
from state.journal.async_store import AsyncStore
from state.sql import build_sqlite_url, open_store

WEBHOOK = {"bitrix_webhook_url": "https://portal.example/rest/1/topsecretcode/"}
APPLICATION = {
    "bitrix_portal": "Company.bitrix24.ru",
    "bitrix_oauth_client_id": "local.1",
    "bitrix_oauth_client_secret": "topsecretkey",
    "bitrix_oauth_refresh_token": "topsecrettoken",
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    """A database for the tokens."""
    made = AsyncStore(open_store(build_sqlite_url(tmp_path / "sdelka.db")))
    yield made
    await made.aclose()


def auth_of(store: AsyncStore, **given: Any) -> Auth:
    return build_portal_auth(load_settings(_env_file=None, **given), store, lambda: datetime.now(UTC))


@pytest.mark.req("S004-40", "S004-73")
async def test_the_application_is_used_if_there_is_one(store: AsyncStore) -> None:
    """A webhook alone is a webhook; with an application's id the application makes the calls, webhook or not."""
    assert (auth_of(store, **WEBHOOK).is_application, auth_of(store, **WEBHOOK).portal) == (False, "portal.example")
    for given in (APPLICATION, {**APPLICATION, **WEBHOOK}):
        auth = auth_of(store, **given)
        assert (auth.is_application, auth.portal, auth.base_url) == (True, "company.bitrix24.ru", "https://company.bitrix24.ru")
        await auth.aclose()
    local = auth_of(store, **APPLICATION | {"bitrix_portal": "http://127.0.0.1:8100", "bitrix_oauth_base": "http://127.0.0.1:8100"})
    assert local.base_url == "http://127.0.0.1:8100"


@pytest.mark.req("S004-41", "S004-A12")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "the setting is missing: BITRIX_WEBHOOK_URL"),
        ({"bitrix_oauth_client_id": "local.1"}, "missing: BITRIX_PORTAL, BITRIX_OAUTH_CLIENT_SECRET, BITRIX_OAUTH_REFRESH_TOKEN"),
        ({**APPLICATION, "bitrix_oauth_refresh_token": None, **WEBHOOK}, "the setting is missing: BITRIX_OAUTH_REFRESH_TOKEN"),
        ({"bitrix_webhook_url": "http://portal.example/rest/1/topsecretcode/"}, "BITRIX_WEBHOOK_URL: the webhook address must look like"),
        (APPLICATION | {"bitrix_portal": "company.bitrix24.ru/topsecret"}, "BITRIX_PORTAL: the portal must look like company"),
        (APPLICATION | {"bitrix_oauth_base": "http://topsecret.example"}, "BITRIX_OAUTH_BASE: the authorization server's address"),
    ],
)
async def test_what_is_missing_or_wrong_is_named(store: AsyncStore, given: Any, says: str) -> None:
    """One sentence, without a value."""
    with pytest.raises(SettingsError, match=says) as caught:
        auth_of(store, **given)
    assert "topsecret" not in str(caught.value)
