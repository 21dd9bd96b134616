"""Checks a document that somebody hands in, whether or not it is stored then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orchestrator.definitions.calls import OPEN, CheckCall, find_call_mistakes, list_call_uses
from orchestrator.definitions.kinds import DefinitionKind, find_mistakes, find_program_mistakes, find_writes
from orchestrator.definitions.methods import find_method_mistakes, list_closed_hosts, list_critical_values, list_given_names
from orchestrator.definitions.rules import FindClasses, IsCriticalField, MayFetch, find_critical_writes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import LEFT_OUT
from orchestrator.documents.reading import Reading
from orchestrator.domain.finding import Finding, format_path, has_errors, sort_findings


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A document that somebody hands in, with what they say about it."""

    read: Callable[[], Reading]
    """Reads it; called in a thread, since a large text takes a while."""
    title: str | None = None
    """None keeps the title of the version before."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a check of a document found: its findings, the methods in it that need two people, and its data if it has no error."""

    findings: tuple[Finding, ...]
    document: object = None
    read: Document | None = None
    """The document as it was read, with the places of what stands in it; with errors as far as it could be read."""
    critical: tuple[str, ...] | None = ()
    """None if it cannot be told what the document writes."""


def open_every_host(_address: str) -> bool:
    """Return True: nobody asks a policy."""
    return True


def check_document(
    kind: DefinitionKind,
    submission: Submission,
    find_classes: FindClasses,
    is_critical: IsCriticalField,
    may_fetch: MayFetch = open_every_host,
) -> Checked:
    """Return what is wrong with a document, what in it makes cards, and what in it needs two people."""
    reading = submission.read()
    findings = find_mistakes(kind, reading)
    if reading.draft is not None:
        findings = merge_findings(findings, find_program_mistakes(kind, reading.draft))
    if reading.document is None or has_errors(findings):
        return Checked(findings=findings, read=reading.draft)
    data = reading.document.data
    findings = (*findings, *find_method_mistakes(reading.document, kind.list_methods(data), find_classes))
    if has_errors(findings):
        return Checked(findings=findings, read=reading.draft)
    told = (
        *list_critical_values(reading.document, kind.list_filled(data), is_critical),
        *list_given_names(reading.document, kind.list_given(data), find_classes),
        *list_closed_hosts(reading.document, kind.list_addresses(data), may_fetch),
    )
    return Checked(
        findings=merge_findings(findings, told),
        document=data,
        read=reading.document,
        critical=find_critical_writes(find_writes(kind, data), find_classes),
    )


async def check_calls(kind: DefinitionKind, checked: Checked, check_call: CheckCall) -> Checked:
    """Return what was checked with what is wrong with the calls of the portal that the document writes, also with other mistakes in it."""
    if checked.read is None:
        return checked
    wrong_places = {finding.path for finding in checked.findings if finding.severity == "error"}
    uses = [  # of a method that may not stand there the parameters say nothing
        replace(use, params=OPEN) if format_path(use.path) in wrong_places else use for use in list_call_uses(kind, checked.read.data)
    ]
    wrong = await find_call_mistakes(checked.read, uses, check_call)
    named = {(finding.code, finding.path) for finding in wrong}
    rest = [finding for finding in checked.findings if (finding.code, finding.path) not in named]  # these say what was meant, too
    findings = merge_findings(rest, wrong)
    return replace(checked, findings=findings, document=None if has_errors(findings) else checked.document)


def to_reading(data: object) -> Reading:
    """Return stored data as a document that was read without mistakes."""
    document = Document.from_data(data)
    return Reading(document=document, draft=document, findings=())


def merge_findings(first: Sequence[Finding], more: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return all findings in the order of their places; the one that says that others were left out stays the last."""
    every = [*first, *more]
    return (*sort_findings([finding for finding in every if finding.code != LEFT_OUT]), *[one for one in every if one.code == LEFT_OUT][:1])
