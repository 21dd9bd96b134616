"""What the command line says of operations beside their description."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is left out is as in the operation's description."""

    operation: str = ""
    """Such as "runs.list"; by default group and name."""
    summary: str = ""
    columns: tuple[str, ...] = ()
    """By default all."""
    fixed: Mapping[str, object] = field(default_factory=dict)
    """Always sent, without an option."""
    also: tuple[str, ...] = ()
    """Operations whose lists are shown below; their addresses are as its own but for the end."""
    last: int = 0
    """Lines that are shown by default; 0 for all."""
    is_for_person: bool = False
    """The person is named by --for."""
    finds_revision: bool = False
    """--revision may be left out: then the one that is there now."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Parts of the address that may be left out → the operation then."""
    succeeds: frozenset[str] = frozenset()
    """`status` with which it has done what it says; all if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All operations under one address but `left_out`."""

    summary: str
    address: str = ""
    left_out: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    """Where the command does not say it."""
    commands: Mapping[str, Command] = field(default_factory=dict)

    def find_command(self, name: str) -> Command:
        """With the columns of the group if it has none."""
        command = self.commands.get(name, Command())
        return command if command.columns else replace(command, columns=self.columns)


FINDS: Final[Mapping[str, str]] = {"run_id": "runs", "schedule": "schedules", "confirmation_id": "confirmations"}
"""Parts of addresses that may be shortened → the list that has them as `id`."""


def _build_decision(decision: str, summary: str) -> Command:
    return Command(
        operation="confirmations.decide",
        fixed={"decision": decision},
        summary=summary,
        columns=("status", "message"),
        succeeds=frozenset({"executed", "denied"}),
    )


_SAVED: Final = ("kind", "key", "version", "status", "active", "revision", "note")
_SAVE: Final = "Store a file as a new version of a definition, a draft, or with --version and --revision in place of a draft's text."
_PUBLISH: Final = "Let new runs execute this version. What deletes, moves money or writes to people outside only employees publish."
_OFF: Final = "Refuse new runs of a definition, also as parts of other runs; runs under way go on."
_ON: Final = "Allow new runs of a definition again."
GROUPS: Final[Mapping[str, Group]] = {
    "audit": Group(
        summary="Who asked for which call to Bitrix24, who approved it, and what was sent.",
        columns=("at", "asked_by", "method", "records", "outcome", "decision"),
        commands={"list": Command(last=50)},
    ),
    "cards": Group(
        summary="List, show, approve and deny cards: calls to Bitrix24 that wait for a decision.",
        address="confirmations",
        left_out=frozenset({"decide"}),
        columns=("id", "state", "title", "record", "reasons", "asked_by", "asked_at", "expires_at"),
        commands={
            "approve": _build_decision("approve", "Approve a card as you saw it; what it must say back, its fingerprint, is in `show`."),
            "deny": _build_decision("deny", "Deny a card; with --reason whoever asked reads why."),
        },
    ),
    "definitions": Group(
        summary="List, save, compare, publish and switch definitions: scenarios, flows and workflows, which runs execute.",
        left_out=frozenset({"check", "create", "import", "list_kind", "switch"}),
        columns=("kind", "key", "title", "enabled", "active_version", "last_version", "has_draft", "updated_at", "updated_by"),
        commands={
            "show": Command(also=("definitions.versions",)),
            "versions": Command(columns=("version", "status", "active", "revision", "updated_at", "writers", "published_by", "note")),
            "history": Command(columns=("at", "what", "version", "by", "note"), last=50),
            "diff": Command(columns=("path", "kind", "before", "after")),
            "save": Command(without={"version": "definitions.import"}, columns=_SAVED, summary=_SAVE),
            "rollback": Command(columns=_SAVED),
            "publish": Command(columns=_SAVED, summary=_PUBLISH),
            "off": Command(operation="definitions.switch", fixed={"enabled": False}, finds_revision=True, summary=_OFF),
            "on": Command(operation="definitions.switch", fixed={"enabled": True}, finds_revision=True, summary=_ON),
        },
    ),
    "runs": Group(
        summary="List, show, start and control runs: executions of scenarios, flows and workflows.",
        left_out=frozenset({"answer", "events", "model_calls"}),  # nobody answers in another's name; events are told in words
        columns=("id", "status", "engine", "definition", "owner", "home", "started_at", "updated_at"),
        commands={
            "list": Command(last=50),
            "show": Command(also=("runs.model_calls",)),
            "start": Command(is_for_person=True),
        },
    ),
    "sessions": Group(summary="What happened in a conversation.", columns=("at", "type", "by", "text")),
    "schedules": Group(
        summary="List, show, make and control schedules, which start runs at moments that were set before.",
        columns=("id", "status", "why", "engine", "definition", "owner", "home", "next", "when", "started", "missed"),
        commands={
            "add": Command(is_for_person=True),
            "cancel": Command(succeeds=frozenset({"cancelled"})),
        },
    ),
}
