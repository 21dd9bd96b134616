"""Who may edit and publish definitions, and how a definition may be called. Pure.

The rule of two: what deletes, moves money or writes to people outside (classes D, M, N) is published by somebody who has not written it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from orchestrator.definitions.kinds import DefinitionKind, Write
from orchestrator.definitions.mistakes import SENTENCES
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.actor import Actor, Role, is_same_person
from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.finding import Finding, Path

CRITICAL: Final = frozenset("DMN")
"""The classes of methods whose definitions need two people."""
LONGEST_KEY: Final = 64
KEY_PATTERN: Final = rf"^[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST_KEY - 1}}}$"
"""What keys of definitions look like, and names inside of them (S002-A3)."""
_KEY: Final = re.compile(KEY_PATTERN)
_NAMED: Final = 3
"""How many methods and writers a sentence names."""
_ROLES: Final[dict[Role, str]] = {"manager": "managers", "lead": "leads", "admin": "administrators"}
IsCriticalField = Callable[[Write, Path], bool]
"""Tells whether the value at a place in the parameters of an effect is one that a person confirms."""
MayFetch = Callable[[str], bool]
"""Tells whether the policy opens the host of an address, which may be an odd one, to fetch files from it."""
FindClasses = Callable[[str, str], Collection[str] | None]
"""Returns all classes that a call of (kind of effect, method) may have; None for a method that nobody knows."""
Deed = Literal["edit", "publish"]


class NotAllowed(SdelkaError):
    """This person may not do that with a definition. The message says who may; `code` is a word for programs."""

    def __init__(self, code: str, reason: str) -> None:
        """Store the word and the sentence."""
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, kw_only=True, slots=True)
class KindRoles:
    """Which roles may edit and publish definitions of one kind."""

    edit: frozenset[Role]
    publish: frozenset[Role]

    def may_read(self, actor: Actor) -> bool:
        """Return whether the actor may read definitions of the kind: whoever may do anything with them."""
        return actor.role in self.edit | self.publish


@dataclass(frozen=True, kw_only=True, slots=True)
class Editor:
    """Who works on definitions, and through which door ("http", "cli", "console")."""

    actor: Actor
    via: str
    writes_for_customers: bool = False
    """Whether what comes from them is text of customers, which is never a definition."""

    @property
    def is_person(self) -> bool:
        """Whether they are an employee: neither a token that belongs to nobody nor the local command line."""
        return self.actor.bitrix_user_id is not None


class Writer(Protocol):
    """Somebody who wrote a text of a version."""

    @property
    def key(self) -> str:
        """The key of the account."""

    @property
    def user(self) -> int | None:
        """The employee, None for an account that belongs to none."""


def find_key_mistake(key: str) -> Finding | None:
    """Return what is wrong with the key of a definition; None for a good one (S002-A3).

    Letters of other alphabets that look like Latin ones are no letters here, so that two keys never look the same.
    """
    if _KEY.fullmatch(key):
        return None
    args: dict[str, str | int] = {"key": quote_part(key), "most": LONGEST_KEY}
    code = "finding-definition-key"
    return Finding(code=code, message=SENTENCES[code].format(**args), suggestion=_suggest_key(key), args=args)


def find_document_key(kind: DefinitionKind, key: str | None, document: Document | None) -> tuple[str, list[Finding]]:
    """Return the key under which a document is saved, and what is wrong with it. None stands for the one that the document says.

    That a document lacks its key, or that its form is wrong, is found by the check of the document.
    """
    data = document.data if document is not None else None
    written = data.get(kind.key_field) if kind.key_field and isinstance(data, Mapping) else None
    said = written if isinstance(written, str) else ""
    if key is None:
        return said, []
    if (wrong := find_key_mistake(key)) is not None:
        return key, [wrong]
    if not said or said == key or document is None:
        return key, []
    args: dict[str, str | int] = {"name": quote_part(said), "key": key}
    code, findings = "finding-definition-key-other", Findings(document)
    findings.add(code, SENTENCES[code].format(**args), (kind.key_field,), of_value=True, suggestion=key, args=args)
    return key, [*findings.list_all()]


def _suggest_key(key: str) -> str:
    found = re.sub(r"[^A-Za-z0-9_-]+", "-", key.strip()).strip("-_")[:LONGEST_KEY]
    return found if _KEY.fullmatch(found) and found.strip("-_") else ""


def check_editor(editor: Editor, kind: DefinitionKind, roles: KindRoles) -> None:
    """Raise NotAllowed unless this person may write definitions of the kind."""
    _check_customers(editor)
    _check_role(editor, kind, roles.edit, "edit")


def check_publisher(editor: Editor, kind: DefinitionKind, roles: KindRoles) -> None:
    """Raise NotAllowed unless this person may publish definitions of the kind, whatever they write."""
    _check_customers(editor)
    _check_role(editor, kind, roles.publish, "publish")
    if not editor.actor.may_approve:
        raise NotAllowed(
            "not_allowed", f"{editor.actor.key} may not approve anything, so it publishes nothing either; {_tell_who(roles.publish)} may."
        )


def check_reader(editor: Editor, kind: DefinitionKind, roles: KindRoles) -> None:
    """Raise NotAllowed unless this person may read definitions of the kind."""
    _check_customers(editor)
    _check_role(editor, kind, roles.edit | roles.publish, "read")


def _check_customers(editor: Editor) -> None:
    if editor.writes_for_customers:
        raise NotAllowed(
            "not_for_customers", f"{editor.actor.key} passes on what customers write, which is never a definition; use another token."
        )


def _check_role(editor: Editor, kind: DefinitionKind, roles: Collection[Role], deed: str) -> None:
    if editor.actor.role not in roles:
        raise NotAllowed(
            "not_allowed",
            f"Only {_tell_who(roles)} may {deed} definitions of kind {kind.name}, and {editor.actor.key} has the role {editor.actor.role}.",
        )


def _tell_who(roles: Iterable[Role]) -> str:
    told = [_ROLES[role] for role in ("lead", "admin", "manager") if role in set(roles)]
    return " and ".join(told) if told else "nobody"


def find_critical_writes(writes: Sequence[Write] | None, find_classes: FindClasses) -> tuple[str, ...] | None:
    """Return the methods among `writes` that need two people; None if it cannot be told whether there are any."""
    if writes is None:
        return None
    critical: list[str] = []
    for kind, method in writes:
        classes = find_classes(kind, method)
        if classes is None:
            return None
        if not CRITICAL.isdisjoint(classes):
            critical.append(method)
    return tuple(dict.fromkeys(critical))


def check_two_people(
    editor: Editor, writers: Sequence[Writer], writes: Sequence[Write] | None, find_classes: FindClasses, roles: KindRoles
) -> None:
    """Raise NotAllowed if the version needs two people, and this person wrote a text of it or is no employee."""
    critical = find_critical_writes(writes, find_classes)
    if critical == ():
        return
    why = f"It may call {_quote_some(critical)}" if critical else "It cannot be told what it writes"
    authors = _quote_some([writer.key for writer in writers])
    who = f"Who may: {_tell_who(roles.publish)} who are employees and none of its writers ({authors})"
    if not editor.is_person:
        raise NotAllowed("needs_a_person", f"{why}, so an employee has to publish it, and {editor.actor.key} belongs to none. {who}.")
    if any(is_same_person(editor.actor, writer.key, writer.user) for writer in writers):
        raise NotAllowed("needs_two_people", f"{why}, so nobody publishes it alone, and {editor.actor.key} wrote a text of it. {who}.")


def _quote_some(names: Sequence[str]) -> str:
    told = ", ".join(quote_part(name) for name in names[:_NAMED])
    return f"{told} and {len(names) - _NAMED} more" if len(names) > _NAMED else told or "nobody"
