"""How many calls the renewal of GigaChat's token delays: many side by side over loopback while tokens end, and a burst after silence.

Tokens live for four seconds here and are renewed after half of it; the sandbox gives them, and serves the calls, in a process of its own. A
call is counted as delayed if it had to wait for a token, however short.
"""

import asyncio
import contextlib
import json
import time
from typing import Any, Final
from unittest.mock import patch

import httpx
from pydantic import SecretStr

from bench.servers import started
from orchestrator.domain.models import ModelRequest
from orchestrator.model_client import gigachat_token
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.gigachat_token import GigaChatToken
from orchestrator.model_client.providers import GigaChatProvider
from orchestrator.model_client.settings import ModelSettings
from sandbox.model.gigachat import CREDENTIALS

LIFE: Final = 4.0
SECONDS: Final = 9.0
SIDE_BY_SIDE: Final = 20
SILENCE: Final = 5.0
BURST: Final = 50
_REQUEST: Final = ModelRequest(messages=({"role": "user", "content": "привет"},))


class CountedToken(GigaChatToken):
    """A token that counts the calls which wait for one, and measures what building a header takes."""

    delayed = 0
    slowest = 0.0

    async def build_headers(self) -> dict[str, str]:
        """Return the header."""
        begun = time.perf_counter()
        built = await super().build_headers()
        self.slowest = max(self.slowest, time.perf_counter() - begun)
        return built

    async def _wait_for_token(self) -> Any:
        self.delayed += 1
        return await super()._wait_for_token()


async def token_benches() -> list[dict[str, Any]]:
    """Return the row."""
    bounds = {"SHORTEST_LIFE": LIFE / 2, "RENEW_BEFORE": LIFE / 2, "RETRY_PAUSE": LIFE / 10}
    async with contextlib.AsyncExitStack() as stack:
        for name, value in bounds.items():
            stack.enter_context(patch.object(gigachat_token, name, value))
        process = await started(stack, {}, "sandbox.model", "--port", "0")
        root = json.loads(await process.stdout.readline())["model"].removesuffix("/v1") if process.stdout else ""
        async with httpx.AsyncClient(base_url=root, trust_env=False) as control:
            (await control.post("/sandbox/gigachat", json={"token_seconds": LIFE})).raise_for_status()
            token = CountedToken(f"{root}/api/v2/oauth", SecretStr(CREDENTIALS), "GIGACHAT_API_PERS")
            told = ModelSettings(base_url=f"{root}/api/v1", api_key=SecretStr(CREDENTIALS), reports_usage=False)
            client = ModelClient(told, auth=token)
            stack.push_async_callback(client.aclose)
            provider = GigaChatProvider(client, model="GigaChat")
            await provider.chat(_REQUEST)  # the first token is no renewal
            token.delayed, token.slowest = 0, 0.0
            calls = await _call_for(provider, SECONDS)
            await asyncio.sleep(SILENCE)
            await asyncio.gather(*(provider.chat(_REQUEST) for _ in range(BURST)))
            renewals = (await control.get("/sandbox/health")).json()["tokens"]["asked"] - 1
    beside = f"{calls + BURST} calls, {renewals} renewals, slowest header {token.slowest * 1000:.1f} ms"
    row = {"name": "token renewal: calls that it delays", "value": token.delayed, "unit": "", "bar": "<= 1"}
    return [{**row, "holds": token.delayed <= 1, "versus": beside}]


async def _call_for(provider: GigaChatProvider, seconds: float) -> int:
    """Call side by side for so long; return how many calls were made."""
    until = time.monotonic() + seconds
    count = 0

    async def call() -> None:
        nonlocal count
        while time.monotonic() < until:
            await provider.chat(_REQUEST)
            count += 1

    await asyncio.gather(*(call() for _ in range(SIDE_BY_SIDE)))
    return count
