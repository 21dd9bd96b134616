"""What `sdelka doctor` says about the address of the console (C-11)."""

import pytest
from pydantic import SecretStr

from bot.cli.doctor.http_door import check_http
from bot.settings.settings import Settings

SECRET = SecretStr("0123456789abcdef0123456789abcdef")


@pytest.mark.req("C-5")
@pytest.mark.parametrize(
    ("url", "host", "verdict", "words"),
    [
        (None, "127.0.0.1", "ok", "this machine only"),
        ("https://bot.company.ru/console", "127.0.0.1", "ok", "https://bot.company.ru/console"),
        ("http://bot.company.ru/console", "127.0.0.1", "warning", "without TLS"),
        ("https://bot.company.ru/", "127.0.0.1", "wrong", "/console"),
        ("https://bot.company.ru/console?x=1", "127.0.0.1", "wrong", "/console"),
        ("bot.company.ru", "127.0.0.1", "wrong", "/console"),
    ],
)
async def test_the_address_of_the_console_is_judged(url: str | None, host: str, verdict: str, words: str) -> None:
    """A wrong address is named with the right form, one without TLS is warned of."""
    settings = Settings(console_secret=SECRET, console_url=url, http_host=host, http_port=1, _env_file=None)

    [found] = [line async for line in check_http(settings) if line.check == "CONSOLE_URL"]

    assert (found.verdict, words in found.says + found.mending) == (verdict, True), found


async def test_without_a_secret_nothing_is_said_of_a_console() -> None:
    """An installation without a console reads nothing of it."""
    settings = Settings(http_port=1, _env_file=None)

    assert [line async for line in check_http(settings) if line.check == "CONSOLE_URL"] == []
