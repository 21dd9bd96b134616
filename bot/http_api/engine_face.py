"""An engine's own endpoints."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter
from fastapi.routing import iter_route_contexts

from bot.http_api.audit.session_events import StreamReader
from bot.http_api.server.endpoint_context import EndpointContext
from bot.plugins.loading import UNUSABLE, list_parts, note_fault
from bot.plugins.plugin import Slot
from orchestrator.definitions.service import DefinitionService
from orchestrator.runs.registry import Engines


@dataclass(frozen=True, kw_only=True)
class HttpFace:
    """`large_bodies` are paths whose bodies may be larger."""

    build_routers: Callable[[EndpointContext, StreamReader, Engines, DefinitionService], Sequence[APIRouter]]
    large_bodies: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not isinstance(self.large_bodies, frozenset | set) or not all(isinstance(path, str) for path in self.large_bodies):
            raise TypeError("large_bodies must be a set of paths")


HTTP_FACE: Final = Slot("http", HttpFace)
_OF_OTHERS: Final = ("/bitrix/events", "/chat", "/console", "/docs", "/freeze", "/healthz", "/metrics", "/openapi.json", "/readyz")
"""Others' addresses, some not in every installation: no engine gets them."""


def build_engine_routers(
    desk: EndpointContext, reading: StreamReader, engines: Engines, definitions: DefinitionService, ours: Sequence[APIRouter] = ()
) -> Iterator[APIRouter]:
    """Without those that cannot be built, and addresses taken by `ours`, other doors or earlier engines."""
    taken_paths = [*_OF_OTHERS, *_list_paths(ours)]
    for name, face in list_parts(HTTP_FACE).items():
        try:
            routers = tuple(face.build_routers(desk, reading, engines, definitions))
            for router in routers:
                if isinstance(router, APIRouter):
                    APIRouter().include_router(router)  # what the app will do, where it would end all endpoints
        except UNUSABLE as error:
            note_fault(name, HTTP_FACE.name, f"its routers cannot be built: {type(error).__name__}: {error}", error)
            continue
        if stray := [router for router in routers if not isinstance(router, APIRouter)]:
            note_fault(name, HTTP_FACE.name, f"it gives the type {type(stray[0]).__name__}, APIRouter was expected")
            continue
        for router in routers:
            _drop_taken_routes(name, router, taken_paths)
        taken_paths += _list_paths(routers)
        yield from routers


def _list_paths(routers: Sequence[APIRouter]) -> list[str]:
    return [context.path for router in routers for context in iter_route_contexts(router.routes) if context.path]


def _drop_taken_routes(engine: str, router: APIRouter, taken_paths: Sequence[str]) -> None:
    """Whatever their methods are."""
    for route in tuple(router.routes):
        patterns = [regex for context in iter_route_contexts([route]) if (regex := getattr(context, "path_regex", None)) is not None]
        if path := next((path for path in taken_paths if any(pattern.match(path) for pattern in patterns)), ""):
            router.routes.remove(route)
            note_fault(engine, HTTP_FACE.name, f"the address {path} is taken")
