"""An endpoint of checklists: the one with which an author begins."""

from collections.abc import Sequence
from typing import Final

from fastapi import APIRouter

from bot.http_api.audit.session_events import StreamReader
from bot.http_api.engine_face import HttpFace
from bot.http_api.server.callers import ClientOf
from bot.http_api.server.endpoint_context import EndpointContext
from bot.http_api.server.errors import describe_errors
from orchestrator.definitions.service import DefinitionService
from orchestrator.runs.registry import Engines
from state.stored import JsonObject

from .core import build_schema


def build_routers(
    _desk: EndpointContext, _reading: StreamReader, _engines: Engines, _definitions: DefinitionService
) -> Sequence[APIRouter]:
    """Return the router of checklists."""
    router = APIRouter(prefix="/api/checklists", tags=["checklists"])

    @router.get("/schema", summary="The JSON Schema of checklists", responses=describe_errors(401, 429))
    async def read_schema(client: ClientOf) -> JsonObject:
        del client
        return build_schema()

    return (router,)


HTTP_FACE: Final = HttpFace(build_routers=build_routers)
