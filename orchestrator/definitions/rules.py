"""Who may edit and publish definitions, and how they may be called. Pure.

The rule of two: whoever wrote a definition of classes D, M, N (deletes, money, people outside) does not publish it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from orchestrator.definitions.kinds import DefinitionKind, Write
from orchestrator.definitions.mistakes import SENTENCES, report_mistake
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.actor import Actor, Role, is_same_person
from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.finding import Finding, Path

CRITICAL: Final = frozenset("DMN")
"""Classes of methods that need two people."""
LONGEST_KEY: Final = 64
KEY_PATTERN: Final = rf"^[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST_KEY - 1}}}$"
"""Also of names inside of definitions (S002-A3)."""
_KEY: Final = re.compile(KEY_PATTERN)
_NAMED: Final = 3
_ROLES: Final[dict[Role, str]] = {"manager": "managers", "lead": "leads", "admin": "administrators"}
IsCriticalField = Callable[[Write, Path], bool]
"""Whether a person confirms the value at this place."""
MayFetch = Callable[[str], bool]
"""Gets any address, also an odd one."""
FindClasses = Callable[[str, str], Collection[str] | None]
"""Of (kind, method); None for an unknown one."""
Deed = Literal["edit", "publish"]


class NotAllowed(SdelkaError):
    """The message says who may; `code` is for programs."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, kw_only=True, slots=True)
class KindRoles:
    edit: frozenset[Role]
    publish: frozenset[Role]

    def may_read(self, actor: Actor) -> bool:
        return actor.role in self.edit | self.publish


@dataclass(frozen=True, kw_only=True, slots=True)
class Editor:
    """`via` is the door: "http", "cli", "console"."""

    actor: Actor
    via: str
    writes_for_customers: bool = False
    """Customers' text is never a definition."""

    @property
    def is_person(self) -> bool:
        """Neither a token of nobody nor the local command line."""
        return self.actor.bitrix_user_id is not None


class Writer(Protocol):
    @property
    def key(self) -> str: ...

    @property
    def user(self) -> int | None:
        """None for an account of no employee."""


def find_key_mistake(key: str) -> Finding | None:
    """None for a good key (S002-A3). Only Latin letters, so that two keys never look the same."""
    if _KEY.fullmatch(key):
        return None
    args: dict[str, str | int] = {"key": quote_part(key), "most": LONGEST_KEY}
    code = "finding-definition-key"
    return Finding(code=code, message=SENTENCES[code].format(**args), suggestion=_suggest_key(key), args=args)


def find_document_key(kind: DefinitionKind, key: str | None, document: Document | None) -> tuple[str, list[Finding]]:
    """`key` None stands for the one in the document."""
    data = document.data if document is not None else None
    own_key = data.get(kind.key_field) if kind.key_field and isinstance(data, Mapping) else None
    own_name = own_key if isinstance(own_key, str) else ""
    if key is None:
        return own_name, []
    if (wrong := find_key_mistake(key)) is not None:
        return key, [wrong]
    if not own_name or own_name == key or document is None:
        return key, []
    code, findings = "finding-definition-key-other", Findings(document)
    report_mistake(findings, code, (kind.key_field,), of_value=True, suggestion=key, name=quote_part(own_name), key=key)
    return key, [*findings.list_all()]


def _suggest_key(key: str) -> str:
    suggested_key = re.sub(r"[^A-Za-z0-9_-]+", "-", key.strip()).strip("-_")[:LONGEST_KEY]
    return suggested_key if _KEY.fullmatch(suggested_key) and suggested_key.strip("-_") else ""


def check_editor(editor: Editor, kind: DefinitionKind, roles: KindRoles) -> None:
    _check_customers(editor)
    _check_role(editor, kind, roles.edit, "edit")


def check_publisher(editor: Editor, kind: DefinitionKind, roles: KindRoles) -> None:
    _check_customers(editor)
    _check_role(editor, kind, roles.publish, "publish")
    if not editor.actor.may_approve:
        raise NotAllowed(
            "not_allowed", f"{editor.actor.key} may not approve anything, so it publishes nothing either; {_tell_who(roles.publish)} may."
        )


def check_reader(editor: Editor, kind: DefinitionKind, roles: KindRoles) -> None:
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
    names = [_ROLES[role] for role in ("lead", "admin", "manager") if role in set(roles)]
    return " and ".join(names) if names else "nobody"


def find_critical_writes(writes: Sequence[Write] | None, find_classes: FindClasses) -> tuple[str, ...] | None:
    """Those that need two people; None if it cannot be told."""
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
    """Raise NotAllowed if it needs two people, and this one is a writer or no employee."""
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
    quoted_names = ", ".join(quote_part(name) for name in names[:_NAMED])
    return f"{quoted_names} and {len(names) - _NAMED} more" if len(names) > _NAMED else quoted_names or "nobody"
