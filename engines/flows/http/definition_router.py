"""Endpoints of `/api/flows/definitions` and `/api/agents` (S002-X2…X4, S002-57): a second face of `/definitions` under the same rights."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Request, Response

from bot.http_api.definitions.definition_models import MistakesBody, to_checked, to_diff_line
from bot.http_api.definitions.request_body import (
    BodyReader,
    DefinitionRoute,
    DocumentBody,
    EditorOf,
    GivenDefinition,
    Sample,
    build_document_schema,
    parse_revision,
    refuse,
    to_api_error,
)
from bot.http_api.definitions.router import CREATED, FILE, MOST_ENTRIES, READ, WRITTEN, answer, answer_file
from bot.http_api.server.endpoint_context import encode_cursor, parse_cursor
from bot.http_api.server.errors import ApiError, describe_errors
from engines.flows.core.definition import AGENT
from engines.flows.core.kind import FLOW
from engines.flows.http.definition_models import (
    AGENT_SAMPLE,
    FLOW_SAMPLE,
    ActiveBody,
    AgentList,
    AgentRow,
    AgentVersion,
    CheckedBody,
    ConflictBody,
    CreatedAgentBody,
    CreatedBody,
    DiffQuery,
    ExportQuery,
    FlowList,
    FlowRow,
    FlowVersion,
    HistoryRows,
    ListQuery,
    NotedBody,
    PublishBody,
    RefusedBody,
    SavedBody,
    Validation,
    VersionDiff,
    show_version,
)
from orchestrator.definitions.reader import Difference, compare_documents
from orchestrator.definitions.rules import LONGEST_KEY, Editor
from orchestrator.definitions.service import DefinitionService, Saved
from orchestrator.domain.finding import DefinitionRefused, Finding, has_errors
from state.model.definitions import DefinitionDamaged, DefinitionKey, DefinitionMissing, DefinitionVersion, NotADraft, StaleRevision

_AT_ONCE: Final = 50
_MOST_SEEN: Final = 5000
_MOST_READ: Final = 200
"""Versions and documents looked through for one page, so that a filter that fits nothing does not read the whole store."""


@dataclass(frozen=True)
class Listed:
    version: DefinitionVersion
    head: DefinitionKey


@dataclass(frozen=True)
class Place:
    """After this version of this key, or after all of them for version 0."""

    key: str
    version: int = 0


@dataclass(frozen=True)
class Page:
    """By key, the last version first; `end` is None at the end."""

    found: tuple[Listed, ...]
    end: Place | None


async def list_page(service: DefinitionService, editor: Editor, kind: str, list_query: ListQuery, begin: Place | None) -> Page:
    """The page may be shorter than the limit though others follow."""
    fitting: list[Listed] = []
    seen, read, place = 0, 0, begin
    while heads := await _list_heads(service, editor, kind, place):
        for head in heads:
            for version in await service.list_versions(editor, kind, head.key) if _may_fit(head, list_query) else ():
                if place is not None and place.key == head.key and version.version >= place.version > 0:
                    continue
                if len(fitting) == list_query.limit or seen == _MOST_SEEN or read == _MOST_READ:
                    return Page(tuple(fitting), place)
                seen, place = seen + 1, Place(head.key, version.version)
                if _fits(version, head, list_query):
                    read += 1
                    whole = await _read(service, editor, version)
                    fitting += [Listed(whole, head)] if _has_tag(whole, list_query.tag) else []
            place = Place(head.key)
    return Page(tuple(fitting), None)


async def _list_heads(service: DefinitionService, editor: Editor, kind: str, place: Place | None) -> list[DefinitionKey]:
    """The definition inside of which the place is comes first."""
    after = f"{kind}/{place.key}" if place is not None else ""
    heads = await service.list_keys(editor, kind, after=after, limit=_AT_ONCE)
    return [await service.find_key(editor, kind, place.key), *heads] if place is not None and place.version else heads


def _may_fit(head: DefinitionKey, list_query: ListQuery) -> bool:
    return not list_query.published or (head.enabled and head.active_version > 0)


def _fits(version: DefinitionVersion, head: DefinitionKey, list_query: ListQuery) -> bool:
    needle = list_query.q.casefold()
    is_usable = version.active and head.enabled
    return (
        (needle in version.title.casefold() or needle in version.key.casefold())
        and list_query.status in {None, version.status.upper()}
        and list_query.active in {None, version.active}
        and list_query.published in {None, is_usable}
    )


async def _read(service: DefinitionService, editor: Editor, version: DefinitionVersion) -> DefinitionVersion:
    """Without its document if that is damaged, so that the others can still be listed."""
    try:
        return await service.find_by_id(editor, version.kind, version.id)
    except DefinitionDamaged:
        return version


def _has_tag(version: DefinitionVersion, tag: str) -> bool:
    if not tag:
        return True
    metadata = version.document.get("metadata") if isinstance(version.document, Mapping) else None
    tags = metadata.get("tags") if isinstance(metadata, Mapping) else None
    return isinstance(tags, list) and tag.casefold() in {str(one).casefold() for one in tags}


FLOWS_PATH: Final = "/api/flows/definitions"
AGENTS_PATH: Final = "/api/agents"
_CURSOR: Final = "f"
_MOST_TRIES: Final = 5
_VERSION: Final = "/{version_id:uuid}"
_Id = Annotated[UUID, Path(description="The UUID of a version.", examples=["0190bbbb-0000-7000-8000-000000000001"])]
_IfMatch = Annotated[
    str | None, Header(alias="If-Match", description="The revision that the caller saw, as ETag has it.", examples=['"1"'])
]
_NewKey = Annotated[str, Query(max_length=LONGEST_KEY, description="The key, where the body does not say it.")]
_Responses = dict[int | str, dict[str, Any]]
_CHANGED: Final[_Responses] = {
    **describe_errors(*WRITTEN),
    400: {
        "model": RefusedBody,
        "description": "The request or the definition cannot be read, or its form is wrong: every mistake, each with its place.",
    },
    422: {
        "model": MistakesBody,
        "description": "It names agents, steps or methods that are not there: every mistake, each with its place.",
    },
}
_CONFLICT: Final[_Responses] = {
    409: {"model": ConflictBody, "description": "It is not what the caller saw: what is there now, and what differs. Nothing was changed."}
}
_OF_MEANING: Final = frozenset(
    {
        "finding-reference-unknown",
        "finding-reference-draft",
        "finding-reference-off",
        "finding-method-unknown",
        "finding-method-writes",
        "finding-flow-step-unknown",
        "finding-flow-success-open",
        "finding-flow-loop-endless",
        "finding-flow-reference-unknown",
        "finding-flow-field-excluded",
    }
)
"""The form of the document is right: 422. Any other mistake makes it 400 (S002-44…48, S002-58, S002-X4)."""


@dataclass(frozen=True, kw_only=True)
class Face:
    kind: str
    path: str
    noun: str
    row: type[FlowRow | AgentRow]
    whole: type[FlowVersion | AgentVersion]
    page: type[FlowList | AgentList]
    created: type[DocumentBody]
    sample: Sample


_FACES: Final = (
    Face(kind=FLOW, path=FLOWS_PATH, noun="flow", row=FlowRow, whole=FlowVersion, page=FlowList, created=CreatedBody, sample=FLOW_SAMPLE),
    Face(
        kind=AGENT, path=AGENTS_PATH, noun="agent", row=AgentRow, whole=AgentVersion, page=AgentList,
        created=CreatedAgentBody, sample=AGENT_SAMPLE,
    ),
)  # fmt: skip


def build_flow_definition_routers(service: DefinitionService) -> Sequence[APIRouter]:
    """They come before the router of runs, for `/api/flows/{run}` would take `/api/flows/definitions`."""
    return [_build_router(_Desk(service, face), face) for face in _FACES]


class _FlowRoute(DefinitionRoute):
    """Answers mistakes of a definition with 400 or 422."""

    @staticmethod
    def translate(error: Exception) -> ApiError:
        if not isinstance(error, DefinitionRefused):
            return to_api_error(error)
        codes = {finding.code for finding in error.findings if finding.severity == "error"}
        return refuse(error.findings, 422 if codes <= _OF_MEANING else 400)


def _build_router(desk: "_Desk", face: Face) -> APIRouter:
    router = APIRouter(prefix=face.path, tags=[f"{face.noun}s"], route_class=_FlowRoute)

    noun, whole = face.noun, face.whole
    describe = partial(build_document_schema, sample=face.sample)
    read = partial(router.add_api_route, methods=["GET"], responses=describe_errors(*READ))
    change = partial(router.add_api_route, methods=["POST"], responses=_CHANGED)
    make = partial(change, response_model=whole, status_code=CREATED)
    read("", desk.list_versions, summary=f"Versions of {noun}s, page by page", response_model=face.page)
    read(_VERSION, desk.show, summary=f"One version of a {noun}", response_model=whole)
    read(f"{_VERSION}/history", desk.show_history, summary="What was done with all its versions", response_model=HistoryRows)
    read(f"{_VERSION}/diff", desk.compare, summary="What changed from another version", response_model=VersionDiff)
    file = {**FILE, **describe_errors(*READ)}
    summary = "The text of a file that reads back to the same definition"
    read(f"{_VERSION}/export", desk.export, summary=summary, response_class=Response, responses=file)
    summary = f"Store a new version of a {noun} as a draft"
    make("", desk.create_version, summary=summary, openapi_extra=describe(face.created))
    summary = f"Store the text of a file as a new version of a {noun}, a draft"
    make("/import", desk.import_file, summary=summary, openapi_extra=describe(None))
    summary = "Everything that is wrong with a definition, without storing it"
    change("/validate", desk.validate, summary=summary, response_model=Validation, openapi_extra=describe(CheckedBody))
    late = {**_CHANGED, **_CONFLICT}
    change(
        _VERSION,
        desk.save,
        methods=["PUT"],
        summary="Replace the text of a draft",
        response_model=whole,
        responses={**late, **describe_errors(428)},
        openapi_extra=describe(SavedBody),
    )
    summary = "Let this version be the one that is used"
    change(f"{_VERSION}/publish", desk.publish, summary=summary, response_model=whole, responses=late)
    make(f"{_VERSION}/rollback", desk.roll_back, summary="Make a new draft with the text of this version")
    summary = f"Switch a {noun} off or on as a whole, with all its versions"
    change(f"{_VERSION}/switch", desk.switch, summary=summary, response_model=whole)
    return router


class _Desk:
    def __init__(self, service: DefinitionService, face: Face) -> None:
        self.service, self.face = service, face
        self.bodies = BodyReader()

    async def list_versions(self, editor: EditorOf, query: Annotated[ListQuery, Query()]) -> Response:
        try:
            page = await list_page(self.service, editor, self.face.kind, query, _parse_place(query.cursor))
        except DefinitionMissing:  # what the cursor names
            raise _build_no_cursor() from None
        rows = [show_version(self.face.row, one.version, one.head) for one in page.found]
        after = encode_cursor(_CURSOR, page.end.key, str(page.end.version)) if page.end is not None else None
        return answer(self.face.page.model_validate({"definitions": rows, "agents": rows, "next": after}))

    async def show(self, editor: EditorOf, version_id: _Id) -> Response:
        return await self._answer(editor, Saved(version=await self._find(editor, version_id)))

    async def show_history(self, editor: EditorOf, version_id: _Id) -> Response:
        version = await self._find(editor, version_id)
        entries = await self.service.list_history(editor, self.face.kind, version.key, limit=MOST_ENTRIES)
        return answer(HistoryRows.model_validate({"entries": entries}))

    async def compare(self, editor: EditorOf, version_id: _Id, query: Annotated[DiffQuery, Query()]) -> Response:
        after, before = await self._find(editor, version_id), await self._find(editor, query.other)
        difference = await asyncio.to_thread(compare_documents, before.document, after.document)
        changes = [to_diff_line(change) for change in difference.changes]
        return answer(VersionDiff.model_validate({"before": before, "after": after, "changes": changes, "more": difference.more}))

    async def export(self, editor: EditorOf, version_id: _Id, query: Annotated[ExportQuery, Query()]) -> Response:
        return await answer_file(await self._find(editor, version_id), query.format)

    async def create_version(self, editor: EditorOf, request: Request, key: _NewKey = "") -> Response:
        return await self._create(editor, await self.bodies.read(request, self.face.created), key, is_file=False)

    async def import_file(self, editor: EditorOf, request: Request, key: _NewKey = "") -> Response:
        return await self._create(editor, await self.bodies.read_file(request, CheckedBody), key, is_file=True)

    async def _create(self, editor: Editor, submitted: GivenDefinition, key: str, *, is_file: bool) -> Response:
        name = submitted.key or key or (None if self.face.kind == FLOW else "")
        saved = await self.service.create(editor, self.face.kind, name, submitted.submission, origin="imported" if is_file else "created")
        return await self._answer(editor, saved, status=CREATED)

    async def validate(self, editor: EditorOf, request: Request) -> Response:
        submitted = await self.bodies.read(request, CheckedBody)
        checked = await self.service.check(editor, self.face.kind, None, submitted.submission)
        return answer(Validation.model_validate(to_checked(checked, valid=not has_errors(checked.findings))))

    async def save(self, editor: EditorOf, request: Request, version_id: _Id, seen: _IfMatch = None) -> Response:
        submitted = await self.bodies.read(request, SavedBody)
        expected = parse_revision(seen) if seen is not None or submitted.revision is None else submitted.revision
        version = await self._find(editor, version_id)
        try:
            saved = await self.service.save(editor, self.face.kind, version.key, version.version, submitted.submission, expected=expected)
        except (StaleRevision, NotADraft) as error:
            raise await self._explain_conflict(editor, error, await self._find(editor, version_id), submitted) from None
        return await self._answer(editor, saved)

    async def publish(self, editor: EditorOf, version_id: _Id, body: PublishBody | None = None, seen: _IfMatch = None) -> Response:
        body = body or PublishBody()
        version = await self._find(editor, version_id)
        expected = parse_revision(seen) if seen is not None else body.revision or version.revision
        note = body.change_notes
        try:
            saved = await self.service.publish(editor, self.face.kind, version.key, version.version, expected=expected, note=note)
        except StaleRevision as error:
            raise await self._explain_conflict(editor, error, await self._find(editor, version_id)) from None
        return await self._answer(editor, saved)

    async def roll_back(self, editor: EditorOf, version_id: _Id, body: NotedBody | None = None) -> Response:
        version = await self._find(editor, version_id)
        note = body.change_notes if body is not None else ""
        saved = await self.service.roll_back(editor, self.face.kind, version.key, version.version, note=note)
        return await self._answer(editor, saved, status=CREATED)

    async def switch(self, editor: EditorOf, version_id: _Id, body: ActiveBody) -> Response:
        kind, key = self.face.kind, (await self._find(editor, version_id)).key
        for _ in range(_MOST_TRIES):
            revision = (await self.service.find_key(editor, kind, key)).revision
            try:
                await self.service.switch(editor, kind, key, enabled=body.active, expected=revision, note=body.change_notes)
            except StaleRevision:  # a version was published at this moment, which the switch has nothing to do with
                continue
            return await self._answer(editor, Saved(version=await self._find(editor, version_id)))
        raise ApiError(503, "busy", "Others change it all the time: try again.", headers={"Retry-After": "2"})

    async def _find(self, editor: Editor, version_id: UUID | str) -> DefinitionVersion:
        """Raises DefinitionMissing."""
        return await self.service.find_by_id(editor, self.face.kind, str(version_id))

    async def _answer(self, editor: Editor, saved: Saved, *, status: int = 200) -> Response:
        location = {"Location": f"{self.face.path}/{saved.version.id}"} if status == CREATED else {}
        whole = await self._show(editor, saved.version, saved.findings)
        return answer(whole, status=status, ETag=f'"{saved.version.revision}"', **location)

    async def _show(self, editor: Editor, version: DefinitionVersion, findings: Sequence[Finding] = ()) -> FlowVersion | AgentVersion:
        head = await self.service.find_key(editor, self.face.kind, version.key)
        return show_version(self.face.whole, version, head, findings)

    async def _explain_conflict(
        self, editor: Editor, error: StaleRevision | NotADraft, present: DefinitionVersion, submitted: GivenDefinition | None = None
    ) -> ApiError:
        """Say what is there now, and how it differs from what was sent."""
        difference = Difference(changes=())
        if submitted is not None:
            difference = await self.service.compare_submission(editor, present, submitted.submission)
        known = to_api_error(error)
        more = {
            "present": (await self._show(editor, present)).model_dump(mode="json", by_alias=True),
            "diff": [to_diff_line(change).model_dump(mode="json") for change in difference.changes],
            "more": difference.more,
        }
        return ApiError(known.status, known.code, known.message, more=more)


def _parse_place(cursor: str | None) -> Place | None:
    """Raises ApiError 400."""
    place = parse_cursor(cursor, _CURSOR, 2)
    if place is None:
        return None
    if not (place[1].isascii() and place[1].isdecimal()):
        raise _build_no_cursor()
    return Place(place[0], int(place[1]))


def _build_no_cursor() -> ApiError:
    return ApiError(400, "invalid_cursor", "The cursor is none of this list.")
