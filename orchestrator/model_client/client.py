"""The client of an OpenAI-compatible model: answers are complete and well formed; the caller checks their content."""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress

import httpx
from tenacity import AsyncRetrying

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelAnswer, ProviderUnavailable, UnusableAnswer
from orchestrator.model_client.answer import AnswerReader, SseDecoder, decode, load_object
from orchestrator.model_client.failures import (
    PLAIN,
    RejectedRequest,
    Sleep,
    TryAgainError,
    Unreachable,
    build_reported_error,
    build_retry_policy,
    build_scrubber,
    build_status_failure,
    build_wire_failure,
    check_encoding,
    find_reported_error,
)
from orchestrator.model_client.settings import Auth, KeyAuth, ModelSettings
from state.stored import JsonObject
from state.trace import build_trace_headers

OnDelta = Callable[[str], Awaitable[None]]

MAX_BODY = 8_000_000
KEEPALIVE_SECONDS = 30.0
CHAT = "/chat/completions"
EMBEDDINGS = "/embeddings"
_OK = 200
_UNAUTHORIZED = 401
_FORBIDDEN = 403
_PROBE = 10.0
_SHUT = frozenset({301, 302, 303, 307, 308, 401, 402, 403, 429})
_NO_LIST = frozenset({404, 405})
_BROKEN = 500
_DRAIN = 0.25
"""Seconds to wait for the end of a finished stream, so that its connection can be reused."""
_DONE = "[DONE]"
_WIRE_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)

_log = logging.getLogger(__name__)


class ModelClient:
    def __init__(
        self,
        settings: ModelSettings,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Sleep = asyncio.sleep,
        heard: Callable[[ModelClientError | None], None] = lambda _: None,
        auth: Auth | None = None,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        """`heard` gets the error if the service cannot be reached or refuses all requests, otherwise None."""
        for name in ("httpx", "httpcore"):  # their request lines contain the address, which may contain a password
            logging.getLogger(name).setLevel(logging.WARNING)
        self.settings = settings
        self._sleep = sleep
        self._heard = heard
        self._auth = auth or KeyAuth(settings)
        self._urls: dict[str, httpx.URL] = {}
        self._scrub = build_scrubber(settings.api_key, self._auth.list_tokens)
        self._http = httpx.AsyncClient(
            transport=transport,
            verify=verify,
            timeout=httpx.Timeout(settings.total_deadline, connect=settings.connect_timeout),
            limits=httpx.Limits(keepalive_expiry=KEEPALIVE_SECONDS),
            trust_env=not settings.is_loopback,
        )

    async def aclose(self) -> None:
        await self._auth.aclose()
        await self._http.aclose()

    async def probe(self) -> ModelClientError | None:
        """None if the service answers and accepts the key. Costs nothing; a refused token is renewed once."""
        failure: ModelClientError | None = None
        try:
            async with asyncio.timeout(_PROBE):
                status = await self._probe_once()
                if status == _UNAUTHORIZED:
                    status = await self._probe_once()
            if _is_shut(status):
                failure = ModelClientError("The model service turns us away.")
        except httpx.ConnectError as error:
            failure = build_wire_failure(error)
        except (*_WIRE_ERRORS, TimeoutError, RuntimeError):  # RuntimeError: the client is closed
            failure = ModelClientError("The model service does not answer.")
        except ModelClientError as error:  # there is no key or token
            failure = error
        self._heard(failure)
        return failure

    async def list_models(self) -> frozenset[str]:
        """Empty if it lists none. Costs nothing. Raises Unreachable, KeyRefused, ModelClientError."""
        refused: dict[str, str] | None = None
        while True:
            headers = await self._build_headers()
            try:
                async with self._http.stream("GET", self.settings.base_url.rstrip("/") + "/models", headers=headers) as response:
                    again = response.status_code == _UNAUTHORIZED and refused is None and await self._auth.renew(headers)
                    if response.status_code in _NO_LIST:
                        return frozenset()
                    if not again:
                        await self._check_answer(response)
                        return _read_model_names(load_object(b"".join([chunk async for chunk in _read_limited(response, MAX_BODY)])))
            except _WIRE_ERRORS as error:
                raise Unreachable(build_wire_failure(error).reason) from None
            refused = headers

    async def _probe_once(self) -> int:
        """401 for a refused token that could be renewed, 403 for a refused key."""
        headers = await self._build_headers()
        async with self._http.stream("GET", self.settings.base_url.rstrip("/") + "/models", headers=headers) as response:
            status = response.status_code
        return status if status != _UNAUTHORIZED or await self._auth.renew(headers) else _FORBIDDEN

    async def post_chat_completions(self, payload: JsonObject, *, verbose: bool = False) -> dict[str, object]:
        """The JSON body unchanged (S001-8…10, S004-16). Raises `ModelClientError`.

        The caller checks why the answer ended: "length" is expected where a single token is asked for.
        """
        return await self._post(CHAT, self._prepare(payload, {"stream": False}), "chat completions" if verbose else "")

    async def post_embeddings(self, payload: JsonObject, *, verbose: bool = False) -> dict[str, object]:
        """As `post_chat_completions`, for vectors (S001-13…18)."""
        texts = payload.get("input")
        if not texts:
            raise RejectedRequest("The request for embeddings has no input.")
        for text in [texts] if isinstance(texts, str) else texts if isinstance(texts, list) else []:
            self._check_length("A text", text)
        return await self._post(EMBEDDINGS, _dump(payload), "embeddings" if verbose else "")

    async def _post(self, path: str, request: bytes, logged_as: str) -> dict[str, object]:
        if logged_as:
            _log.debug("%s request: %s", logged_as, self._mask(request), extra={"action": "model_request"})
        async with self._deadline():
            body: dict[str, object] = await self._build_policy()(self._ask_once, request, path)
        if logged_as:
            answer = self._mask(json.dumps(body, ensure_ascii=False).encode())
            _log.debug("%s response: %s", logged_as, answer, extra={"action": "model_answer"})
        return body

    async def stream_chat(self, payload: JsonObject, on_delta: OnDelta | None = None) -> ModelAnswer:
        """Pass the text to `on_delta`, and return the finished answer (S004-16, S004-20, S004-21).

        Raises `ModelClientError`. Text that was passed on cannot be taken back, so the request is not repeated then. Exceptions of
        `on_delta` propagate.
        """
        usage = {"stream_options": {"include_usage": True}} if self.settings.reports_usage else {}
        request = self._prepare(payload, {"stream": True, **usage})
        async with self._deadline():
            answer: ModelAnswer = await self._build_policy()(self._stream_once, request, on_delta)
        return answer

    def _prepare(self, payload: JsonObject, extra: JsonObject) -> bytes:
        messages = payload.get("messages")
        if not messages:
            raise RejectedRequest("The request to the model has no messages.")
        for message in messages if isinstance(messages, list | tuple) else []:
            content = message.get("content") if isinstance(message, Mapping) else None
            for part in content if isinstance(content, list) else [content]:
                self._check_length("A message", part.get("text") if isinstance(part, Mapping) else part)
        return _dump({**payload, "model": payload.get("model") or self.settings.default_model, **extra})

    def _check_length(self, what: str, text: object) -> None:
        """A text that is too long is neither sent nor cut: nobody would know what is missing (S001-4)."""
        limit = self.settings.message_limit
        if isinstance(text, str) and len(text) > limit:
            raise RejectedRequest(f"{what} for the model has {len(text)} characters, and at most {limit} are sent (MODEL_MESSAGE_LIMIT).")

    async def _build_headers(self) -> dict[str, str]:
        kinds = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json", **PLAIN}
        return {**kinds, **build_trace_headers(), **await self._auth.build_headers()}

    def _build_policy(self) -> AsyncRetrying:
        settings = self.settings
        return build_retry_policy(attempts=settings.max_attempts, deadline=settings.total_deadline, sleep=self._sleep)

    async def _ask_once(self, request: bytes, path: str) -> dict[str, object]:
        """In `request_timeout` seconds (S001-5)."""
        within = self.settings.request_timeout
        watch = asyncio.timeout(within)
        try:
            async with watch, aclosing(self._stream_body(request, path)) as chunks:
                body = load_object(b"".join([chunk async for chunk in chunks]))
        except TimeoutError:
            if not watch.expired():
                raise
            raise ProviderUnavailable(f"The model service did not answer within {within:g} seconds.") from None
        if error := find_reported_error(body):
            raise build_reported_error(error, self._scrub)
        return body

    async def _stream_once(self, request: bytes, on_delta: OnDelta | None) -> ModelAnswer:
        begun = asyncio.get_running_loop().time()
        reader = AnswerReader(self._scrub)
        try:
            await self._read_answer(reader, request, on_delta)
            return reader.finish(asyncio.get_running_loop().time() - begun)
        except UnusableAnswer as error:
            error.answer = reader.build_answer(asyncio.get_running_loop().time() - begun)
            raise

    async def _read_answer(self, reader: AnswerReader, request: bytes, on_delta: OnDelta | None) -> None:
        handed_out, over = False, False
        async with aclosing(self._stream_events(request)) as events:
            while not over:
                pieces: list[str] = []
                try:
                    come = await self._receive_next(events, patient=not reader.has_text)
                    over = come is None
                    for data in come or ():
                        if not over and data.strip() == _DONE:
                            reader.end()
                            over = True
                        pieces.append("" if over else reader.take(data))
                except TryAgainError as error:
                    if reader.is_finished:
                        break
                    if handed_out:
                        raise ModelClientError(error.reason) from None
                    raise
                for piece in filter(None, pieces):
                    if on_delta:
                        handed_out = True
                        await on_delta(piece)
            with suppress(TimeoutError, ModelClientError):
                async with asyncio.timeout(_DRAIN):
                    await anext(events, None)

    async def _receive_next(self, events: AsyncGenerator[Sequence[str]], *, patient: bool) -> Sequence[str] | None:
        """None at the end. After `settings.silence` seconds raises `ModelClientError`, unless `patient`."""
        watch = asyncio.timeout(None if patient else self.settings.silence)
        try:
            async with watch:
                return await anext(events, None)
        except TimeoutError:
            if not watch.expired():
                raise
            raise ProviderUnavailable("The model fell silent in the middle of its answer.") from None

    async def _stream_events(self, request: bytes) -> AsyncGenerator[Sequence[str]]:
        """A server without streaming sends one JSON object, yielded as one event."""
        decoder = SseDecoder()
        async with aclosing(self._stream_body(request)) as chunks:
            head = b""
            async for chunk in chunks:
                head += chunk
                if head.strip():
                    break
            if head.lstrip().startswith(b"{"):
                yield [decode(head + b"".join([chunk async for chunk in chunks])), _DONE]
                return
            if come := decoder.feed(head):
                yield come
            async for chunk in chunks:
                if come := decoder.feed(chunk):  # a chunk with only a comment does not count as a sign of life
                    yield come
            yield decoder.close()

    async def _stream_body(self, request: bytes, path: str = CHAT, *, may_renew: bool = True) -> AsyncGenerator[bytes]:
        """Raises `ModelClientError`. A token that is not accepted (401) is renewed once."""
        if self._http.is_closed:
            raise ModelClientError("The model client is closed.")
        refused = False
        try:
            headers = await self._build_headers()
        except ModelClientError as error:
            self._heard(error)
            raise
        try:
            async with self._http.stream("POST", self._find_url(path), content=request, headers=headers) as response:
                refused = response.status_code == _UNAUTHORIZED and may_renew and await self._auth.renew(headers)
                if not refused:
                    await self._check_answer(response)
                    self._heard(None)
                    async for chunk in _read_limited(response, MAX_BODY):
                        yield chunk
        except _WIRE_ERRORS as error:
            failure = build_wire_failure(error)
            self._heard(failure)
            raise failure from None
        except RejectedRequest:
            self._heard(None)
            raise
        except ProviderUnavailable as error:
            self._heard(error)
            raise
        if refused:
            async with aclosing(self._stream_body(request, path, may_renew=False)) as again:
                async for chunk in again:
                    yield chunk

    def _find_url(self, path: str) -> httpx.URL:
        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = httpx.URL(self.settings.base_url.rstrip("/") + path)
        return url

    async def _check_answer(self, response: httpx.Response) -> None:
        check_encoding(response)
        if response.status_code != _OK:
            body = b"".join([chunk async for chunk in _read_limited(response, MAX_BODY)])
            raise build_status_failure(response, body, self._scrub, self.settings.key_name)

    @asynccontextmanager
    async def _deadline(self) -> AsyncIterator[None]:
        scope = asyncio.timeout(self.settings.total_deadline)
        try:
            async with scope:
                yield
        except TimeoutError:
            if not scope.expired():
                raise
            raise ProviderUnavailable("The model did not finish its answer in time.") from None

    def _mask(self, text: bytes) -> str:
        secret = self.settings.api_key.get_secret_value().strip() if self.settings.api_key else ""
        masked = text.decode()
        for hidden in filter(None, (secret, *self._auth.list_tokens())):
            masked = masked.replace(hidden, "***")
        return masked


def _dump(request: JsonObject) -> bytes:
    try:
        return json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise RejectedRequest("The request to the model cannot be written as JSON.") from None


def _read_model_names(body: JsonObject) -> frozenset[str]:
    rows = body.get("data")
    return frozenset(str(row["id"]) for row in rows if isinstance(row, Mapping) and "id" in row) if isinstance(rows, list) else frozenset()


def _is_shut(status: int) -> bool:
    return status in _SHUT or status >= _BROKEN


async def _read_limited(response: httpx.Response, limit: int) -> AsyncGenerator[bytes]:
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > limit:
            raise ModelClientError("The model service sends more than an answer can hold.")
        yield chunk
