"""What `sdelka doctor` says about callers of the HTTP API who come through a proxy (X10)."""

import pytest
from pydantic import SecretStr

from bot.cli.doctor.findings import Finding
from bot.cli.doctor.http_door import check_http
from bot.settings.settings import Settings

STRONG = "site=9f2c41d07ab3e85561c0ffee7d3492be18a6f05c3b7d9e24:manager"
WEAK = "till=sitetokensitetoken:manager"


async def look(tokens: str, proxies: str) -> Finding:
    settings = Settings(http_api_tokens=SecretStr(tokens), http_trusted_proxies=proxies, http_port=1, _env_file=None)
    (found,) = [line async for line in check_http(settings) if line.check == "HTTP_TRUSTED_PROXIES"]
    return found


@pytest.mark.req("S004-X10")
async def test_a_proxy_without_a_name_is_warned_of() -> None:
    """With the names of the tokens that a stranger's mistakes would lock out, and how to mend it."""
    found = await look(f"{STRONG},{WEAK}", "")
    assert (found.verdict, "till" in found.says, "site" in found.says) == ("warning", True, False)
    assert "openssl rand" in found.mending
    assert "openssl rand" not in (await look(STRONG, "")).mending


async def test_named_proxies_are_right_and_misspelt_ones_are_wrong() -> None:
    assert (await look(WEAK, "10.0.0.0/8")).verdict == "ok"
    found = await look(WEAK, "the proxy")
    assert (found.verdict, "the proxy" in found.says) == ("wrong", True)


async def test_nobody_is_warned_of_proxies_without_an_api() -> None:
    settings = Settings(metrics_token=SecretStr("0123456789abcdef0"), http_port=1, _env_file=None)
    assert [line async for line in check_http(settings) if line.check == "HTTP_TRUSTED_PROXIES"] == []
