"""The two functions of seed 001, and a client that uses them (S001-7 … 18)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from orchestrator.domain.errors import ModelClientError, SdelkaError
from orchestrator.domain.models import ModelAnswer, OnDelta
from orchestrator.model_client.answer import read_whole
from orchestrator.model_client.failures import RejectedRequest
from orchestrator.model_client.providers import WireClient
from state.stored import JsonObject

log = logging.getLogger(__name__)


class Failed(dict[str, Any]):
    """{"error": text}, and the error that it tells of."""

    def __init__(self, error: ModelClientError) -> None:
        super().__init__(error=error.reason)
        self.cause = error


class PlainCalls:
    """Payloads go to the service as they are."""

    def __init__(self, client: WireClient, *, model: str = "", embedding_model: str = "") -> None:
        """The names are for payloads without a model."""
        self._client, self._model, self._embedding_model = client, model, embedding_model

    async def post_chat_completions(self, payload: JsonObject, verbose: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - the seed's words
        """The standard body, or {"error": text}; never raises. `verbose` logs both at debug level."""

        async def ask() -> dict[str, Any]:
            model_field = {"model": self._model} if self._model and not payload.get("model") else {}
            return await self._client.post_chat_completions({**payload, **model_field}, verbose=verbose)

        return await _catch("chat completions", ask)

    async def post_embeddings(self, payload: JsonObject, verbose: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - the seed's words
        """The standard body, or {"error": text}; never raises."""

        async def ask() -> dict[str, Any]:
            model = payload.get("model") or self._embedding_model
            if not model:
                raise RejectedRequest("There is no embedding model: set DEFAULT_EMBEDDING_MODEL.")
            return await self._client.post_embeddings({**payload, "model": model}, verbose=verbose)

        return await _catch("embeddings", ask)


class PlainClient:
    """So that the log has what the two functions log; an answer comes in one piece."""

    def __init__(self, client: WireClient, *, verbose: bool = False) -> None:
        self._calls, self._verbose = PlainCalls(client), verbose

    async def stream_chat(self, payload: JsonObject, on_delta: OnDelta | None = None) -> ModelAnswer:
        clock = asyncio.get_running_loop().time
        begun = clock()
        body = await self.post_chat_completions(payload)
        answer = read_whole(body, clock() - begun)
        if on_delta is not None:
            await on_delta(answer.text)
        return answer

    async def post_chat_completions(self, payload: JsonObject, *, verbose: bool = False) -> dict[str, object]:
        return _require(await self._calls.post_chat_completions(payload, verbose or self._verbose))

    async def post_embeddings(self, payload: JsonObject, *, verbose: bool = False) -> dict[str, object]:
        return _require(await self._calls.post_embeddings(payload, verbose or self._verbose))


def _require(body: dict[str, Any]) -> dict[str, object]:
    if isinstance(body, Failed):
        raise body.cause
    return body


async def _catch(what: str, ask: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    try:
        return await ask()
    except SdelkaError as error:
        log.critical("%s failed", what, exc_info=error, extra={"action": "model_request_failed"})
        return Failed(error if isinstance(error, ModelClientError) else ModelClientError(error.reason))
    except Exception as error:
        log.critical("%s failed", what, exc_info=error, extra={"action": "model_request_failed"})
        return Failed(ModelClientError(f"The request failed ({type(error).__name__})."))
