"""Transcribes speech; recordings are not stored."""

import asyncio
import json
from typing import Final

import httpx

from orchestrator.domain.errors import ModelClientError
from orchestrator.model_client.failures import (
    PLAIN,
    Sleep,
    TryAgainError,
    build_retry_policy,
    build_scrubber,
    build_status_failure,
    build_wire_failure,
    check_encoding,
)
from orchestrator.model_client.settings import ModelSettings
from state.trace import build_trace_headers

WITHIN: Final = 60.0
MAX_ANSWER: Final = 1_000_000
_OK: Final = 200
_WIRE_ERRORS: Final = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)


class Transcriber:
    def __init__(
        self,
        settings: ModelSettings,
        model: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._model = model
        self._sleep = sleep
        self._scrub = build_scrubber(settings.api_key)
        self._http = httpx.AsyncClient(
            transport=transport,
            timeout=httpx.Timeout(WITHIN, connect=settings.connect_timeout),
            trust_env=not settings.is_loopback,
        )

    async def aclose(self) -> None:
        """Never fails."""
        await self._http.aclose()

    async def transcribe(self, recording: bytes, *, language: str) -> str:
        """Ogg Opus; "" if nothing was said. Raises `ModelClientError`."""
        policy = build_retry_policy(attempts=self._settings.max_attempts, deadline=WITHIN, sleep=self._sleep)
        try:
            async with asyncio.timeout(WITHIN) as scope:
                words: str = await policy(self._transcribe_once, recording, language)
        except TimeoutError:
            if not scope.expired():
                raise
            raise ModelClientError("The recording was not transcribed in time.") from None
        return words

    async def _transcribe_once(self, recording: bytes, language: str) -> str:
        url = self._settings.base_url.rstrip("/") + "/audio/transcriptions"
        form = {"model": self._model, "language": language, "response_format": "json"}
        if self._http.is_closed:
            raise ModelClientError("The model client is closed.")
        headers = build_trace_headers() | self._settings.build_auth_header() | PLAIN
        files = {"file": ("voice.ogg", recording, "audio/ogg")}
        content = b""
        try:
            async with self._http.stream("POST", url, data=form, files=files, headers=headers) as response:
                check_encoding(response)
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_ANSWER:
                        raise ModelClientError("The model service sends more than a transcript can hold.")
        except _WIRE_ERRORS as error:
            raise build_wire_failure(error) from None
        if response.status_code != _OK:
            raise build_status_failure(response, content, self._scrub)
        return _parse_words(content)


def _parse_words(content: bytes) -> str:
    """Raises TryAgainError for no JSON (a proxy's page), ModelClientError without a text."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        raise TryAgainError("The model service sent a transcript that is no JSON.") from None
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise ModelClientError("The model service sent no transcript.")
    return text
