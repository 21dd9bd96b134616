"""Bodies with a definition: a JSON object that holds it, or YAML or JSON as a file. Bounded in time and memory for whatever text."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Final

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bot.http_api.definitions.definition_models import to_definition, to_finding, to_version
from bot.http_api.server.callers import ClientOf, Guarded
from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client
from orchestrator.definitions.checking import Submission
from orchestrator.definitions.reader import KindUnknown
from orchestrator.definitions.rules import Editor, NotAllowed
from orchestrator.definitions.service import LONGEST_NOTE, LONGEST_TITLE
from orchestrator.documents.document import Document, DocumentFormat
from orchestrator.documents.reading import MAX_BYTES, Reading, read_document
from orchestrator.domain.finding import DefinitionRefused, Finding, has_errors
from state.model.definitions import (
    DefinitionDamaged,
    DefinitionKey,
    DefinitionMissing,
    DefinitionsBusy,
    DefinitionUnstorable,
    DefinitionVersion,
    NotADraft,
    StaleRevision,
)
from state.stored import JsonObject


class DefinitionRoute(Guarded):
    """Errors of definitions become answers."""

    @staticmethod
    def translate(error: Exception) -> ApiError:
        return to_api_error(error)

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, None, Response]]:
        """FastAPI calls this once."""
        inner, translate = super().get_route_handler(), self.translate

        async def translated(request: Request) -> Response:
            try:
                return await inner(request)
            except (KindUnknown, NotAllowed, DefinitionRefused, *_STORE_ERRORS) as error:
                raise translate(error) from None

        return translated


_STORE_ERRORS: Final = (DefinitionMissing, StaleRevision, NotADraft, DefinitionsBusy, DefinitionDamaged, DefinitionUnstorable)


def to_api_error(error: Exception) -> ApiError:
    match error:
        case KindUnknown():
            return ApiError(404, "kind_not_found", error.reason)
        case NotAllowed():
            return ApiError(403, error.code, error.reason)
        case DefinitionRefused():
            return refuse(error.findings, 422)
        case DefinitionMissing():
            return ApiError(404, "definition_not_found", f"{str(error)[:1].upper()}{str(error)[1:].removesuffix('.')}.")
        case StaleRevision():
            sentence = f"Somebody else was first: it has revision {error.present.revision} by now. Look at it, and send that in If-Match."
            return ApiError(409, "stale_revision", sentence, more={"present": _describe_present(error.present)})
        case NotADraft():
            sentence = f"Version {error.present.version} is published, so its text stays as it is; make a new version."
            return ApiError(409, "not_a_draft", sentence, more={"present": _describe_present(error.present)})
        case DefinitionUnstorable():
            return ApiError(400, "not_storable", f"It cannot be stored: {error}.")
        case DefinitionDamaged():
            return ApiError(500, "definition_damaged", "The stored text is not the one that was saved: tell operations staff.")
        case _:
            return ApiError(503, "busy", "Somebody else changes definitions at this moment: try again.", headers={"Retry-After": "2"})


def refuse(findings: Sequence[Finding], status: int) -> ApiError:
    mistakes = [to_finding(finding).model_dump() for finding in findings]
    count = sum(finding.severity == "error" for finding in findings)
    first = next((finding for finding in findings if finding.severity == "error"), findings[0])
    place = f"line {first.line}, column {first.column}: " if first.line else ""
    sentence = f"The definition has {count} mistake{'' if count == 1 else 's'}; the first: {place}{first.message}."
    return ApiError(status, "definition_refused", sentence, more={"findings": mistakes})


def _describe_present(present: DefinitionVersion | DefinitionKey) -> Mapping[str, Any]:
    present_version = to_definition(present) if isinstance(present, DefinitionKey) else to_version(present)
    return present_version.model_dump(mode="json")


def to_editor(client: Client) -> Editor:
    return Editor(actor=client.actor, via=client.via, writes_for_customers=client.customers)


async def _resolve_editor(client: ClientOf) -> Editor:
    return to_editor(client)


EditorOf = Annotated[Editor, Depends(_resolve_editor)]


PREFIX: Final = "/definitions/"
MAX_BODY: Final = MAX_BYTES
_READ_AT_ONCE: Final = 4
"""Further requests wait."""
_YAML: Final = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")
_LIMITS: Final = frozenset({"finding-document-deep", "finding-document-wide", "finding-more"})
"""Reported without a path."""
_REVISION: Final = re.compile(r'"([1-9][0-9]{0,8})"', re.ASCII)
Key = Annotated[str, Field(max_length=200, description="Letters, digits, - and _, 1 to 64, the first a letter or digit.")]
Title = Annotated[str | None, Field(max_length=LONGEST_TITLE, description="What people call it; without it, that of the version before.")]
Note = Annotated[str, Field(max_length=LONGEST_NOTE, description="What has changed and why, for the history.")]


@dataclass(frozen=True, kw_only=True)
class Details:
    title: str | None = None
    note: str = ""
    key: str = ""
    revision: int | None = None
    """None if the body does not say it."""


_DETAILS: Final = tuple(detail.name for detail in fields(Details))


class DocumentBody(BaseModel):
    """The body of a request with a definition: as JSON data in `document`, or as the text of a file in `text`."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"oneOf": [{"required": ["document"]}, {"required": ["text"]}]},
    )
    FIELD: ClassVar[str] = "document"
    """The definition as JSON data."""
    NOTE: ClassVar[str] = "note"
    IS_WRAPPED: ClassVar[bool] = False
    """Something beside the definition is needed."""
    document: Annotated[Any, Field(description="The definition as JSON data.")] = None
    text: Annotated[str | None, Field(description="The definition as the text of a file, YAML or JSON, with its comments.")] = None

    @model_validator(mode="after")
    def _has_one(self) -> "DocumentBody":
        if ("document" in self.model_fields_set) == (self.text is not None):
            raise ValueError(f"give one of {self.FIELD} and text, and not both")
        return self

    @property
    def details(self) -> Details:
        """Each field that its form has."""
        return Details(**{name: getattr(self, name) for name in _DETAILS if name in type(self).model_fields})


class SavedBody(DocumentBody):
    """The body of a request that saves a definition."""

    title: Title = None
    note: Note = ""


class CreatedBody(SavedBody):
    """The body of a request that makes a new version, of a new key or of one that is there."""

    IS_WRAPPED: ClassVar[bool] = True
    key: Key


@dataclass(frozen=True, kw_only=True)
class GivenDefinition:
    """`key` is "" where the body does not name it."""

    submission: Submission
    key: str = ""
    revision: int | None = None


class BodyReader:
    """A few at a time; one instance per app. Raises ApiError 400 and 415 and RequestValidationError."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_READ_AT_ONCE)

    async def read(self, request: Request, model: type[DocumentBody]) -> GivenDefinition:
        """JSON in the form of `model`, or YAML as it is."""
        async with self._places:
            body = await request.body()
            if _is_yaml(request) and not model.IS_WRAPPED:
                return _to_raw(body, "yaml", request, model)
            _check_json(request)
            return await asyncio.to_thread(partial(_parse_body, body, model))

    async def read_file(self, request: Request, model: type[DocumentBody] = DocumentBody) -> GivenDefinition:
        async with self._places:
            body = await request.body()
        if _is_yaml(request):
            return _to_raw(body, "yaml", request, model)
        _check_json(request)
        return _to_raw(body, "json", request, model)


def parse_revision(header: str | None) -> int:
    """The revision of If-Match. Raises ApiError 428 without it, 400 if it names none or several."""
    if header is None:
        raise ApiError(428, "revision_needed", 'Send If-Match with the revision that you saw, such as If-Match: "3"; ETag has it.')
    match = _REVISION.fullmatch(header.strip())
    if match is None:
        raise ApiError(400, "invalid_revision", 'If-Match: one revision in quotes is needed, such as "3", as ETag has it.')
    return int(match[1])


def _is_yaml(request: Request) -> bool:
    return _find_type(request) in _YAML


def _check_json(request: Request) -> None:
    kind = _find_type(request)
    if kind and kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise ApiError(415, "unsupported_type", f"A body is application/json or, where it is the definition alone, {_YAML[0]}.")


def _find_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _to_raw(body: bytes, form: DocumentFormat, request: Request, model: type[DocumentBody]) -> GivenDefinition:
    title, note = request.query_params.get("title"), request.query_params.get(model.NOTE, "")
    for name, bounded_text, longest in (("title", title, LONGEST_TITLE), (model.NOTE, note, LONGEST_NOTE)):
        if bounded_text is not None and len(bounded_text) > longest:
            raise ApiError(400, "invalid_request", f"{name}: at most {longest} characters.")
    return GivenDefinition(submission=Submission(read=partial(read_document, body, form), title=title, note=note))


def _parse_body(body: bytes, model: type[DocumentBody]) -> GivenDefinition:
    """Mistakes of the definition stay with it, or raise DefinitionRefused if unreadable; all others refuse the request."""
    reading = read_document(body, "json")
    data = reading.draft.data if reading.draft is not None else None
    field = model.FIELD
    begun = isinstance(data, dict) and field in data
    inside = [finding for finding in reading.findings if _is_inside(finding, field, begun=begun)]
    outside = [finding for finding in reading.findings if finding not in inside]
    if has_errors(outside) or reading.draft is None:
        mistakes = [to_finding(finding).model_dump() for finding in outside]
        raise ApiError(400, "invalid_json", f"The body cannot be read: {outside[0]}.", more={"findings": mistakes})
    if not isinstance(data, dict):
        raise ApiError(400, "invalid_json", "The body is no JSON object.")
    try:
        parsed = model.model_validate(data)
    except ValidationError as error:
        if has_errors(inside):  # what is missing may stand behind the mistake at which reading ended
            raise DefinitionRefused(_list_own(inside, field)) from None
        faults = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**fault, "loc": ("body", *fault["loc"])} for fault in faults]) from None
    read = partial(read_document, parsed.text) if parsed.text is not None else partial(_take_part, reading.draft, inside, field)
    details = parsed.details
    return GivenDefinition(
        submission=Submission(read=read, title=details.title, note=details.note), key=details.key, revision=details.revision
    )


def _is_inside(finding: Finding, field: str, *, begun: bool) -> bool:
    """Whether it is about the definition; with `begun`, limits are the definition's."""
    is_below = finding.path == field or finding.path.startswith((f"{field}.", f"{field}["))
    return is_below or (begun and finding.code in _LIMITS)


def _list_own(findings: Sequence[Finding], field: str) -> tuple[Finding, ...]:
    return tuple(replace(finding, path=finding.path.removeprefix(field).removeprefix(".")) for finding in findings)


def _take_part(body: Document, findings: Sequence[Finding], field: str) -> Reading:
    """With paths that begin in it, and lines of the body."""
    spots = body.spots.parts.get(field) if body.spots is not None else None
    part = Document(data=body.data[field], spots=spots, lines=body.lines)
    own = _list_own(findings, field)
    return Reading(document=None if has_errors(own) else part, draft=part, findings=own)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A definition in the API's description; `beside` is what else a new one needs."""

    document: JsonObject
    text: str
    beside: Mapping[str, str]


SAMPLE: Final = Sample(
    document={"steps": [{"name": "greet", "say": "Hello"}]},
    text="steps:\n  - {name: greet, say: Hello}  # a comment\n",
    beside={"key": "welcome"},
)


def build_document_schema(model: type[DocumentBody] | None, sample: Sample = SAMPLE) -> dict[str, object]:
    """JSON in the form of `model` (any form without it), and YAML unless it is wrapped."""
    raw: dict[str, object] = {"description": "The definition itself, as the text of a file; its note stands in the query."}
    raw["examples"] = [sample.document]
    form = raw
    if model is not None:
        beside = sample.beside if "key" in model.model_fields else {}
        examples = [{**beside, model.FIELD: sample.document}, {**beside, "text": sample.text}]
        form = {**model.model_json_schema(), "examples": examples}
    yaml = {} if model is not None and model.IS_WRAPPED else {"application/yaml": {"schema": raw}}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": form}, **yaml}}}
