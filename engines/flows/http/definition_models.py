"""Flows and agents as the API of flows presents them: in the seed's words and spelling, a row for each version (S002-X2). Pure."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from bot.http_api.approvals.card_models import Moment
from bot.http_api.definitions.definition_models import DiffLine, Mistake, to_diff_line, to_finding
from bot.http_api.definitions.request_body import Note
from bot.http_api.server.endpoint_context import CursorText
from bot.http_api.server.errors import Trouble
from orchestrator.definitions.changes import Difference
from orchestrator.definitions.checking import Checked
from orchestrator.domain.finding import Finding
from state.model.definitions import DefinitionKey, DefinitionVersion, HistoryEntry

_ID: Final = "0190bbbb-0000-7000-8000-000000000001"
_OTHER: Final = "0190bbbb-0000-7000-8000-000000000002"
MOST_LISTED: Final = 100
Status = Literal["DRAFT", "PUBLISHED"]
_OF_WHOLE: Final = frozenset({"published", "deactivated", "switched_off", "switched_on"})
"""Entries of the history that concern a published version."""


class FlowApiModel(BaseModel):
    """Base class of the answers: spelled like the seed's schema; instances are immutable."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class Row(FlowApiModel):
    """One version, without its definition."""

    id: str = Field(description="The UUID of this version.", examples=[_ID])
    name: str = Field(description="What all versions have in common: the flowId of a flow, the key of an agent.", examples=["offer"])
    version: int = Field(description="Counted from 1; the server gives it.", examples=[3])
    status: Status
    is_active: bool = Field(description="Whether this is the version that is used; of each name at most one is.")
    is_enabled: bool = Field(description="Whether the name as a whole is switched on.")
    title: str = Field(description="What people call it.")
    description: str
    revision: int = Field(description="Grows with every change; a change names the one that it is based on.", examples=[2])
    change_notes: str = Field(description="What was noted when the text was last saved.")
    created_by: str = Field(examples=["http:site"])
    updated_by: str = Field(examples=["http:site"])
    created_at: Moment
    updated_at: Moment
    published_by: str | None
    published_at: str | None


class FlowRow(Row):
    """One version of a flow, without its definition."""

    flow_id: str = Field(examples=["offer"])
    tags: Sequence[str]


class AgentRow(Row):
    """One version of an agent, without its definition."""

    key: str = Field(examples=["writer"])
    model: str = Field(description='The name of a model of the settings; "" for that of the role tool.')


class FlowVersion(FlowRow):
    """One version of a flow."""

    definition: Any = Field(description="The flow itself; its keys are sorted.")
    warnings: Sequence[Mistake] = Field((), description="What its author probably meant otherwise; only after saving and publishing.")


class AgentVersion(AgentRow):
    """One version of an agent."""

    definition: Any = Field(description="The agent itself; its keys are sorted.")
    warnings: Sequence[Mistake] = Field((), description="What its author probably meant otherwise; only after saving and publishing.")


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
    status: Status
    what: Literal["created", "saved", "published", "deactivated", "switched_off", "switched_on", "rolled_back", "imported"]
    change_notes: str
    created_by: str
    created_at: Moment
    digest: str = Field(description="The SHA-256 of the definition as canonical JSON; equal definitions have equal ones.")


class HistoryRows(FlowApiModel):
    """What was done with all versions of a flow or agent, the newest first."""

    entries: Sequence[HistoryRow]


class Side(FlowApiModel):
    """One of two versions that are compared."""

    id: str = Field(examples=[_ID])
    name: str = Field(examples=["offer"])
    version: int = Field(examples=[2])


class VersionDiff(FlowApiModel):
    """What changed from one version to another, as data: other spacing, comments and the order of keys count as nothing."""

    before: Side
    after: Side
    changes: Sequence[DiffLine]
    more: bool = Field(description="Whether there are further changes.")


class Validation(FlowApiModel):
    """Everything that a check found; nothing was stored."""

    valid: bool = Field(description="Whether it could be saved.")
    findings: Sequence[Mistake]
    needs_two_people: bool = Field(description="Whether whoever wrote it may not publish it.")
    critical: Sequence[str] = Field(description="The methods because of which it does; none if it cannot be told what it writes.")


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


def to_flow_row(definition_version: DefinitionVersion, head: DefinitionKey) -> FlowRow:
    """Return a version of a flow without its definition as clients get it; `definition_version` has its document."""
    metadata = _find_part(definition_version.document, "metadata")
    tags = metadata.get("tags")
    return FlowRow(
        **_list_columns(definition_version, head, str(metadata.get("description") or "")),
        flow_id=definition_version.key,
        tags=[str(tag) for tag in tags] if isinstance(tags, list) else [],
    )


def to_agent_row(definition_version: DefinitionVersion, head: DefinitionKey) -> AgentRow:
    """Return a version of an agent without its definition as clients get it; `definition_version` has its document."""
    document = _to_mapping(definition_version.document)
    columns = _list_columns(definition_version, head, str(document.get("description") or ""))
    return AgentRow(**columns, key=definition_version.key, model=str(document.get("model") or ""))


def to_flow_version(definition_version: DefinitionVersion, head: DefinitionKey, findings: Sequence[Finding] = ()) -> FlowVersion:
    """Return a version of a flow as clients get it, with the warnings about it."""
    warnings = [to_finding(finding) for finding in findings]
    return FlowVersion(**dict(to_flow_row(definition_version, head)), definition=definition_version.document, warnings=warnings)


def to_agent_version(definition_version: DefinitionVersion, head: DefinitionKey, findings: Sequence[Finding] = ()) -> AgentVersion:
    """Return a version of an agent as clients get it, with the warnings about it."""
    warnings = [to_finding(finding) for finding in findings]
    return AgentVersion(**dict(to_agent_row(definition_version, head)), definition=definition_version.document, warnings=warnings)


def _list_columns(definition_version: DefinitionVersion, head: DefinitionKey, description: str) -> dict[str, Any]:
    return {
        "id": definition_version.id,
        "name": definition_version.key,
        "version": definition_version.version,
        "status": "PUBLISHED" if definition_version.status == "published" else "DRAFT",
        "is_active": definition_version.active,
        "is_enabled": head.enabled,
        "title": definition_version.title,
        "description": description,
        "revision": definition_version.revision,
        "change_notes": definition_version.note,
        "created_by": definition_version.author,
        "updated_by": definition_version.updated_by,
        "created_at": definition_version.created_at,
        "updated_at": definition_version.updated_at,
        "published_by": definition_version.published_by or None,
        "published_at": definition_version.published_at or None,
    }


def _find_part(document: object, name: str) -> Mapping[str, Any]:
    return _to_mapping(_to_mapping(document).get(name))


def _to_mapping(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def to_history_row(entry: HistoryEntry) -> HistoryRow:
    """Return the entry of the history as clients get it."""
    return HistoryRow(
        version=entry.version,
        status="PUBLISHED" if entry.what in _OF_WHOLE else "DRAFT",
        what=entry.what,
        change_notes=entry.note,
        created_by=entry.by,
        created_at=entry.at,
        digest=entry.digest,
    )


def to_version_diff(before: DefinitionVersion, after: DefinitionVersion, difference: Difference) -> VersionDiff:
    """Return a comparison as clients get it."""
    return VersionDiff(
        before=_to_side(before), after=_to_side(after), changes=[to_diff_line(one) for one in difference.changes], more=difference.more
    )


def _to_side(definition_version: DefinitionVersion) -> Side:
    return Side(id=definition_version.id, name=definition_version.key, version=definition_version.version)


def to_validation(found: Checked, *, valid: bool) -> Validation:
    """Return the outcome of a check as clients get it."""
    return Validation(
        valid=valid,
        findings=[to_finding(finding) for finding in found.findings],
        needs_two_people=valid and found.critical != (),
        critical=found.critical or (),
    )
