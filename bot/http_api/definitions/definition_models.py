"""Definitions as the API presents them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.approvals.card_models import ApiModel, Person
from bot.http_api.server.endpoint_context import CursorText, Moment
from bot.http_api.server.errors import Trouble
from orchestrator.definitions.checking import Checked
from orchestrator.definitions.reader import Change, Comparison
from orchestrator.definitions.service import LONGEST_NOTE, Saved
from orchestrator.domain.finding import Finding, format_path
from state.model.definitions import DefinitionKey, DefinitionVersion, HistoryEntry

_ID: Final = "0190bbbb-0000-7000-8000-000000000001"
MOST_LISTED: Final = 1000
Number = Annotated[int, Field(ge=1, le=999_999_999)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE, description="Why, for the history.")]


class Mistake(ApiModel):
    """One mistake in a definition, with its place in the text that was sent."""

    code: str = Field(description="A word for programs.", examples=["finding-field-unknown"])
    message: str = Field(description="What is wrong and how to mend it.", examples=['there is no field "optoins" here'])
    path: str = Field(description="Where in the document.", examples=["steps[0].optoins"])
    line: int = Field(description="Counted from 1; 0 if the place is not known. Of `document`: in the body.", examples=[5])
    column: int = Field(examples=[5])
    step: str = Field(description="The id of the step in which it is.", examples=["ask"])
    severity: Literal["error", "warning", "info"]
    suggestion: str = Field(description="What was probably meant.", examples=["options"])
    args: Mapping[str, str | int] = Field(description="What the sentence is made of.")


def to_finding(finding: Finding) -> Mistake:
    return Mistake.model_validate(finding.to_json())


class MistakesTrouble(Trouble):
    """The error that a definition has mistakes."""

    findings: Sequence[Mistake]


class MistakesBody(BaseModel):
    """The body of the answer that refuses a definition: everything that is wrong with it, at once."""

    error: MistakesTrouble


class Definition(ApiModel):
    """A definition as a whole, under its key."""

    kind: str = Field(examples=["steps"])
    key: str = Field(examples=["welcome"])
    title: str
    enabled: bool = Field(description="Whether runs may begin with it.")
    active_version: int = Field(description="The version that new runs execute; 0 if none is published.", examples=[2])
    last_version: int = Field(examples=[3])
    has_draft: bool
    revision: int = Field(description="For If-Match of /switch.", examples=[4])
    updated_at: Moment
    updated_by: str = Field(examples=["http:site"])


class Definitions(ApiModel):
    """One page of definitions, in the order of kinds and keys."""

    definitions: Sequence[Definition]
    next: str | None = Field(description="Where the next page begins; null at the end.")


class VersionLine(ApiModel):
    """One version of a definition, without its document."""

    id: str = Field(examples=[_ID])
    kind: str = Field(examples=["steps"])
    key: str = Field(examples=["welcome"])
    version: int = Field(examples=[3])
    status: Literal["draft", "published"]
    active: bool = Field(description="Whether new runs execute this version.")
    revision: int = Field(description="For If-Match of saving and publishing.", examples=[2])
    title: str
    digest: str = Field(description="The SHA-256 of the document as canonical JSON.")
    note: str
    author: Person
    writers: Sequence[str] = Field(description="Everybody who saved a text of this version.", examples=[["http:site"]])
    created_at: Moment
    updated_at: Moment
    published_by: Person | None
    published_at: str


class Version(VersionLine):
    """One version of a definition."""

    document: Any = Field(description="The definition itself; its keys are sorted.")
    warnings: Sequence[Mistake] = Field((), description="What its author probably meant otherwise; only after saving and publishing.")


class Versions(ApiModel):
    """All versions of a definition, the last one first."""

    versions: Sequence[VersionLine]


class StaleTrouble(Trouble):
    """The error that somebody else was first, or that the version is published already."""

    present: Version | Definition


class StaleBody(BaseModel):
    """The body of the answer that a change comes too late: what is there now."""

    error: StaleTrouble


class HistoryLine(ApiModel):
    """One thing that was done with a definition."""

    at: Moment
    what: Literal["created", "saved", "published", "deactivated", "switched_off", "switched_on", "rolled_back", "imported"]
    version: int = Field(description="0 if it concerns the key as a whole and no version was active.")
    by: Person
    note: str
    digest: str


class History(ApiModel):
    """What was done with a definition, the newest first."""

    entries: Sequence[HistoryLine]


class DiffLine(ApiModel):
    """One difference; `before` and `after` are null where there is nothing."""

    kind: Literal["added", "removed", "changed"]
    path: str = Field(examples=["steps[0].ask"])
    before: Any
    after: Any


class Diff(ApiModel):
    """What changed from one version to another, as data: other spacing, comments and the order of keys count as nothing."""

    before: int
    after: int
    changes: Sequence[DiffLine]
    more: bool = Field(description="Whether there are further changes.")


class CheckedDefinition(ApiModel):
    """What a check of a definition found."""

    valid: bool = Field(description="Whether it could be saved and published.")
    findings: Sequence[Mistake]
    needs_two_people: bool = Field(description="Whether whoever wrote it may not publish it.")
    critical: Sequence[str] = Field(description="The methods because of which it does; none if it cannot be told what it writes.")


class PublishBody(BaseModel):
    """The body of a request to publish a version."""

    model_config = ConfigDict(extra="forbid", strict=True)
    note: Note = ""


class RollbackBody(BaseModel):
    """The body of a request to make a new draft with the text of an earlier version."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [{"version": 1}]})
    version: Number
    note: Note = ""


class SwitchBody(BaseModel):
    """The body of a request to switch a definition off or on as a whole."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [{"enabled": False}]})
    enabled: bool = Field(description="false refuses new runs, also as parts of other runs; runs under way go on.")
    note: Note = ""


class ListQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")
    cursor: CursorText | None = None
    limit: int = Field(100, ge=1, le=MOST_LISTED)


class AllQuery(ListQuery):
    kind: str = Field("", max_length=64, description="Only of this kind.")


class DiffQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")
    before: Number = Field(examples=[1])
    after: Number = Field(examples=[2])


class ExportQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: int = Field(0, ge=0, le=999_999_999, description="0 is the active version, or the last one if none is active.")
    format: Literal["yaml", "json"] = "yaml"


def to_definition(head: DefinitionKey) -> Definition:
    return Definition.model_validate(head, from_attributes=True)


def to_version_line(definition_version: DefinitionVersion) -> VersionLine:
    """Without its document."""
    by = Person(id=definition_version.published_by, name=definition_version.published_by_name) if definition_version.published_by else None
    return VersionLine(
        id=definition_version.id,
        kind=definition_version.kind,
        key=definition_version.key,
        version=definition_version.version,
        status=definition_version.status,
        active=definition_version.active,
        revision=definition_version.revision,
        title=definition_version.title,
        digest=definition_version.digest,
        note=definition_version.note,
        author=Person(id=definition_version.author, name=definition_version.author_name),
        writers=[writer.key for writer in definition_version.writers],
        created_at=definition_version.created_at,
        updated_at=definition_version.updated_at,
        published_by=by,
        published_at=definition_version.published_at,
    )


def to_version(definition_version: DefinitionVersion, findings: Sequence[Finding] = ()) -> Version:
    """With its document and the warnings about it."""
    line = to_version_line(definition_version)
    return Version(**dict(line), document=definition_version.document, warnings=[to_finding(finding) for finding in findings])


def to_saved(saved: Saved) -> Version:
    return to_version(saved.version, saved.findings)


def to_history_line(entry: HistoryEntry) -> HistoryLine:
    by = Person(id=entry.by, name=entry.by_name)
    return HistoryLine(at=entry.at, what=entry.what, version=entry.version, by=by, note=entry.note, digest=entry.digest)


def to_diff(comparison: Comparison) -> Diff:
    changes = [to_diff_line(change) for change in comparison.changes]
    return Diff(before=comparison.before.version, after=comparison.after.version, changes=changes, more=comparison.more)


def to_diff_line(change: Change) -> DiffLine:
    return DiffLine(kind=change.kind, path=format_path(change.path), before=change.before, after=change.after)


def to_checked(checked: Checked, *, valid: bool) -> CheckedDefinition:
    return CheckedDefinition(
        valid=valid,
        findings=[to_finding(finding) for finding in checked.findings],
        needs_two_people=valid and checked.critical != (),
        critical=checked.critical or (),
    )
