"""The two functions of seed 001 over the client of a service, and a client whose requests are all made by them (S001-7 … 18)."""

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
    """The answer {"error": text} in place of a body, with the error that it tells of."""

    def __init__(self, error: ModelClientError) -> None:
        """Tell of this error."""
        super().__init__(error=error.reason)
        self.cause = error


class PlainCalls:
    """Asks models with payloads in the form of the API, which go to the service as they are."""

    def __init__(self, client: WireClient, *, model: str = "", embedding_model: str = "") -> None:
        """Ask by this client; the names are those of the models for payloads that name none."""
        self._client, self._model, self._embedding_model = client, model, embedding_model

    async def post_chat_completions(self, payload: JsonObject, verbose: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - the seed's words
        """Return the standard body of /chat/completions, or {"error": text} if the request failed; never raises.

        `payload` has `messages` and any other parameters; without `model` the default model is asked. With `verbose`, payload and response
        are logged at debug level. The stack trace of an error is logged at the level critical.
        """

        async def ask() -> dict[str, Any]:
            named = {"model": self._model} if self._model and not payload.get("model") else {}
            return await self._client.post_chat_completions({**payload, **named}, verbose=verbose)

        return await _catch("chat completions", ask)

    async def post_embeddings(self, payload: JsonObject, verbose: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - the seed's words
        """Return the standard body of /embeddings, or {"error": text} if the request failed; never raises.

        `payload` has `input`; without `model` the default embedding model is asked. `verbose` is as for `post_chat_completions`.
        """

        async def ask() -> dict[str, Any]:
            model = payload.get("model") or self._embedding_model
            if not model:
                raise RejectedRequest("There is no embedding model: set DEFAULT_EMBEDDING_MODEL.")
            return await self._client.post_embeddings({**payload, "model": model}, verbose=verbose)

        return await _catch("embeddings", ask)


class PlainClient:
    """Makes each request to a service by the two functions, so that the log has what they log; an answer comes in one piece."""

    def __init__(self, client: WireClient, *, verbose: bool = False) -> None:
        """Ask by this client. `verbose` is for both functions."""
        self._calls, self._verbose = PlainCalls(client), verbose

    async def stream_chat(self, payload: JsonObject, on_delta: OnDelta | None = None) -> ModelAnswer:
        """Return the answer. Raises ModelClientError."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        body = await self.post_chat_completions(payload)
        answer = read_whole(body, clock() - begun)
        if on_delta is not None:
            await on_delta(answer.text)
        return answer

    async def post_chat_completions(self, payload: JsonObject, *, verbose: bool = False) -> dict[str, object]:
        """Return the body of an answer. Raises ModelClientError."""
        return _require(await self._calls.post_chat_completions(payload, verbose or self._verbose))

    async def post_embeddings(self, payload: JsonObject, *, verbose: bool = False) -> dict[str, object]:
        """Return the body of an answer with vectors. Raises ModelClientError."""
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
