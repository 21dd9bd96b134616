"""Who calls: a parameter with the client, and a route that checks before it reads."""

import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Final, NoReturn

from fastapi import Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader

from bot.http_api.server.authentication import Authenticator
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client

_SHOWN_KEY: Final = 60


def parse_json(body: bytes) -> object:
    """Raises ApiError 400 for NaN and double keys, and ValueError or RecursionError if it is no JSON."""
    return json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_build_object)


def _refuse_constant(name: str) -> NoReturn:
    raise ApiError(400, "invalid_json", f"The body is no valid JSON: {name} is no number.")


def _build_object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            quoted_name = json.dumps(name[:_SHOWN_KEY])
            raise ApiError(400, "invalid_json", f"The body is no valid JSON: the key {quoted_name} stands twice in one object.")
        members[name] = value
    return members


_KEY = APIKeyHeader(name="X-API-Key", auto_error=False, description="A token of HTTP_API_TOKENS.")


async def resolve_client(request: Request, presented: Annotated[str | None, Security(_KEY)]) -> Client:
    """Checked once per request. Raises ApiError 401 or 429 (S004-61, S004-63, X10)."""
    known: Client | None = getattr(request.state, "client", None)
    if known is not None:
        return known
    identity: Authenticator = request.app.state.identity
    return identity.check(request, presented)


ClientOf = Annotated[Client, Depends(resolve_client)]


def name_operation(route: APIRoute) -> str:
    """Such as "runs.list"; the command line has its commands from these names."""
    return f"{route.path_format.split('/')[1]}.{route.name}"


class _StrictRequest(Request):
    async def json(self) -> object:
        """Raises ApiError 400 if it is JSON for Python alone, JSONDecodeError if it is none."""
        return parse_json(await self.body())


class Guarded(APIRoute):
    """Authenticates before the body is read; FastAPI would read it first."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, None, Response]]:
        """Raises ApiError 401 or 429 before it reads any body; FastAPI calls this once."""
        inner = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            request.state.client = await resolve_client(request, request.headers.get(_KEY.model.name))
            return await inner(_StrictRequest(request.scope, request.receive))

        return guarded
