"""Endpoints of an engine's own, beside those of all definitions and runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter

from bot.http_api.audit.session_events import StreamReader
from bot.http_api.server.endpoint_context import EndpointContext
from bot.plugins.faults import note_fault
from bot.plugins.loading import UNUSABLE, list_parts
from bot.plugins.plugin import Slot
from orchestrator.definitions.service import DefinitionService
from orchestrator.runs.registry import Engines


@dataclass(frozen=True, kw_only=True)
class HttpFace:
    """The routers, and their paths that take documents, which may be larger than other bodies."""

    build_routers: Callable[[EndpointContext, StreamReader, Engines, DefinitionService], Sequence[APIRouter]]
    large_bodies: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raise TypeError for paths that are none, without which no app could be built: the engine is then shown without endpoints."""
        if not isinstance(self.large_bodies, frozenset | set) or not all(isinstance(path, str) for path in self.large_bodies):
            raise TypeError("large_bodies must be a set of paths")


HTTP_FACE: Final = Slot("http", HttpFace)


def build_engine_routers(
    desk: EndpointContext, reading: StreamReader, engines: Engines, definitions: DefinitionService
) -> Iterator[APIRouter]:
    """Yield the routers of all engines; those of an engine that cannot build them are left out."""
    for name, face in list_parts(HTTP_FACE).items():
        try:
            routers = tuple(face.build_routers(desk, reading, engines, definitions))
        except UNUSABLE as error:
            note_fault(name, HTTP_FACE.name, f"its routers cannot be built: {type(error).__name__}: {error}", error)
            continue
        if stray := [router for router in routers if not isinstance(router, APIRouter)]:
            note_fault(name, HTTP_FACE.name, f"it gives the type {type(stray[0]).__name__}, APIRouter was expected")
            continue
        yield from routers
