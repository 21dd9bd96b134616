from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.definitions.calls import OPEN, CheckCall, find_call_mistakes, list_call_uses
from orchestrator.definitions.kinds import (
    AddressUse,
    DefinitionKind,
    FilledField,
    GivenName,
    MethodUse,
    find_mistakes,
    find_program_mistakes,
    find_writes,
)
from orchestrator.definitions.mistakes import report_mistake
from orchestrator.definitions.rules import FindClasses, IsCriticalField, MayFetch, find_critical_writes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import LEFT_OUT, Findings
from orchestrator.documents.reading import Reading
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Finding, Severity, format_path, has_errors, sort_findings

_READS = frozenset({"R"})


def find_method_mistakes(document: Document, uses: Iterable[MethodUse], find_classes: FindClasses) -> tuple[Finding, ...]:
    """Unknown ones, writing ones where only reads may stand, proposed reads."""
    findings = Findings(document)
    for use in uses:
        code = _judge(use, find_classes)
        if code:
            severity: Severity = "warning" if code == "finding-method-reads" else "error"
            report_mistake(findings, code, use.path, severity=severity, of_value=True, name=quote_part(use.method))
    return findings.list_all()


def list_critical_values(document: Document, filled: Iterable[FilledField], is_critical: IsCriticalField) -> tuple[Finding, ...]:
    """Values of a model or a person that somebody confirms."""
    findings = Findings(document)
    for filled_field in filled:
        if is_critical(filled_field.write, filled_field.place):
            field, source = quote_part(format_path(filled_field.place)), filled_field.source
            report_mistake(
                findings, "finding-value-critical", filled_field.path, severity="info", of_value=True, field=field, source=source
            )
    return findings.list_all()


def list_given_names(document: Document, uses: Iterable[GivenName], find_classes: FindClasses) -> tuple[Finding, ...]:
    """What is only read is the caller's own."""
    findings = Findings(document)
    for use in uses:
        if use.writes is None or any(find_classes(*write) != _READS for write in use.writes):
            name, own = quote_part(use.name), quote_part(use.own)
            report_mistake(findings, "finding-name-given", use.path, severity="warning", of_value=True, name=name, own=own)
    return findings.list_all()


def list_closed_hosts(document: Document, uses: Iterable[AddressUse], may_fetch: MayFetch) -> tuple[Finding, ...]:
    """Warnings: another installation may open the host."""
    findings = Findings(document)
    for use in uses:
        if not may_fetch(use.address):
            name = quote_part(use.address.partition("?")[0])
            report_mistake(findings, "finding-host-closed", use.path, severity="warning", of_value=True, name=name)
    return findings.list_all()


def _judge(use: MethodUse, find_classes: FindClasses) -> str:
    classes = find_classes("bitrix", use.method)
    if classes is None or use.method != use.method.strip():  # the name is told to models as it is written
        return "finding-method-unknown"
    if use.must_read and classes != _READS:
        return "finding-method-writes"
    return "finding-method-reads" if not use.must_read and classes == _READS else ""


@dataclass(frozen=True, kw_only=True)
class Submission:
    read: Callable[[], Reading]
    """Called in a thread: a large text takes a while."""
    title: str | None = None
    """None keeps the title of the version before."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """`document` is its data if it has no error."""

    findings: tuple[Finding, ...]
    document: object = None
    read: Document | None = None
    """With places; after errors as far as it could be read."""
    critical: tuple[str, ...] | None = ()
    """None if it cannot be told what it writes."""
    parts: Mapping[str, object] = field(default_factory=dict)
    """The documents that it names, by what is written in it."""


def open_every_host(_address: str) -> bool:
    return True


def check_document(
    kind: DefinitionKind,
    submission: Submission,
    find_classes: FindClasses,
    is_critical: IsCriticalField,
    may_fetch: MayFetch = open_every_host,
) -> Checked:
    """Report what is wrong, makes cards or needs two people."""
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
    hints = (
        *list_critical_values(reading.document, kind.list_filled(data), is_critical),
        *list_given_names(reading.document, kind.list_given(data), find_classes),
        *list_closed_hosts(reading.document, kind.list_addresses(data), may_fetch),
    )
    return Checked(
        findings=merge_findings(findings, hints),
        document=data,
        read=reading.document,
        critical=find_critical_writes(find_writes(kind, data), find_classes),
    )


async def check_calls(kind: DefinitionKind, checked: Checked, check_call: CheckCall) -> Checked:
    if checked.read is None:
        return checked
    wrong_places = {finding.path for finding in checked.findings if finding.severity == "error"}
    uses = [  # of a method that may not stand there the parameters say nothing
        replace(use, params=OPEN) if format_path(use.path) in wrong_places else use for use in list_call_uses(kind, checked.read.data)
    ]
    wrong = await find_call_mistakes(checked.read, uses, check_call)
    call_places = {(finding.code, finding.path) for finding in wrong}
    rest = [finding for finding in checked.findings if (finding.code, finding.path) not in call_places]  # these say what was meant, too
    findings = merge_findings(rest, wrong)
    return replace(checked, findings=findings, document=None if has_errors(findings) else checked.document)


def to_reading(data: object) -> Reading:
    document = Document.from_data(data)
    return Reading(document=document, draft=document, findings=())


def merge_findings(first: Sequence[Finding], more: Sequence[Finding]) -> tuple[Finding, ...]:
    """By place; the one about left out findings stays last."""
    every = [*first, *more]
    return (*sort_findings([finding for finding in every if finding.code != LEFT_OUT]), *[one for one in every if one.code == LEFT_OUT][:1])
