"""The access token of GigaChat: got for credentials, renewed in the background before it ends, never shown in a text."""

import asyncio
import json
import logging
import ssl
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import httpx
from pydantic import SecretStr

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ProviderUnavailable
from orchestrator.model_client.failures import build_scrubber, build_status_failure, build_wire_failure

RENEW_BEFORE: Final = 120.0
"""Seconds before the end of a token at which the next one is fetched in the background."""
TOKEN_WITHIN: Final = 15.0
"""Seconds that fetching a token may take."""
LONGEST_LIFE: Final = 24 * 3600.0
SHORTEST_LIFE: Final = 60.0
"""A token is used for so many seconds at least, whatever it says: the clocks of this machine and of the service may differ."""
RETRY_PAUSE: Final = 5.0
"""Seconds between two attempts to renew a token that is still valid."""
MAX_TOKEN_ANSWER: Final = 65_536
_OK: Final = 200
_KEY_NAME: Final = "GIGACHAT_CREDENTIALS"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    ends_at: float
    """When it ends, by the monotonic clock."""


class GigaChatToken:
    """Makes the header of each request to GigaChat (`Auth` of the model client).

    Calls that need a token at the same time share one request for it. While a token is valid no call waits for the next one.
    """

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
        """Keep the address and the credentials; nothing is fetched yet. Tests replace `transport` and the clocks."""
        self._url, self._credentials, self._scope = auth_url, credentials, scope
        self._clock, self._wall = clock, wall
        self._http = httpx.AsyncClient(transport=transport, verify=verify, timeout=TOKEN_WITHIN)
        self._token: _Token | None = None
        self._fetching: asyncio.Task[_Token] | None = None
        self._next_try = float("-inf")
        self._scrub = build_scrubber(credentials)

    def list_tokens(self) -> Sequence[str]:
        """Return the present token, so that it can be masked."""
        return (self._token.value,) if self._token is not None else ()

    async def build_headers(self) -> dict[str, str]:
        """Return the header with the token. Raises ModelClientError if there is none and none can be got."""
        token = self._token
        now = self._clock()
        if token is None or token.ends_at <= now:
            token = await self._wait_for_token()
        elif token.ends_at - now <= RENEW_BEFORE and now >= self._next_try:
            self._start_fetching()
        return {"Authorization": f"Bearer {token.value}"}

    async def renew(self, refused: Mapping[str, str]) -> bool:
        """Fetch a new token unless another call has done so since `refused` was built; return whether there is another one."""
        token = self._token
        if token is not None and refused.get("Authorization") == f"Bearer {token.value}":
            self._token = None
            token = await self._wait_for_token()
        return token is None or refused.get("Authorization") != f"Bearer {token.value}"

    async def aclose(self) -> None:
        """Stop fetching and close the connections; never fails."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        await self._http.aclose()

    async def _wait_for_token(self) -> _Token:
        return await asyncio.shield(self._start_fetching())

    def _start_fetching(self) -> "asyncio.Task[_Token]":
        """Return the request for a token that is under way, after starting one if there is none."""
        if self._fetching is None:
            self._fetching = asyncio.ensure_future(self._fetch())
            self._fetching.add_done_callback(self._take)
        return self._fetching

    def _take(self, done: "asyncio.Task[_Token]") -> None:
        self._fetching = None
        if done.cancelled():
            return
        error = done.exception()
        if error is None:
            self._token = done.result()
            return
        self._next_try = self._clock() + RETRY_PAUSE
        reason = error.reason if isinstance(error, ModelClientError) else type(error).__name__
        log.warning("no new token for GigaChat: %s", reason, extra={"action": "model_token_failed"})

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
        headers = {"Authorization": f"Basic {secret}", "RqUID": str(uuid.uuid4()), "Accept": "application/json"}
        async with self._http.stream("POST", self._url, data={"scope": self._scope}, headers=headers) as response:
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
        life = ends / 1000 - self._wall() if isinstance(ends, int | float) else 0.0
        return _Token(value, self._clock() + min(max(life, SHORTEST_LIFE), LONGEST_LIFE))
