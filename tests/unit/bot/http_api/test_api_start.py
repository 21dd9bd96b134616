"""The start of the program with the API: faulty tokens end it with one sentence, and the API needs no Telegram (X10)."""

from pathlib import Path
from typing import Any

import pytest

from bot.composition.process import run_bot
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError

SECRET = "s3cr3t-0123456789abcdef"


@pytest.mark.req("S004-X10", "S004-62")
@pytest.mark.parametrize(
    ("over", "why"),
    [
        ({"http_api_tokens": " , "}, "HTTP_API_TOKENS: no token is listed"),
        ({"http_api_tokens": f"site={SECRET}:boss"}, "HTTP_API_TOKENS: entry 1 has no role"),
        ({"http_api_tokens": f"site={SECRET}:admin", "http_trusted_proxies": "proxy"}, "HTTP_TRUSTED_PROXIES: proxy is no address"),
        ({}, "TELEGRAM_BOT_TOKEN"),
    ],
)
async def test_what_cannot_begin_says_why_and_shows_no_token(tmp_path: Path, over: dict[str, Any], why: str) -> None:
    folders = {"state_dir": tmp_path / "state", "log_dir": tmp_path / "logs"}
    settings = Settings(_env_file=None, bitrix_webhook_url="https://x.bitrix24.ru/rest/1/abcdefgh/", **folders, **over)
    with pytest.raises(SettingsError) as caught:
        await run_bot(settings)
    assert why in caught.value.reason
    assert "0123456789" not in caught.value.reason
