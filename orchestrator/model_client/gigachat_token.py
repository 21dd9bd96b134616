"""The access token of GigaChat. A timer renews it, so that the first calls after an hour of silence find a good one."""

import asyncio
import json
import logging
import math
import ssl
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import httpx
from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ProviderUnavailable
from orchestrator.model_client.failures import PLAIN, build_scrubber, build_status_failure, build_wire_failure, check_encoding
from orchestrator.model_client.settings import is_loopback

RENEW_BEFORE: Final = 120.0
"""Seconds; of a short-lived token half of its life."""
TOKEN_WITHIN: Final = 15.0
LONGEST_LIFE: Final = 24 * 3600.0
SHORTEST_LIFE: Final = 60.0
"""Clocks may differ."""
RETRY_PAUSE: Final = 5.0
MAX_TOKEN_ANSWER: Final = 65_536
_OK: Final = 200
_KEY_NAME: Final = "GIGACHAT_CREDENTIALS"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    ends_at: float
    renew_at: float


class GigaChatToken:
    """`Auth` of GigaChat. Concurrent calls share one request for a token; no call waits for the next one while one is good."""

    def __init__(
        self,
        auth_url: str,
        credentials: SecretStr,
        scope: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        verify: ssl.SSLContext | bool = True,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._url, self._credentials, self._scope = auth_url, credentials, scope
        self._clock, self._wall = clock, wall
        self._http = httpx.AsyncClient(transport=transport, verify=verify, timeout=TOKEN_WITHIN, trust_env=not is_loopback(auth_url))
        self._token: _Token | None = None
        self._given: deque[str] = deque(maxlen=3)
        """Answers to earlier calls may still quote them."""
        self._fetching: asyncio.Task[_Token] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._next_try = float("-inf")
        self._scrub = build_scrubber(credentials)

    def list_tokens(self) -> Sequence[str]:
        return tuple(self._given)

    async def build_headers(self) -> dict[str, str]:
        """Raises ModelClientError if no token can be got."""
        token = self._token
        now = self._clock()
        if token is None or token.ends_at <= now:
            token = await self._wait_for_token()
        elif now >= max(token.renew_at, self._next_try):
            self._start_fetching()
        return {"Authorization": f"Bearer {token.value}"}

    async def renew(self, refused: Mapping[str, str]) -> bool:
        token = self._token
        if token is not None and refused.get("Authorization") == f"Bearer {token.value}":
            self._token = None
            token = await self._wait_for_token()
        return token is None or refused.get("Authorization") != f"Bearer {token.value}"

    async def aclose(self) -> None:
        """Never fails."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        self._set_timer(None)
        await self._http.aclose()

    async def _wait_for_token(self) -> _Token:
        fetching = self._start_fetching()
        try:
            return await asyncio.shield(fetching)
        except asyncio.CancelledError:
            if fetching.cancelled():  # by `aclose`; whoever waits here was not cancelled
                raise ProviderUnavailable("The model client is closed.") from None
            raise

    def _start_fetching(self) -> "asyncio.Task[_Token]":
        if self._fetching is None:
            self._fetching = asyncio.ensure_future(self._fetch())
            self._fetching.add_done_callback(self._take)
        return self._fetching

    def _take(self, done: "asyncio.Task[_Token]") -> None:
        self._fetching = None
        if done.cancelled():
            return
        error = done.exception()
        now = self._clock()
        if error is None:
            self._token = done.result()
            self._given.append(self._token.value)
            self._set_timer(self._token.renew_at - now)
            return
        self._next_try = now + RETRY_PAUSE
        lives_on = self._token is not None and self._token.ends_at > self._next_try
        self._set_timer(RETRY_PAUSE if lives_on else None)
        reason = error.reason if isinstance(error, ModelClientError) else type(error).__name__
        log.warning("no new token for GigaChat: %s", reason, extra={"action": "model_token_failed"})

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._start_fetching) if seconds is not None else None

    async def _fetch(self) -> _Token:
        try:
            async with asyncio.timeout(TOKEN_WITHIN):
                return await self._request_token()
        except TimeoutError:
            raise ProviderUnavailable("GigaChat gave no token in time.") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise build_wire_failure(error) from None
        except RuntimeError:  # the client is closed
            raise ProviderUnavailable("The model client is closed.") from None

    async def _request_token(self) -> _Token:
        secret = self._credentials.get_secret_value().strip()
        if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ModelClientError(f"The credentials of GigaChat have characters that no credentials have: check {_KEY_NAME}.")
        headers = {"Authorization": f"Basic {secret}", "RqUID": str(uuid.uuid4()), "Accept": "application/json", **PLAIN}
        async with self._http.stream("POST", self._url, data={"scope": self._scope}, headers=headers) as response:
            check_encoding(response)
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_TOKEN_ANSWER:
                    raise ProviderUnavailable("GigaChat sends more than a token can hold.")
            if response.status_code != _OK:
                raise build_status_failure(response, body, self._scrub, _KEY_NAME)
        return self._read_token(body)

    def _read_token(self, body: bytes) -> _Token:
        try:
            answer: object = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        value = answer.get("access_token") if isinstance(answer, dict) else None
        ends = answer.get("expires_at") if isinstance(answer, dict) else None
        if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable() or " " in value:
            raise ProviderUnavailable("GigaChat answered without a token.")
        life, now = self._read_life(ends), self._clock()
        return _Token(value, ends_at=now + life, renew_at=now + life - min(RENEW_BEFORE, life / 2))

    def _read_life(self, ends: object) -> float:
        """Seconds; `ends` is in milliseconds since 1970, or in seconds if only they fit."""
        try:
            moment = float(ends) if isinstance(ends, int | float | str) and not isinstance(ends, bool) else math.nan
        except (ValueError, OverflowError):
            moment = math.nan
        if not math.isfinite(moment):
            return SHORTEST_LIFE
        now = self._wall()
        left = moment / 1000 - now
        if left < 0 < moment - now <= LONGEST_LIFE:
            left = moment - now
        return min(max(left, SHORTEST_LIFE), LONGEST_LIFE)
