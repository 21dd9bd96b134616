"""Checks methods, critical values, given names and hosts that a document names."""

from collections.abc import Iterable

from orchestrator.definitions.kinds import AddressUse, FilledField, GivenName, MethodUse
from orchestrator.definitions.mistakes import SENTENCES
from orchestrator.definitions.rules import FindClasses, IsCriticalField, MayFetch
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Finding, Severity, format_path

_READS = frozenset({"R"})


def find_method_mistakes(document: Document, uses: Iterable[MethodUse], find_classes: FindClasses) -> tuple[Finding, ...]:
    """Unknown ones, writing ones where only reads may stand, proposed reads."""
    findings = Findings(document)
    for use in uses:
        code = _judge(use, find_classes)
        if code:
            name = quote_part(use.method)
            severity: Severity = "warning" if code == "finding-method-reads" else "error"
            findings.add(code, SENTENCES[code].format(name=name), use.path, severity=severity, of_value=True, args={"name": name})
    return findings.list_all()


def list_critical_values(document: Document, filled: Iterable[FilledField], is_critical: IsCriticalField) -> tuple[Finding, ...]:
    """Values of a model or a person that somebody confirms."""
    findings, code = Findings(document), "finding-value-critical"
    for filled_field in filled:
        if is_critical(filled_field.write, filled_field.place):
            args: dict[str, str | int] = {"field": quote_part(format_path(filled_field.place)), "source": filled_field.source}
            findings.add(code, SENTENCES[code].format(**args), filled_field.path, severity="info", of_value=True, args=args)
    return findings.list_all()


def list_given_names(document: Document, uses: Iterable[GivenName], find_classes: FindClasses) -> tuple[Finding, ...]:
    """What is only read is the caller's own."""
    findings, code = Findings(document), "finding-name-given"
    for use in uses:
        if use.writes is None or any(find_classes(*write) != _READS for write in use.writes):
            args: dict[str, str | int] = {"name": quote_part(use.name), "own": quote_part(use.own)}
            findings.add(code, SENTENCES[code].format(**args), use.path, severity="warning", of_value=True, args=args)
    return findings.list_all()


def list_closed_hosts(document: Document, uses: Iterable[AddressUse], may_fetch: MayFetch) -> tuple[Finding, ...]:
    """Warnings: another installation may open the host."""
    findings, code = Findings(document), "finding-host-closed"
    for use in uses:
        if not may_fetch(use.address):
            args: dict[str, str | int] = {"name": quote_part(use.address.partition("?")[0])}
            findings.add(code, SENTENCES[code].format(**args), use.path, severity="warning", of_value=True, args=args)
    return findings.list_all()


def _judge(use: MethodUse, find_classes: FindClasses) -> str:
    classes = find_classes("bitrix", use.method)
    if classes is None or use.method != use.method.strip():  # the name is told to models as it is written
        return "finding-method-unknown"
    if use.must_read and classes != _READS:
        return "finding-method-writes"
    return "finding-method-reads" if not use.must_read and classes == _READS else ""
