"""Who calls: a parameter with the client, and a route that checks before it reads."""

from collections.abc import Callable, Coroutine
from typing import Annotated

from fastapi import Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader

from bot.http_api.server.authentication import Authenticator
from bot.http_api.server.strict_json import parse_json
from bot.http_api.server.tokens import Client

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
