"""Endpoints of `/definitions`: list, read, save, check, publish, roll back, switch, compare, export and import definitions.

A definition is what an engine executes: a scenario, flow or workflow. Who may do what is decided by `orchestrator.definitions`.
"""

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel

from bot.http_api.definitions.definition_models import (
    CheckedDefinition,
    Definition,
    Definitions,
    Diff,
    DiffQuery,
    ExportQuery,
    History,
    ListQuery,
    MistakesBody,
    PublishBody,
    RollbackBody,
    StaleBody,
    SwitchBody,
    Version,
    Versions,
    to_checked,
    to_definition,
    to_diff,
    to_history_line,
    to_saved,
    to_version,
    to_version_line,
)
from bot.http_api.definitions.error_answers import DefinitionRoute, to_editor
from bot.http_api.definitions.request_body import (
    BodyReader,
    CreatedBody,
    DocumentBody,
    SavedBody,
    build_document_schema,
    parse_revision,
)
from bot.http_api.server.callers import ClientOf
from bot.http_api.server.endpoint_context import encode_cursor, parse_cursor
from bot.http_api.server.errors import describe_errors
from bot.http_api.server.tokens import Client
from orchestrator.definitions.service import DefinitionService
from orchestrator.documents.writing import write_document
from orchestrator.domain.finding import has_errors

PATH: Final = "/definitions"
_CURSOR: Final = "d"
_MEDIA_TYPES: Final = {"yaml": "application/yaml", "json": "application/json"}
_MOST_ENTRIES: Final = 200
_Kind = Annotated[str, Path(max_length=64, description="A kind of definitions.", examples=["steps"])]
_Key = Annotated[str, Path(max_length=200, description="The key of a definition.", examples=["welcome"])]
_Number = Annotated[int, Path(ge=1, le=999_999_999, description="The number of a version.", examples=[1])]
_IfMatch = Annotated[
    str | None, Header(alias="If-Match", description="The revision that the caller saw, as ETag has it; needed.", examples=['"1"'])
]
_READ: Final = (400, 401, 403, 404, 429, 500, 503)
_WRITTEN: Final = (*_READ, 408, 413, 415)
_REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    422: {"model": MistakesBody, "description": "The definition has mistakes: all of them, each with its place."}
}
_STALE: Final[dict[int | str, dict[str, Any]]] = {
    409: {"model": StaleBody, "description": "It is not what the caller saw: what is there now."},
    **describe_errors(428),
}


def build_definitions_router(service: DefinitionService) -> APIRouter:
    """Return the router with the endpoints of `/definitions`."""
    router = APIRouter(prefix=PATH, tags=["definitions"], route_class=DefinitionRoute)
    bodies = BodyReader()
    _add_lists(router, service)
    _add_reads(router, service)
    _add_saving(router, service, bodies)
    _add_publishing(router, service)
    return router


def _answer(model: BaseModel, *, status: int = 200, revision: int = 0, location: str = "") -> Response:
    """Return the model as JSON, directly: FastAPI would copy a large document twice more."""
    headers = {**({"ETag": f'"{revision}"'} if revision else {}), **({"Location": location} if location else {})}
    return Response(model.model_dump_json(), status, headers, media_type="application/json")


def _answer_version(version: Version, *, status: int = 200) -> Response:
    place = f"{PATH}/{version.kind}/{version.key}/versions/{version.version}"
    return _answer(version, status=status, revision=version.revision, location=place if status == 201 else "")  # noqa: PLR2004


def _add_lists(router: APIRouter, service: DefinitionService) -> None:
    async def list_page(client: Client, kind: str, list_query: ListQuery) -> Response:
        place = parse_cursor(list_query.cursor, _CURSOR, 1)
        after = place[0] if place else ""
        found = await service.list_keys(to_editor(client), kind, after=after, limit=list_query.limit + 1)
        shown = found[: list_query.limit]
        more = encode_cursor(_CURSOR, shown[-1].place) if len(found) > list_query.limit else None
        return _answer(Definitions(definitions=[to_definition(definition_key) for definition_key in shown], next=more))

    @router.get("", summary="All definitions that the token may read", response_model=Definitions, responses=describe_errors(*_READ))
    async def list_all(client: ClientOf, asked: Annotated[ListQuery, Query()]) -> Response:
        return await list_page(client, "", asked)

    @router.get("/{kind}", summary="Definitions of one kind", response_model=Definitions, responses=describe_errors(*_READ))
    async def list_kind(client: ClientOf, kind: _Kind, asked: Annotated[ListQuery, Query()]) -> Response:
        return await list_page(client, kind, asked)


def _add_reads(router: APIRouter, service: DefinitionService) -> None:
    @router.get("/{kind}/{key}", summary="One definition as a whole", response_model=Definition, responses=describe_errors(*_READ))
    async def show_key(client: ClientOf, kind: _Kind, key: _Key) -> Response:
        definition = to_definition(await service.find_key(to_editor(client), kind, key))
        return _answer(definition, revision=definition.revision)

    @router.get(
        "/{kind}/{key}/versions", summary="Its versions, the last one first", response_model=Versions, responses=describe_errors(*_READ)
    )
    async def list_versions(client: ClientOf, kind: _Kind, key: _Key) -> Response:
        versions = await service.list_versions(to_editor(client), kind, key)
        return _answer(Versions(versions=[to_version_line(definition_version) for definition_version in versions]))

    @router.get(
        "/{kind}/{key}/versions/{version}",
        summary="One version with its document",
        response_model=Version,
        responses=describe_errors(*_READ),
    )
    async def show_version(client: ClientOf, kind: _Kind, key: _Key, version: _Number) -> Response:
        return _answer_version(to_version(await service.find_version(to_editor(client), kind, key, version)))

    @router.get("/{kind}/{key}/history", summary="What was done with it", response_model=History, responses=describe_errors(*_READ))
    async def show_history(client: ClientOf, kind: _Kind, key: _Key) -> Response:
        history = await service.list_history(to_editor(client), kind, key, limit=_MOST_ENTRIES)
        return _answer(History(entries=[to_history_line(history_entry) for history_entry in history]))

    @router.get("/{kind}/{key}/diff", summary="What changed between two versions", response_model=Diff, responses=describe_errors(*_READ))
    async def compare(client: ClientOf, kind: _Kind, key: _Key, asked: Annotated[DiffQuery, Query()]) -> Response:
        return _answer(to_diff(await service.compare(to_editor(client), kind, key, asked.before, asked.after)))

    @router.get(
        "/{kind}/{key}/export",
        summary="The text of a file that reads back to the same definition",
        response_class=Response,
        responses={200: {"content": {media_type: {} for media_type in _MEDIA_TYPES.values()}}, **describe_errors(*_READ)},
    )
    async def export(client: ClientOf, kind: _Kind, key: _Key, asked: Annotated[ExportQuery, Query()]) -> Response:
        editor = to_editor(client)
        number = asked.version or (await service.find_key(editor, kind, key)).active_version
        version = await service.find_version(editor, kind, key, number)
        headers = {"ETag": f'"{version.revision}"', "Content-Disposition": f'attachment; filename="{version.key}.{asked.format}"'}
        text = await asyncio.to_thread(write_document, version.document, asked.format)
        return Response(text, headers=headers, media_type=_MEDIA_TYPES[asked.format])


def _add_saving(router: APIRouter, service: DefinitionService, bodies: BodyReader) -> None:
    @router.post(
        "/{kind}",
        status_code=201,
        summary="Store a new version as a draft",
        response_model=Version,
        responses={**describe_errors(*_WRITTEN), **_REFUSED},
        openapi_extra=build_document_schema(CreatedBody, raw=False),
    )
    async def create(client: ClientOf, request: Request, kind: _Kind) -> Response:
        given = await bodies.read(request, CreatedBody)
        return _answer_version(to_saved(await service.create(to_editor(client), kind, given.key, given.submission)), status=201)

    @router.post(
        "/{kind}/{key}/check",
        summary="Everything that is wrong with a definition, without storing it",
        response_model=CheckedDefinition,
        responses={**describe_errors(*_WRITTEN), **_REFUSED},
        openapi_extra=build_document_schema(DocumentBody),
    )
    async def check(client: ClientOf, request: Request, kind: _Kind, key: _Key) -> Response:
        given = await bodies.read(request, DocumentBody)
        found = await service.check(to_editor(client), kind, key, given.submission)
        return _answer(to_checked(found, valid=not has_errors(found.findings)))

    @router.post(
        "/{kind}/{key}/import",
        status_code=201,
        summary="Store the text of a file as a new version, a draft",
        response_model=Version,
        responses={**describe_errors(*_WRITTEN), **_REFUSED},
        openapi_extra=build_document_schema(None),
    )
    async def import_file(client: ClientOf, request: Request, kind: _Kind, key: _Key) -> Response:
        file = await bodies.read_file(request)
        saved = await service.create(to_editor(client), kind, key, file.submission, origin="imported")
        return _answer_version(to_saved(saved), status=201)

    @router.put(
        "/{kind}/{key}/versions/{version}",
        summary="Replace the text of a draft",
        response_model=Version,
        responses={**describe_errors(*_WRITTEN), **_REFUSED, **_STALE},
        openapi_extra=build_document_schema(SavedBody),
    )
    async def save(client: ClientOf, request: Request, kind: _Kind, key: _Key, version: _Number, seen: _IfMatch = None) -> Response:
        expected = parse_revision(seen)
        given = await bodies.read(request, SavedBody)
        return _answer_version(to_saved(await service.save(to_editor(client), kind, key, version, given.submission, expected=expected)))


def _add_publishing(router: APIRouter, service: DefinitionService) -> None:
    @router.post(
        "/{kind}/{key}/versions/{version}/publish",
        summary="Let new runs execute this version",
        response_model=Version,
        responses={**describe_errors(*_WRITTEN), **_REFUSED, **_STALE},
    )
    async def publish(client: ClientOf, kind: _Kind, key: _Key, version: _Number, body: PublishBody, seen: _IfMatch = None) -> Response:
        saved = await service.publish(to_editor(client), kind, key, version, expected=parse_revision(seen), note=body.note)
        return _answer_version(to_saved(saved))

    @router.post(
        "/{kind}/{key}/rollback",
        status_code=201,
        summary="Make a new draft with the text of an earlier version",
        response_model=Version,
        responses={**describe_errors(*_WRITTEN), **_REFUSED},
    )
    async def roll_back(client: ClientOf, kind: _Kind, key: _Key, body: RollbackBody) -> Response:
        saved = await service.roll_back(to_editor(client), kind, key, body.version, note=body.note)
        return _answer_version(to_saved(saved), status=201)

    @router.post(
        "/{kind}/{key}/switch",
        summary="Switch a definition off or on as a whole",
        response_model=Definition,
        responses={**describe_errors(*_WRITTEN), **_STALE},
    )
    async def switch(client: ClientOf, kind: _Kind, key: _Key, body: SwitchBody, seen: _IfMatch = None) -> Response:
        head = await service.switch(to_editor(client), kind, key, enabled=body.enabled, expected=parse_revision(seen), note=body.note)
        return _answer(to_definition(head), revision=head.revision)
