"""The two functions of seed 001 on top of the providers: they never raise, and answer in the API's standard form (S001-7 … 18)."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from orchestrator.domain.errors import SdelkaError
from orchestrator.model_client.router import ModelRouter
from state.stored import JsonObject

log = logging.getLogger(__name__)


class PlainCalls:
    """Asks models with payloads in the form of the API. The payload goes to the provider of the role "tool" or "embedding" as it is."""

    def __init__(self, models: ModelRouter) -> None:
        """Ask the providers of this router."""
        self._models = models

    async def post_chat_completions(self, payload: JsonObject, verbose: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - the seed's words
        """Return the standard body of /chat/completions, or {"error": text} if the request failed; never raises.

        `payload` has `messages` and any other parameters; without `model` the default model is asked. With `verbose`, payload and response
        are logged at debug level.
        """
        return await _catch("chat completions", lambda: self._models.complete(payload, verbose=verbose))

    async def post_embeddings(self, payload: JsonObject, verbose: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - the seed's words
        """Return the standard body of /embeddings, or {"error": text} if the request failed; never raises.

        `payload` has `input`; without `model` the default embedding model is asked. `verbose` is as for `post_chat_completions`.
        """
        return await _catch("embeddings", lambda: self._models.complete_embeddings(payload, verbose=verbose))


async def _catch(what: str, ask: Callable[[], Awaitable[dict[str, object]]]) -> dict[str, Any]:
    try:
        return await ask()
    except SdelkaError as error:
        log.critical("%s failed", what, exc_info=error, extra={"action": "model_request_failed"})
        return {"error": error.reason}
    except Exception as error:
        log.critical("%s failed", what, exc_info=error, extra={"action": "model_request_failed"})
        return {"error": f"The request failed ({type(error).__name__})."}
