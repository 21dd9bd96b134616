"""Endpoints of an engine's own, beside those of all definitions and runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter

from bot.http_api.audit.session_events import StreamReader
from bot.http_api.server.endpoint_context import EndpointContext
from bot.plugins.plugin import Slot
from orchestrator.definitions.service import DefinitionService
from orchestrator.runs.registry import Engines


@dataclass(frozen=True, kw_only=True)
class HttpFace:
    """The routers, and their paths that take documents, which may be larger than other bodies."""

    build_routers: Callable[[EndpointContext, StreamReader, Engines, DefinitionService], Sequence[APIRouter]]
    large_bodies: frozenset[str] = frozenset()


HTTP_FACE: Final = Slot("http", HttpFace)
