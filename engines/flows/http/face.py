"""The endpoints of flows in the spelling of their seed."""

from collections.abc import Sequence
from typing import Final

from fastapi import APIRouter

from bot.http_api.audit.session_events import StreamReader
from bot.http_api.engine_face import HttpFace
from bot.http_api.server.endpoint_context import EndpointContext
from engines.flows.http.definition_router import AGENTS_PATH, FLOWS_PATH, build_flow_definition_routers
from engines.flows.http.run_router import build_flow_runs_router
from orchestrator.definitions.service import DefinitionService
from orchestrator.runs.registry import Engines


def build_routers(desk: EndpointContext, reading: StreamReader, engines: Engines, definitions: DefinitionService) -> Sequence[APIRouter]:
    return (*build_flow_definition_routers(definitions), build_flow_runs_router(desk, reading, engines, definitions))


HTTP_FACE: Final = HttpFace(build_routers=build_routers, large_bodies=frozenset({FLOWS_PATH, AGENTS_PATH}))
