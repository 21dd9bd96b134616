"""What `/help` and an unknown command offer over the API: only what works there."""

from pathlib import Path

import pytest

from tests.unit.bot.http_api.chat_kit import CHIEF, SITE, a_door


@pytest.mark.parametrize("message", ["/help", "/nonsense"])
async def test_the_api_offers_no_screens_of_telegram_and_the_switch_to_administrators_only(tmp_path: Path, message: str) -> None:
    async with a_door(tmp_path) as door:
        for token, switch in ((SITE, False), (CHIEF, True)):
            said = (await door.chat(message, token=token)).json()["assistant"]
            assert ("/settings" in said, "/language" in said, "/new" in said) == (False, False, True), said
            assert ("/freeze" in said, "/unfreeze" in said) == (switch, switch), said
