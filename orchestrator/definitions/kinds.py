"""What a kind of definitions is: its checks, its effects, who edits and publishes it.

An engine registers its kind in `orchestrator/runs/registry.py`.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Never

from orchestrator.definitions.mistakes import report_mistake
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reading import Reading
from orchestrator.domain.actor import Role
from orchestrator.domain.finding import Finding, Path
from state.stored import JsonObject

log = logging.getLogger(__name__)

Write = tuple[str, str]
"""(kind, such as "bitrix" or "mongo", method)."""
EDITORS: Final[frozenset[Role]] = frozenset({"lead", "admin"})


@dataclass(frozen=True, slots=True)
class Reference:
    """Names a version by UUID, key@version, or key for the active one."""

    path: Path
    kind: str
    written: str


@dataclass(frozen=True, slots=True)
class MethodUse:
    """`must_read`: only a reading method may stand there."""

    path: Path
    method: str
    must_read: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUse:
    """What only a run knows is `calls.LATER`."""

    path: Path
    method: str
    params: JsonObject
    locate: Callable[[Path, bool], Path]
    """Takes a place in the parameters, and True for its value."""


@dataclass(frozen=True, slots=True)
class AddressUse:
    """What is filled in later stands in the address as x."""

    path: Path
    address: str


@dataclass(frozen=True, slots=True)
class FilledField:
    """An effect gets there a value known only during a run."""

    path: Path
    write: Write
    place: Path
    source: Literal["model", "person"]


@dataclass(frozen=True, slots=True)
class GivenName:
    """Decides or writes by who somebody is, as a caller may say it."""

    path: Path
    name: str
    own: str
    writes: Sequence[Write] | None = None
    """The effects that get it; None for a decision or if unknown."""


def list_nothing(_document: object) -> Iterable[Never]:
    return ()


def find_no_title(_document: object) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class DefinitionKind:
    """The owner's policy may name other roles."""

    name: str
    check: Callable[[Document], Iterable[Finding]] = list_nothing
    """Gets drafts with any content; reports through `Findings`."""
    check_programs: Callable[[Document], Iterable[Finding]] = list_nothing
    """Gets drafts with any content and may take seconds; not called again on publishing."""
    check_linked: Callable[[Document, Mapping[str, object]], Iterable[Finding]] = lambda _document, _named: ()
    """Gets the stored documents by what the references say."""
    list_writes: Callable[[object], Sequence[Write] | None] = lambda _document: None
    """All effects of a correct document but its children's; None if unknown, so that each counts as critical."""
    list_references: Callable[[object], Iterable[Reference]] = list_nothing
    """Fixed by id when a draft is saved."""
    list_methods: Callable[[object], Iterable[MethodUse]] = list_nothing
    """Of a correct document; checked when it is handed in."""
    list_calls: Callable[[object], Iterable[CallUse]] = list_nothing
    """Of a correct document; also checked when it is published or tried."""
    list_addresses: Callable[[object], Iterable[AddressUse]] = list_nothing
    """Of a correct document; the policy opens their hosts."""
    list_needs: Callable[[object], Iterable[Reference]] = list_nothing
    """Of any draft: what must be published with it and stays named by key."""
    list_filled: Callable[[object], Iterable[FilledField]] = list_nothing
    list_given: Callable[[object], Iterable[GivenName]] = list_nothing
    find_title: Callable[[object], str] = find_no_title
    """"" if its author says it when saving."""
    recent_errors: frozenset[str] = frozenset()
    """Only warnings to versions published before."""
    key_field: str = ""
    number_field: str = ""
    is_told: bool = True
    """Leads and administrators hear of publications."""
    edit_roles: frozenset[Role] = EDITORS
    publish_roles: frozenset[Role] = EDITORS


def find_mistakes(kind: DefinitionKind, reading: Reading) -> tuple[Finding, ...]:
    findings = Findings(reading.draft)
    findings.extend(reading.findings)
    if reading.draft is not None:
        try:
            findings.extend(kind.check(reading.draft))
        except Exception:
            log.exception("a document of kind %s could not be checked", kind.name, extra={"action": "definition_check_failed"})
            if not findings.has_errors:  # after mistakes of the text the draft may be of any shape
                report_mistake(findings, "finding-check-failed", kind=kind.name)
    return findings.list_all()


def soften_recent(kind: DefinitionKind, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Turn what is looked for only since then into warnings."""
    return tuple(replace(one, severity="warning") if one.code in kind.recent_errors else one for one in findings)


def find_linked_mistakes(kind: DefinitionKind, document: Document, documents_by_reference: Mapping[str, object]) -> tuple[Finding, ...]:
    return _ask_kind(kind, lambda: kind.check_linked(document, documents_by_reference))


def find_program_mistakes(kind: DefinitionKind, document: Document) -> tuple[Finding, ...]:
    return _ask_kind(kind, lambda: kind.check_programs(document))


def _ask_kind(kind: DefinitionKind, check: Callable[[], Iterable[Finding]]) -> tuple[Finding, ...]:
    """An error of the check itself is a finding."""
    try:
        return tuple(check())
    except Exception:
        log.exception("a document of kind %s could not be checked", kind.name, extra={"action": "definition_check_failed"})
        findings = Findings()
        report_mistake(findings, "finding-check-failed", kind=kind.name)
        return findings.list_all()


def find_writes(kind: DefinitionKind, document: object) -> Sequence[Write] | None:
    """None if unknown, also because of an error."""
    try:
        return kind.list_writes(document)
    except Exception:
        log.exception("what a document of kind %s writes cannot be told", kind.name, extra={"action": "definition_writes_failed"})
        return None


def find_own_title(kind: DefinitionKind, document: object) -> str:
    """ "" also for what its kind reads no more."""
    try:
        return kind.find_title(document)
    except Exception as error:  # noqa: BLE001 - as for the checks; what its kind reads no more has no title
        error_type = type(error).__name__
        log.info(
            "the title of a document of kind %s cannot be told: %s", kind.name, error_type, extra={"action": "definition_title_failed"}
        )
        return ""
