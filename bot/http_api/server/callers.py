"""What the endpoints of the API ask of FastAPI to know who calls: a parameter with the client, and a route that checks before it reads."""

import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Final, NoReturn

from fastapi import Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader

from bot.http_api.server.authentication import Authenticator
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client

_KEY = APIKeyHeader(name="X-API-Key", auto_error=False, description="A token of HTTP_API_TOKENS.")
_SHOWN_KEY: Final = 60


async def resolve_client(request: Request, presented: Annotated[str | None, Security(_KEY)]) -> Client:
    """Return the authenticated client of this request, checked once per request; raises ApiError 401 or 429 (S004-61, S004-63, X10)."""
    known: Client | None = getattr(request.state, "client", None)
    if known is not None:
        return known
    identity: Authenticator = request.app.state.identity
    return identity.check(request, presented)


ClientOf = Annotated[Client, Depends(resolve_client)]


class _StrictRequest(Request):
    """A request whose JSON has one reading: Python's own reader takes NaN, which no journal holds, and the last of two equal keys."""

    async def json(self) -> object:
        """Return the body. Raises ApiError 400 if it is JSON for Python alone, JSONDecodeError if it is none at all."""
        return json.loads(await self.body(), parse_constant=_refuse_constant, object_pairs_hook=_build_object)


def _refuse_constant(name: str) -> NoReturn:
    raise ApiError(400, "invalid_json", f"The body is no valid JSON: {name} is no number.")


def _build_object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            shown = json.dumps(name[:_SHOWN_KEY])
            raise ApiError(400, "invalid_json", f"The body is no valid JSON: the key {shown} stands twice in one object.")
        found[name] = value
    return found


class Guarded(APIRoute):
    """A route that authenticates the caller before the body is read; FastAPI would read the body first."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, None, Response]]:
        """Return a handler that raises ApiError 401 or 429 before it reads any of the body; FastAPI calls this once."""
        inner = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            request.state.client = await resolve_client(request, request.headers.get(_KEY.model.name))
            return await inner(_StrictRequest(request.scope, request.receive))

        return guarded
