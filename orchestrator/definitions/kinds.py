"""What a kind of definitions is: how its documents are checked, what they may write, and who may edit and publish them.

An engine registers its kind (`orchestrator/runs/registry.py`); the store keeps documents of registered kinds only.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from orchestrator.definitions.mistakes import SENTENCES
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reading import Reading
from orchestrator.domain.actor import Role
from orchestrator.domain.finding import Finding, Path
from state.stored import JsonObject

log = logging.getLogger(__name__)

Write = tuple[str, str]
"""One effect that a definition may submit: its kind ("bitrix", "mongo" …) and its method."""
EDITORS: Final[frozenset[Role]] = frozenset({"lead", "admin"})


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in a document that names a version of another definition: by its UUID, by key@version, or by the key of the active one."""

    path: Path
    kind: str
    written: str


@dataclass(frozen=True, slots=True)
class MethodUse:
    """A place in a document that names a method of the portal, and whether it may be called there only if it reads."""

    path: Path
    method: str
    must_read: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUse:
    """A place in a document that writes a call of the portal; what only a run knows of it is `orchestrator.definitions.calls.LATER`."""

    path: Path
    """Where the method stands."""
    method: str
    params: JsonObject
    locate: Callable[[Path, bool], Path]
    """Returns where in the document that stands which is at a place in the parameters; with True where its value does."""


@dataclass(frozen=True, slots=True)
class AddressUse:
    """A place in a document with an address of another host, from which a file is fetched; what is filled in later stands in it as x."""

    path: Path
    address: str


@dataclass(frozen=True, slots=True)
class FilledField:
    """A place in a document where an effect gets a value that is only known while a run goes on."""

    path: Path
    write: Write
    place: Path
    """Where the value stands in the parameters of the effect."""
    source: Literal["model", "person"]
    """Who gives it: a model, or a person who answers a question."""


@dataclass(frozen=True, slots=True)
class GivenName:
    """A place in a document that decides or writes by who somebody is, as whoever starts a run may say it under this name."""

    path: Path
    name: str
    own: str
    """The name under which stands what the program itself knows."""
    writes: Sequence[Write] | None = None
    """The effects that get the value; None for a decision, and if it cannot be told."""


def report_nothing(_document: Document) -> Iterable[Finding]:
    """Return no findings: of a kind that takes every document which can be read."""
    return ()


def report_nothing_linked(_document: Document, _named: Mapping[str, object]) -> Iterable[Finding]:
    """Return no findings: documents of this kind are right or wrong whatever those say that they name."""
    return ()


def list_no_fields(_document: object) -> Iterable[FilledField]:
    """Return nothing: of documents of this kind it cannot be told which values runs fill in."""
    return ()


def list_no_given(_document: object) -> Iterable[GivenName]:
    """Return nothing: nobody who starts documents of this kind says who somebody is."""
    return ()


def list_no_references(_document: object) -> Iterable[Reference]:
    """Return nothing: documents of this kind name no versions of others."""
    return ()


def list_no_methods(_document: object) -> Iterable[MethodUse]:
    """Return nothing: documents of this kind name no methods that can be looked up."""
    return ()


def list_no_calls(_document: object) -> Iterable[CallUse]:
    """Return nothing: documents of this kind write no calls that can be looked at before a run."""
    return ()


def list_no_addresses(_document: object) -> Iterable[AddressUse]:
    """Return nothing: documents of this kind fetch no files from other hosts."""
    return ()


def find_no_title(_document: object) -> str:
    """Return "": documents of this kind say nothing of how people call them."""
    return ""


def tell_no_writes(_document: object) -> Sequence[Write] | None:
    """Return None: it cannot be told what documents of this kind write, so each of them counts as critical."""
    return None


@dataclass(frozen=True, kw_only=True)
class DefinitionKind:
    """One kind of definitions. The policy of the owner may name other roles than the ones here."""

    name: str
    check: Callable[[Document], Iterable[Finding]] = report_nothing
    """Returns what is wrong with a document, all of it. It gets drafts with any content, and reports through `Findings`."""
    check_programs: Callable[[Document], Iterable[Finding]] = report_nothing
    """Returns what is wrong with the programs in a document, such as scripts. It gets drafts with any content, and may take seconds.

    It is asked when a document is handed in, and not once more when that is published.
    """
    check_linked: Callable[[Document, Mapping[str, object]], Iterable[Finding]] = report_nothing_linked
    """Returns what is wrong with a document together with those that it names, which it gets by what is written in the references.

    It is asked when the document is handed in and the store has all of them. It may repeat what `check` has found.
    """
    list_writes: Callable[[object], Sequence[Write] | None] = tell_no_writes
    """Returns all effects that a correct document may submit itself, None if that cannot be told.

    What the definitions that it starts as children submit is theirs; those are published on their own.
    """
    list_references: Callable[[object], Iterable[Reference]] = list_no_references
    """Returns the versions of other definitions that a document names; they are fixed by their ids when it is saved. It gets any draft."""
    list_methods: Callable[[object], Iterable[MethodUse]] = list_no_methods
    """Returns the methods of the portal that a correct document names; whether they exist and read is checked when it is handed in."""
    list_calls: Callable[[object], Iterable[CallUse]] = list_no_calls
    """Returns the calls of the portal that a correct document writes; their form is checked when it is handed in, published or tried."""
    list_addresses: Callable[[object], Iterable[AddressUse]] = list_no_addresses
    """Returns the addresses from which a correct document fetches files; whether the policy opens their hosts is checked like methods."""
    list_needs: Callable[[object], Iterable[Reference]] = list_no_references
    """Returns the definitions that must be published when a document is, and that it goes on naming by their keys. It gets any draft."""
    list_filled: Callable[[object], Iterable[FilledField]] = list_no_fields
    """Returns the places of a correct document where a model or a person fills in what an effect writes."""
    list_given: Callable[[object], Iterable[GivenName]] = list_no_given
    """Returns the places of a correct document that decide or write by who somebody is, as whoever starts it may say."""
    find_title: Callable[[object], str] = find_no_title
    """Returns the title that a correct document gives itself; "" if its author says it when saving."""
    recent_errors: frozenset[str] = frozenset()
    """The codes of errors that versions may have which were published before these were looked for: to those they are warnings."""
    key_field: str = ""
    """The field of a document that repeats the key under which it is stored; "" if none does."""
    number_field: str = ""
    """The field of a document that repeats the number of its version; the store writes the right one into it. "" if none does."""
    is_told: bool = True
    """Whether leads and administrators are told of a publication; not of parts, which change nothing until what names them is published."""
    edit_roles: frozenset[Role] = EDITORS
    publish_roles: frozenset[Role] = EDITORS


def find_mistakes(kind: DefinitionKind, reading: Reading) -> tuple[Finding, ...]:
    """Return everything that is wrong with a document: what its reader found, and what its kind finds in what could be read."""
    findings = Findings(reading.draft)
    findings.extend(reading.findings)
    if reading.draft is not None:
        try:
            findings.extend(kind.check(reading.draft))
        except Exception:
            log.exception("a document of kind %s could not be checked", kind.name, extra={"action": "definition_check_failed"})
            if not findings.has_errors:  # after mistakes of the text the draft may be of any shape
                findings.add("finding-check-failed", SENTENCES["finding-check-failed"].format(kind=kind.name), args={"kind": kind.name})
    return findings.list_all()


def soften_recent(kind: DefinitionKind, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings of a version that was published before, in which what is looked for only since then is a warning."""
    return tuple(replace(one, severity="warning") if one.code in kind.recent_errors else one for one in findings)


def find_linked_mistakes(kind: DefinitionKind, document: Document, named: Mapping[str, object]) -> tuple[Finding, ...]:
    """Return what is wrong with a document together with those that it names, by what is written in its references."""
    return _ask_kind(kind, lambda: kind.check_linked(document, named))


def find_program_mistakes(kind: DefinitionKind, document: Document) -> tuple[Finding, ...]:
    """Return what is wrong with the programs in a document."""
    return _ask_kind(kind, lambda: kind.check_programs(document))


def _ask_kind(kind: DefinitionKind, check: Callable[[], Iterable[Finding]]) -> tuple[Finding, ...]:
    """Return what a check of the kind finds; an error of the check itself is a finding."""
    try:
        return tuple(check())
    except Exception:
        log.exception("a document of kind %s could not be checked", kind.name, extra={"action": "definition_check_failed"})
        findings = Findings()
        findings.add("finding-check-failed", SENTENCES["finding-check-failed"].format(kind=kind.name), args={"kind": kind.name})
        return findings.list_all()


def find_writes(kind: DefinitionKind, document: object) -> Sequence[Write] | None:
    """Return what a document may write as its kind tells it; None if it cannot be told, also because of an error."""
    try:
        return kind.list_writes(document)
    except Exception:
        log.exception("what a document of kind %s writes cannot be told", kind.name, extra={"action": "definition_writes_failed"})
        return None


def find_own_title(kind: DefinitionKind, document: object) -> str:
    """Return the title that a stored document gives itself; "" if it has none, or is none that its kind can read any more."""
    try:
        return kind.find_title(document)
    except Exception as error:  # noqa: BLE001 - as for the checks; what its kind reads no more has no title
        told = type(error).__name__
        log.info("the title of a document of kind %s cannot be told: %s", kind.name, told, extra={"action": "definition_title_failed"})
        return ""
