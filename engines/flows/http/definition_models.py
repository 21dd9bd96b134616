"""Flows and agents in the seed's words, a row for each version (S002-X2)."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import AliasGenerator, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from bot.http_api.definitions.definition_models import CheckedDefinition, DiffLine, Mistake, to_finding
from bot.http_api.definitions.request_body import DocumentBody, Key, Note, Sample
from bot.http_api.server.endpoint_context import CursorText, Moment
from bot.http_api.server.errors import Trouble
from engines.flows.core.kind import FLOW
from orchestrator.domain.finding import Finding
from state.model.definitions import DefinitionKey, DefinitionVersion, HistoryKind


class CheckedBody(DocumentBody):
    """The body of a request to check a definition: as JSON data in `definition`, or as the text of a file in `text`."""

    FIELD: ClassVar[str] = "definition"
    NOTE: ClassVar[str] = "changeNotes"
    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["definition"]}, {"required": ["text"]}]})
    document: Annotated[Any, Field(alias="definition", description="The definition as JSON data.")] = None


class CreatedBody(CheckedBody):
    """The body of a request that makes a new version of a flow, whose name is its flowId."""

    note: Annotated[Note, Field(alias="changeNotes")] = ""


class SavedBody(CreatedBody):
    """The body of a request that replaces the text of a draft."""

    revision: Annotated[int | None, Field(ge=1, le=999_999_999, description="The revision that the caller saw, as If-Match.")] = None


class CreatedAgentBody(CreatedBody):
    """The body of a request that makes a new version of an agent, of a new key or of one that is there."""

    key: Key


FLOW_SAMPLE: Final = Sample(
    document={
        "flowId": "offer",
        "metadata": {"title": "Draft of an offer", "tags": ["sales"]},
        "steps": [
            {"id": "draft", "agentVersionId": "writer", "transitions": {"onSuccess": {"next": "review"}}},
            {"id": "review", "agentVersionId": "writer", "prompt": "Check the offer.", "transitions": {"onSuccess": {"complete": True}}},
        ],
    },
    text="flowId: offer\nmetadata: {title: Draft of an offer}\nsteps:\n  - {id: draft, agentVersionId: writer}  # a comment\n",
    beside={},
)
AGENT_SAMPLE: Final = Sample(
    document={"title": "Writer", "systemPrompt": "You write offers.", "defaultOptions": {"temperature": 0.4}},
    text="title: Writer\nsystemPrompt: You write offers.\n",
    beside={"key": "writer"},
)


M = TypeVar("M", bound="FlowApiModel")
_ID: Final = "0190bbbb-0000-7000-8000-000000000001"
_OTHER: Final = "0190bbbb-0000-7000-8000-000000000002"
MOST_LISTED: Final = 100
Status = Literal["DRAFT", "PUBLISHED"]
_OF_WHOLE: Final = frozenset({"published", "deactivated", "switched_off", "switched_on"})
_SPELLING: Final = ConfigDict(frozen=True, from_attributes=True, alias_generator=AliasGenerator(serialization_alias=to_camel))
_KEY: Final = AliasPath("key")
_TextOrNull = Annotated[str | None, BeforeValidator(lambda text: text or None)]


class FlowApiModel(BaseModel):
    """Base class of the answers: spelled like the seed's schema; instances are immutable."""

    model_config = _SPELLING


class Row(FlowApiModel):
    """One version, without its definition."""

    id: str = Field(description="The UUID of this version.", examples=[_ID])
    name: str = Field(validation_alias=_KEY, description="What all versions have in common: flowId or key.", examples=["offer"])
    version: int = Field(description="Counted from 1; the server gives it.", examples=[3])
    status: Annotated[Status, BeforeValidator(str.upper)]
    is_active: bool = Field(validation_alias="active", description="Whether this is the version that is used; of each name at most one is.")
    is_enabled: bool = Field(validation_alias="enabled", description="Whether the name as a whole is switched on.")
    title: str = Field(description="What people call it.")
    description: str
    revision: int = Field(description="Grows with every change; a change names the one that it is based on.", examples=[2])
    change_notes: str = Field(validation_alias="note", description="What was noted when the text was last saved.")
    created_by: str = Field(validation_alias="author", examples=["http:site"])
    updated_by: str = Field(examples=["http:site"])
    created_at: Moment
    updated_at: Moment
    published_by: _TextOrNull
    published_at: _TextOrNull


class FlowRow(Row):
    """One version of a flow, without its definition."""

    flow_id: str = Field(validation_alias=_KEY, examples=["offer"])
    tags: Sequence[str]


class AgentRow(Row):
    """One version of an agent, without its definition."""

    key: str = Field(examples=["writer"])
    model: str = Field(description='The name of a model of the settings; "" for that of the role tool.')


class Whole(FlowApiModel):
    """What one version has beside its row."""

    definition: Any = Field(validation_alias="document", description="The definition itself; its keys are sorted.")
    warnings: Sequence[Mistake] = Field((), description="What its author probably meant otherwise; only after saving and publishing.")


class FlowVersion(Whole, FlowRow):
    """One version of a flow."""


class AgentVersion(Whole, AgentRow):
    """One version of an agent."""


class FlowList(FlowApiModel):
    """One page of versions of flows, by flowId, the last version of each first."""

    definitions: Sequence[FlowRow]
    next: str | None = Field(description="Where the next page begins; null at the end. A page may have fewer than `limit`.")


class AgentList(FlowApiModel):
    """One page of versions of agents, by key, the last version of each first."""

    agents: Sequence[AgentRow]
    next: str | None = Field(description="Where the next page begins; null at the end. A page may have fewer than `limit`.")


class HistoryRow(FlowApiModel):
    """One thing that was done with a flow or agent."""

    version: int = Field(description="0 if it concerns all of it and no version was active.")
    status: Annotated[Status, BeforeValidator(lambda what: "PUBLISHED" if what in _OF_WHOLE else "DRAFT")] = Field(
        validation_alias=AliasPath("what")
    )
    what: HistoryKind
    change_notes: str = Field(validation_alias="note")
    created_by: str = Field(validation_alias="by")
    created_at: Moment = Field(validation_alias="at")
    digest: str = Field(description="The SHA-256 of the definition as canonical JSON; equal definitions have equal ones.")


class HistoryRows(FlowApiModel):
    """What was done with all versions of a flow or agent, the newest first."""

    entries: Sequence[HistoryRow]


class Side(FlowApiModel):
    """One of two versions that are compared."""

    id: str = Field(examples=[_ID])
    name: str = Field(validation_alias=_KEY, examples=["offer"])
    version: int = Field(examples=[2])


class VersionDiff(FlowApiModel):
    """What changed from one version to another, as data: other spacing, comments and the order of keys count as nothing."""

    before: Side
    after: Side
    changes: Sequence[DiffLine]
    more: bool = Field(description="Whether there are further changes.")


class Validation(CheckedDefinition):
    """Everything that a check found; nothing was stored."""

    model_config = _SPELLING


class RefusedTrouble(Trouble):
    """The error that the request or the definition in it has another form than it should."""

    findings: Sequence[Mistake] = Field((), description="Every mistake of the definition; left out where the request itself is wrong.")


class RefusedBody(BaseModel):
    """The body of the answer that a request or a definition has another form than it should."""

    error: RefusedTrouble


class ConflictTrouble(Trouble):
    """The error that somebody else was first, or that the version is published already."""

    present: FlowVersion | AgentVersion = Field(description="What is there now.")
    diff: Sequence[DiffLine] = Field(description="From what is there now to what was sent; nothing if no definition was sent.")
    more: bool = Field(description="Whether `diff` leaves differences out.")


class ConflictBody(BaseModel):
    """The body of the answer that a change comes too late: nothing was overwritten."""

    error: ConflictTrouble


class ListQuery(BaseModel):
    """The query of the lists of flows and agents."""

    model_config = ConfigDict(extra="forbid")
    q: str = Field("", max_length=200, description="A part of the title or of the name, in any case of letters.", examples=["offer"])
    tag: str = Field("", max_length=50, description="A tag of the flow, as a whole; of agents none has any.")
    status: Status | None = Field(None, description="Only versions of this status.")
    active: bool | None = Field(None, description="Only the versions that are used, or only the others.")
    published: bool | None = Field(
        None, description="true: only versions that a flow may use now: published, active, and not switched off; false: only the others."
    )
    cursor: CursorText | None = None
    limit: int = Field(50, ge=1, le=MOST_LISTED)


class DiffQuery(BaseModel):
    """The query of a comparison."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    other: str = Field(alias="with", max_length=64, description="The id of the version to compare with.", examples=[_OTHER])


class ExportQuery(BaseModel):
    """The query of an export."""

    model_config = ConfigDict(extra="forbid")
    format: Literal["yaml", "json"] = "yaml"


class NotedBody(BaseModel):
    """The body of a request that publishes a version, or makes a new draft of an earlier one. It may be left out."""

    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=to_camel, json_schema_extra={"examples": [{"changeNotes": "Ready"}]}
    )
    change_notes: Note = ""


class PublishBody(NotedBody):
    """The body of a request to publish a version. It may be left out."""

    revision: Annotated[int | None, Field(ge=1, description="The revision that the caller saw, as If-Match; without, the present one.")] = (
        None
    )


class ActiveBody(BaseModel):
    """The body of a request to switch a flow or agent as a whole."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel, json_schema_extra={"examples": [{"active": True}]})
    active: bool = Field(description="false: no new run begins with it, and no flow can be saved or published with it.")
    change_notes: Note = ""


def show_version(model: type[M], version: DefinitionVersion, head: DefinitionKey, findings: Sequence[Finding] = ()) -> M:
    """`version` has its document."""
    document = _to_mapping(version.document)
    about = _to_mapping(document.get("metadata")) if version.kind == FLOW else document
    tags = about.get("tags")
    return model.model_validate(
        {
            **{column.name: getattr(version, column.name) for column in fields(version)},
            "enabled": head.enabled,
            "description": str(about.get("description") or ""),
            "tags": [str(tag) for tag in tags] if isinstance(tags, list) else [],
            "model": str(document.get("model") or ""),
            "warnings": [to_finding(finding) for finding in findings],
        }
    )


def _to_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
