"""`/definitions`: who may do what is decided by `orchestrator.definitions`."""

import asyncio
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel

from bot.http_api.definitions.definition_models import (
    AllQuery,
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
from bot.http_api.definitions.request_body import (
    BodyReader,
    CreatedBody,
    DefinitionRoute,
    DocumentBody,
    EditorOf,
    SavedBody,
    build_document_schema,
    parse_revision,
)
from bot.http_api.server.callers import name_operation
from bot.http_api.server.endpoint_context import encode_cursor, parse_cursor
from bot.http_api.server.errors import describe_errors
from bot.plugins.definition_text import write_version
from orchestrator.definitions.rules import Editor
from orchestrator.definitions.service import LONGEST_NOTE, LONGEST_TITLE, DefinitionService
from orchestrator.domain.finding import has_errors
from state.model.definitions import DefinitionVersion

PATH: Final = "/definitions"
_CURSOR: Final = "d"
CREATED: Final = 201
MOST_ENTRIES: Final = 200
_Kind = Annotated[str, Path(max_length=64, description="A kind of definitions.", examples=["steps"])]
_Key = Annotated[str, Path(max_length=200, description="The key of a definition.", examples=["welcome"])]
_Number = Annotated[int, Path(ge=1, le=999_999_999, description="The number of a version.", examples=[1])]
_IfMatch = Annotated[
    str | None, Header(alias="If-Match", description="The revision that the caller saw, as ETag has it; needed.", examples=['"1"'])
]
READ: Final = (400, 401, 403, 404, 429, 500, 503)
WRITTEN: Final = (*READ, 408, 413, 415)
FILE: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"application/yaml": {}, "application/json": {}}}}
_REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    422: {"model": MistakesBody, "description": "The definition has mistakes: all of them, each with its place."}
}
_STALE: Final[dict[int | str, dict[str, Any]]] = {
    409: {"model": StaleBody, "description": "It is not what the caller saw: what is there now."},
    **describe_errors(428),
}

_DETAILS: Final = [
    {"name": name, "in": "query", "required": False, "description": about, "schema": {"type": "string", "maxLength": longest}}
    for name, about, longest in (
        ("title", "What people call it; by default as the version before.", LONGEST_TITLE),
        ("note", "What has changed and why, for the history.", LONGEST_NOTE),
    )
]
"""For a definition whose text is the body."""


def build_definitions_router(service: DefinitionService) -> APIRouter:
    router = APIRouter(prefix=PATH, tags=["definitions"], route_class=DefinitionRoute, generate_unique_id_function=name_operation)
    bodies = BodyReader()
    _add_lists(router, service)
    _add_reads(router, service)
    _add_saving(router, service, bodies)
    _add_publishing(router, service)
    return router


def answer(model: BaseModel, *, status: int = 200, **headers: str) -> Response:
    """Directly: FastAPI would copy a large document twice more."""
    return Response(model.model_dump_json(by_alias=True), status, headers, media_type="application/json")


async def answer_file(version: DefinitionVersion, form: Literal["yaml", "json"]) -> Response:
    headers = {"ETag": f'"{version.revision}"', "Content-Disposition": f'attachment; filename="{version.key}.{form}"'}
    return Response(await asyncio.to_thread(write_version, version, form), headers=headers, media_type=f"application/{form}")


def _answer_version(version: Version, *, status: int = 200) -> Response:
    place = {"Location": f"{PATH}/{version.kind}/{version.key}/versions/{version.version}"} if status == CREATED else {}
    return answer(version, status=status, ETag=f'"{version.revision}"', **place)


def _add_lists(router: APIRouter, service: DefinitionService) -> None:
    async def list_page(editor: Editor, kind: str, list_query: ListQuery) -> Response:
        place = parse_cursor(list_query.cursor, _CURSOR, 1)
        after = place[0] if place else ""
        keys = await service.list_keys(editor, kind, after=after, limit=list_query.limit + 1)
        page = keys[: list_query.limit]
        more = encode_cursor(_CURSOR, page[-1].place) if len(keys) > list_query.limit else None
        return answer(Definitions(definitions=[to_definition(definition_key) for definition_key in page], next=more))

    @router.get(
        "", name="list", summary="All definitions that the token may read", response_model=Definitions, responses=describe_errors(*READ)
    )
    async def list_all(editor: EditorOf, query: Annotated[AllQuery, Query()]) -> Response:
        return await list_page(editor, query.kind, query)

    @router.get(
        "/{kind}", name="list_kind", summary="Definitions of one kind", response_model=Definitions, responses=describe_errors(*READ)
    )
    async def list_kind(editor: EditorOf, kind: _Kind, query: Annotated[ListQuery, Query()]) -> Response:
        return await list_page(editor, kind, query)


def _add_reads(router: APIRouter, service: DefinitionService) -> None:
    @router.get(
        "/{kind}/{key}", name="show", summary="One definition as a whole", response_model=Definition, responses=describe_errors(*READ)
    )
    async def show_key(editor: EditorOf, kind: _Kind, key: _Key) -> Response:
        definition = to_definition(await service.find_key(editor, kind, key))
        return answer(definition, ETag=f'"{definition.revision}"')

    @router.get(
        "/{kind}/{key}/versions",
        name="versions",
        summary="Its versions, the last one first",
        response_model=Versions,
        responses=describe_errors(*READ),
    )
    async def list_versions(editor: EditorOf, kind: _Kind, key: _Key) -> Response:
        versions = await service.list_versions(editor, kind, key)
        return answer(Versions(versions=[to_version_line(definition_version) for definition_version in versions]))

    @router.get(
        "/{kind}/{key}/versions/{version}",
        name="version",
        summary="One version with its document",
        response_model=Version,
        responses=describe_errors(*READ),
    )
    async def show_version(editor: EditorOf, kind: _Kind, key: _Key, version: _Number) -> Response:
        return _answer_version(to_version(await service.find_version(editor, kind, key, version)))

    @router.get(
        "/{kind}/{key}/history", name="history", summary="What was done with it", response_model=History, responses=describe_errors(*READ)
    )
    async def show_history(editor: EditorOf, kind: _Kind, key: _Key) -> Response:
        history = await service.list_history(editor, kind, key, limit=MOST_ENTRIES)
        return answer(History(entries=[to_history_line(history_entry) for history_entry in history]))

    @router.get(
        "/{kind}/{key}/diff",
        name="diff",
        summary="What changed between two versions",
        response_model=Diff,
        responses=describe_errors(*READ),
    )
    async def compare(editor: EditorOf, kind: _Kind, key: _Key, query: Annotated[DiffQuery, Query()]) -> Response:
        return answer(to_diff(await service.compare(editor, kind, key, query.before, query.after)))

    @router.get(
        "/{kind}/{key}/export",
        summary="The text of a file that reads back to the same definition",
        response_class=Response,
        responses={**FILE, **describe_errors(*READ)},
    )
    async def export(editor: EditorOf, kind: _Kind, key: _Key, query: Annotated[ExportQuery, Query()]) -> Response:
        number = query.version or (await service.find_key(editor, kind, key)).active_version
        version = await service.find_version(editor, kind, key, number)
        return await answer_file(version, query.format)


def _add_saving(router: APIRouter, service: DefinitionService, bodies: BodyReader) -> None:
    @router.post(
        "/{kind}",
        status_code=CREATED,
        summary="Store a new version as a draft",
        response_model=Version,
        responses={**describe_errors(*WRITTEN), **_REFUSED},
        openapi_extra=build_document_schema(CreatedBody),
    )
    async def create(editor: EditorOf, request: Request, kind: _Kind) -> Response:
        submitted = await bodies.read(request, CreatedBody)
        return _answer_version(to_saved(await service.create(editor, kind, submitted.key, submitted.submission)), status=CREATED)

    @router.post(
        "/{kind}/{key}/check",
        summary="Everything that is wrong with a definition, without storing it",
        response_model=CheckedDefinition,
        responses={**describe_errors(*WRITTEN), **_REFUSED},
        openapi_extra=build_document_schema(DocumentBody),
    )
    async def check(editor: EditorOf, request: Request, kind: _Kind, key: _Key) -> Response:
        submitted = await bodies.read(request, DocumentBody)
        checked = await service.check(editor, kind, key, submitted.submission)
        return answer(to_checked(checked, valid=not has_errors(checked.findings)))

    @router.post(
        "/{kind}/{key}/import",
        status_code=CREATED,
        name="import",
        summary="Store the text of a file as a new version, a draft",
        response_model=Version,
        responses={**describe_errors(*WRITTEN), **_REFUSED},
        openapi_extra={**build_document_schema(None), "parameters": _DETAILS},
    )
    async def import_file(editor: EditorOf, request: Request, kind: _Kind, key: _Key) -> Response:
        file = await bodies.read_file(request)
        saved = await service.create(editor, kind, key, file.submission, origin="imported")
        return _answer_version(to_saved(saved), status=CREATED)

    @router.put(
        "/{kind}/{key}/versions/{version}",
        summary="Replace the text of a draft",
        response_model=Version,
        responses={**describe_errors(*WRITTEN), **_REFUSED, **_STALE},
        openapi_extra={**build_document_schema(SavedBody), "parameters": _DETAILS},
    )
    async def save(editor: EditorOf, request: Request, kind: _Kind, key: _Key, version: _Number, seen: _IfMatch = None) -> Response:
        expected = parse_revision(seen)
        submitted = await bodies.read(request, SavedBody)
        return _answer_version(to_saved(await service.save(editor, kind, key, version, submitted.submission, expected=expected)))


def _add_publishing(router: APIRouter, service: DefinitionService) -> None:
    @router.post(
        "/{kind}/{key}/versions/{version}/publish",
        summary="Let new runs execute this version",
        response_model=Version,
        responses={**describe_errors(*WRITTEN), **_REFUSED, **_STALE},
    )
    async def publish(editor: EditorOf, kind: _Kind, key: _Key, version: _Number, body: PublishBody, seen: _IfMatch = None) -> Response:
        saved = await service.publish(editor, kind, key, version, expected=parse_revision(seen), note=body.note)
        return _answer_version(to_saved(saved))

    @router.post(
        "/{kind}/{key}/rollback",
        status_code=CREATED,
        name="rollback",
        summary="Make a new draft with the text of an earlier version",
        response_model=Version,
        responses={**describe_errors(*WRITTEN), **_REFUSED},
    )
    async def roll_back(editor: EditorOf, kind: _Kind, key: _Key, body: RollbackBody) -> Response:
        saved = await service.roll_back(editor, kind, key, body.version, note=body.note)
        return _answer_version(to_saved(saved), status=CREATED)

    @router.post(
        "/{kind}/{key}/switch",
        summary="Switch a definition off or on as a whole",
        response_model=Definition,
        responses={**describe_errors(*WRITTEN), **_STALE},
    )
    async def switch(editor: EditorOf, kind: _Kind, key: _Key, body: SwitchBody, seen: _IfMatch = None) -> Response:
        head = await service.switch(editor, kind, key, enabled=body.enabled, expected=parse_revision(seen), note=body.note)
        return answer(to_definition(head), ETag=f'"{head.revision}"')
