"""Endpoints of `/api/flows/definitions` and `/api/agents`: the store of definitions in the seed's words (S002-X2 … X4, S002-57).

They are a second face of the same store as `/definitions`, and do the same under the same rights: `orchestrator.definitions` decides.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel

from bot.http_api.definitions.definition_models import MistakesBody, to_diff_line
from bot.http_api.definitions.error_answers import DefinitionRoute, refuse, to_api_error, to_editor
from bot.http_api.definitions.request_body import BodyReader, DocumentBody, GivenDefinition, parse_revision
from bot.http_api.server.callers import ClientOf
from bot.http_api.server.endpoint_context import encode_cursor, parse_cursor
from bot.http_api.server.errors import ApiError, describe_errors
from engines.flows.core.agents import KIND as AGENT
from engines.flows.core.kind import FLOW
from engines.flows.http.definition_bodies import (
    AGENT_SAMPLE,
    FLOW_SAMPLE,
    CheckedBody,
    CreatedAgentBody,
    CreatedBody,
    Sample,
    SavedBody,
    build_body_schema,
    build_file_schema,
)
from engines.flows.http.definition_models import (
    ActiveBody,
    AgentList,
    AgentVersion,
    ConflictBody,
    DiffQuery,
    ExportQuery,
    FlowList,
    FlowVersion,
    HistoryRows,
    ListQuery,
    NotedBody,
    PublishBody,
    RefusedBody,
    Validation,
    VersionDiff,
    to_agent_row,
    to_agent_version,
    to_flow_row,
    to_flow_version,
    to_history_row,
    to_validation,
    to_version_diff,
)
from engines.flows.http.listing import Page, Place, list_page
from engines.flows.http.statuses import find_status
from orchestrator.definitions.changes import Difference, compare_documents
from orchestrator.definitions.rules import LONGEST_KEY, Editor
from orchestrator.definitions.service import DefinitionService, Saved
from orchestrator.documents.writing import write_document
from orchestrator.domain.finding import DefinitionRefused, Finding, has_errors
from state.model.definitions import DefinitionKey, DefinitionMissing, DefinitionVersion, NotADraft, StaleRevision

FLOWS_PATH: Final = "/api/flows/definitions"
AGENTS_PATH: Final = "/api/agents"
_CREATED: Final = 201
_CURSOR: Final = "f"
_NO_CURSOR: Final = "The cursor is none of this list."
_MEDIA_TYPES: Final = {"yaml": "application/yaml", "json": "application/json"}
_MOST_ENTRIES: Final = 200
_MOST_TRIES: Final = 5
_Id = Annotated[UUID, Path(description="The UUID of a version.", examples=["0190bbbb-0000-7000-8000-000000000001"])]
_IfMatch = Annotated[
    str | None, Header(alias="If-Match", description="The revision that the caller saw, as ETag has it.", examples=['"1"'])
]
_NewKey = Annotated[str, Query(max_length=LONGEST_KEY, description="The key, where the body does not say it.")]
_READ: Final = (400, 401, 403, 404, 429, 500, 503)
_WRITTEN: Final = (*_READ, 408, 413, 415)
_REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    400: {
        "model": RefusedBody,
        "description": "The request or the definition cannot be read, or its form is wrong: every mistake, each with its place.",
    },
    422: {
        "model": MistakesBody,
        "description": "It names agents, steps or methods that are not there: every mistake, each with its place.",
    },
}
_CONFLICT: Final[dict[int | str, dict[str, Any]]] = {
    409: {"model": ConflictBody, "description": "It is not what the caller saw: what is there now, and what differs. Nothing was changed."}
}


@dataclass(frozen=True, kw_only=True)
class Face:
    """What the addresses of flows and those of agents differ in."""

    kind: str
    path: str
    noun: str
    whole: type[BaseModel]
    list_model: type[BaseModel]
    created: type[DocumentBody]
    sample: Sample
    to_version: Callable[[DefinitionVersion, DefinitionKey, Sequence[Finding]], BaseModel]
    to_list: Callable[[Page, str | None], BaseModel]


def _to_flow_list(page: Page, after: str | None) -> FlowList:
    return FlowList(definitions=[to_flow_row(one.version, one.head) for one in page.found], next=after)


def _to_agent_list(page: Page, after: str | None) -> AgentList:
    return AgentList(agents=[to_agent_row(one.version, one.head) for one in page.found], next=after)


_FLOWS: Final = Face(
    kind=FLOW,
    path=FLOWS_PATH,
    noun="flow",
    whole=FlowVersion,
    list_model=FlowList,
    created=CreatedBody,
    sample=FLOW_SAMPLE,
    to_version=to_flow_version,
    to_list=_to_flow_list,
)
_AGENTS: Final = Face(
    kind=AGENT,
    path=AGENTS_PATH,
    noun="agent",
    whole=AgentVersion,
    list_model=AgentList,
    created=CreatedAgentBody,
    sample=AGENT_SAMPLE,
    to_version=to_agent_version,
    to_list=_to_agent_list,
)


def build_flow_definition_routers(service: DefinitionService) -> Sequence[APIRouter]:
    """Return the routers with the endpoints of `/api/flows/definitions` and `/api/agents`.

    They come before those of runs, for `/api/flows/{run}` would take `/api/flows/definitions` as well.
    """
    return [_build_router(service, face) for face in (_FLOWS, _AGENTS)]


def _build_router(service: DefinitionService, face: Face) -> APIRouter:
    router = APIRouter(prefix=face.path, tags=[f"{face.noun}s"], route_class=_FlowRoute)
    desk = _Desk(service, face)
    _add_reads(router, desk)
    _add_saving(router, desk, BodyReader())
    _add_publishing(router, desk)
    return router


class _FlowRoute(DefinitionRoute):
    """A route that answers mistakes of a definition with 400 or 422."""

    @staticmethod
    def translate(error: Exception) -> ApiError:
        """Return the answer that an error of the service becomes."""
        return refuse(error.findings, find_status(error.findings)) if isinstance(error, DefinitionRefused) else to_api_error(error)


class _Desk:
    """The service behind one of the two faces."""

    def __init__(self, service: DefinitionService, face: Face) -> None:
        self.service, self.face = service, face

    async def find(self, editor: Editor, version_id: UUID | str) -> DefinitionVersion:
        """Return the version with that id. Raises DefinitionMissing."""
        return await self.service.find_by_id(editor, self.face.kind, str(version_id))

    async def show(self, editor: Editor, saved: Saved, *, status: int = 200) -> Response:
        """Return the answer that is a version."""
        model = await self._to_model(editor, saved.version, saved.findings)
        location = {"Location": f"{self.face.path}/{saved.version.id}"} if status == _CREATED else {}
        return _answer(model, status=status, ETag=f'"{saved.version.revision}"', **location)

    async def explain_conflict(
        self, editor: Editor, error: StaleRevision | NotADraft, present: DefinitionVersion, given: GivenDefinition | None = None
    ) -> ApiError:
        """Return the answer that a change came too late: what is there now, and how it differs from the definition that was sent."""
        difference = Difference(changes=())
        if given is not None:
            difference = await self.service.compare_submission(editor, present, given.submission)
        api_error = to_api_error(error)
        more = {
            "present": (await self._to_model(editor, present)).model_dump(mode="json", by_alias=True),
            "diff": [to_diff_line(change).model_dump(mode="json") for change in difference.changes],
            "more": difference.more,
        }
        return ApiError(api_error.status, api_error.code, api_error.message, more=more)

    async def _to_model(self, editor: Editor, version: DefinitionVersion, findings: Sequence[Finding] = ()) -> BaseModel:
        head = await self.service.find_key(editor, self.face.kind, version.key)
        return self.face.to_version(version, head, findings)


def _answer(model: BaseModel, *, status: int = 200, **headers: str) -> Response:
    """Return the model as JSON, directly: FastAPI would copy a large definition twice more."""
    return Response(model.model_dump_json(by_alias=True), status, headers, media_type="application/json")


def _parse_place(cursor: str | None) -> Place | None:
    """Return where the page begins that a cursor names. Raises ApiError 400."""
    place = parse_cursor(cursor, _CURSOR, 2)
    if place is None:
        return None
    if not (place[1].isascii() and place[1].isdecimal()):
        raise ApiError(400, "invalid_cursor", _NO_CURSOR)
    return Place(place[0], int(place[1]))


def _add_reads(router: APIRouter, desk: _Desk) -> None:
    service, face = desk.service, desk.face

    @router.get("", summary=f"Versions of {face.noun}s, page by page", response_model=face.list_model, responses=describe_errors(*_READ))
    async def list_versions(client: ClientOf, asked: Annotated[ListQuery, Query()]) -> Response:
        try:
            page = await list_page(service, to_editor(client), face.kind, asked, _parse_place(asked.cursor))
        except DefinitionMissing:  # what the cursor names
            raise ApiError(400, "invalid_cursor", _NO_CURSOR) from None
        after = encode_cursor(_CURSOR, page.end.key, str(page.end.version)) if page.end is not None else None
        return _answer(face.to_list(page, after))

    @router.get("/{version_id:uuid}", summary=f"One version of a {face.noun}", response_model=face.whole, responses=describe_errors(*_READ))
    async def show(client: ClientOf, version_id: _Id) -> Response:
        editor = to_editor(client)
        return await desk.show(editor, Saved(version=await desk.find(editor, version_id)))

    @router.get(
        "/{version_id:uuid}/history",
        summary="What was done with all its versions",
        response_model=HistoryRows,
        responses=describe_errors(*_READ),
    )
    async def show_history(client: ClientOf, version_id: _Id) -> Response:
        editor = to_editor(client)
        definition_version = await desk.find(editor, version_id)
        entries = await service.list_history(editor, face.kind, definition_version.key, limit=_MOST_ENTRIES)
        return _answer(HistoryRows(entries=[to_history_row(history_entry) for history_entry in entries]))

    @router.get(
        "/{version_id:uuid}/diff",
        summary="What changed from another version",
        response_model=VersionDiff,
        responses=describe_errors(*_READ),
    )
    async def compare(client: ClientOf, version_id: _Id, asked: Annotated[DiffQuery, Query()]) -> Response:
        editor = to_editor(client)
        after, before = await desk.find(editor, version_id), await desk.find(editor, asked.other)
        difference = await asyncio.to_thread(compare_documents, before.document, after.document)
        return _answer(to_version_diff(before, after, difference))

    @router.get(
        "/{version_id:uuid}/export",
        summary="The text of a file that reads back to the same definition",
        response_class=Response,
        responses={200: {"content": {media_type: {} for media_type in _MEDIA_TYPES.values()}}, **describe_errors(*_READ)},
    )
    async def export(client: ClientOf, version_id: _Id, asked: Annotated[ExportQuery, Query()]) -> Response:
        version = await desk.find(to_editor(client), version_id)
        headers = {"ETag": f'"{version.revision}"', "Content-Disposition": f'attachment; filename="{version.key}.{asked.format}"'}
        text = await asyncio.to_thread(write_document, version.document, asked.format)
        return Response(text, headers=headers, media_type=_MEDIA_TYPES[asked.format])


def _add_saving(router: APIRouter, desk: _Desk, bodies: BodyReader) -> None:
    service, face = desk.service, desk.face
    says_key = face.created is CreatedBody

    async def create(client: ClientOf, given: GivenDefinition, key: str, *, is_file: bool) -> Response:
        editor, name = to_editor(client), given.key or key or (None if says_key else "")
        saved = await service.create(editor, face.kind, name, given.submission, origin="imported" if is_file else "created")
        return await desk.show(editor, saved, status=_CREATED)

    @router.post(
        "",
        status_code=_CREATED,
        summary=f"Store a new version of a {face.noun} as a draft",
        response_model=face.whole,
        responses={**describe_errors(*_WRITTEN), **_REFUSED},
        openapi_extra=build_body_schema(face.created, face.sample, is_new=True),
    )
    async def create_version(client: ClientOf, request: Request, key: _NewKey = "") -> Response:
        return await create(client, await bodies.read(request, face.created), key, is_file=False)

    @router.post(
        "/import",
        status_code=_CREATED,
        summary=f"Store the text of a file as a new version of a {face.noun}, a draft",
        response_model=face.whole,
        responses={**describe_errors(*_WRITTEN), **_REFUSED},
        openapi_extra=build_file_schema(face.sample),
    )
    async def import_file(client: ClientOf, request: Request, key: _NewKey = "") -> Response:
        return await create(client, await bodies.read_file(request, CheckedBody), key, is_file=True)

    @router.post(
        "/validate",
        summary="Everything that is wrong with a definition, without storing it",
        response_model=Validation,
        responses={**describe_errors(*_WRITTEN), **_REFUSED},
        openapi_extra=build_body_schema(CheckedBody, face.sample),
    )
    async def validate(client: ClientOf, request: Request) -> Response:
        given = await bodies.read(request, CheckedBody)
        found = await service.check(to_editor(client), face.kind, None, given.submission)
        return _answer(to_validation(found, valid=not has_errors(found.findings)))

    @router.put(
        "/{version_id:uuid}",
        summary="Replace the text of a draft",
        response_model=face.whole,
        responses={**describe_errors(*_WRITTEN, 428), **_REFUSED, **_CONFLICT},
        openapi_extra=build_body_schema(SavedBody, face.sample),
    )
    async def save(client: ClientOf, request: Request, version_id: _Id, seen: _IfMatch = None) -> Response:
        editor = to_editor(client)
        given = await bodies.read(request, SavedBody)
        expected = parse_revision(seen) if seen is not None or given.revision is None else given.revision
        version = await desk.find(editor, version_id)
        try:
            saved = await service.save(editor, face.kind, version.key, version.version, given.submission, expected=expected)
        except (StaleRevision, NotADraft) as error:
            raise await desk.explain_conflict(editor, error, await desk.find(editor, version_id), given) from None
        return await desk.show(editor, saved)


def _add_publishing(router: APIRouter, desk: _Desk) -> None:
    service, face = desk.service, desk.face

    @router.post(
        "/{version_id:uuid}/publish",
        summary="Let this version be the one that is used",
        response_model=face.whole,
        responses={**describe_errors(*_WRITTEN), **_REFUSED, **_CONFLICT},
    )
    async def publish(client: ClientOf, version_id: _Id, body: PublishBody | None = None, seen: _IfMatch = None) -> Response:
        editor, publish_body = to_editor(client), body or PublishBody()
        version = await desk.find(editor, version_id)
        expected = parse_revision(seen) if seen is not None else publish_body.revision or version.revision
        send = partial(service.publish, editor, face.kind, version.key, version.version, note=publish_body.change_notes)
        try:
            return await desk.show(editor, await send(expected=expected))
        except StaleRevision as error:
            raise await desk.explain_conflict(editor, error, await desk.find(editor, version_id)) from None

    @router.post(
        "/{version_id:uuid}/rollback",
        status_code=_CREATED,
        summary="Make a new draft with the text of this version",
        response_model=face.whole,
        responses={**describe_errors(*_WRITTEN), **_REFUSED},
    )
    async def roll_back(client: ClientOf, version_id: _Id, body: NotedBody | None = None) -> Response:
        editor = to_editor(client)
        version = await desk.find(editor, version_id)
        note = body.change_notes if body is not None else ""
        return await desk.show(editor, await service.roll_back(editor, face.kind, version.key, version.version, note=note), status=_CREATED)

    @router.post(
        "/{version_id:uuid}/switch",
        summary=f"Switch a {face.noun} off or on as a whole, with all its versions",
        response_model=face.whole,
        responses=describe_errors(*_WRITTEN),
    )
    async def switch(client: ClientOf, version_id: _Id, body: ActiveBody) -> Response:
        editor = to_editor(client)
        key = (await desk.find(editor, version_id)).key
        for left in reversed(range(_MOST_TRIES)):
            revision = (await service.find_key(editor, face.kind, key)).revision
            try:
                await service.switch(editor, face.kind, key, enabled=body.active, expected=revision, note=body.change_notes)
                break
            except StaleRevision:  # a version was published at this moment, which the switch has nothing to do with
                if not left:
                    raise ApiError(503, "busy", "Others change it all the time: try again.", headers={"Retry-After": "2"}) from None
        return await desk.show(editor, Saved(version=await desk.find(editor, version_id)))
