"""What the command line says of the API's operations beside what their description says: which groups there are, columns, fixed values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command; everything that is left out is as the description of its operation has it."""

    operation: str = ""
    """Such as "runs.list"; by default the group and the name of the command."""
    summary: str = ""
    columns: tuple[str, ...] = ()
    """The fields that a table shows; by default all."""
    fixed: Mapping[str, object] = field(default_factory=dict)
    """Values that the command always sends, for which it has no option."""
    also: tuple[str, ...] = ()
    """Lists that are shown below, by their operations, which have the same address but for its end."""
    last: int = 0
    """How many lines are shown if nobody says it; 0 for all."""
    is_for_person: bool = False
    """Whether it acts for a person, who is named by --for."""
    finds_revision: bool = False
    """Whether --revision may be left out: then it is the one that is there now."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Parts of the address that may be left out → the operation that is called then."""
    succeeds: frozenset[str] = frozenset()
    """Of answers with a `status`, those with which the command has done what it says; without any all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group of commands, of all operations under one address but `left_out`."""

    summary: str
    address: str = ""
    """By default the name of the group."""
    left_out: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    """What a table has of one of its things, where the command does not say it."""
    commands: Mapping[str, Command] = field(default_factory=dict)

    def find_command(self, name: str) -> Command:
        """Return the command with this name, and with the columns of the group if it has none."""
        command = self.commands.get(name, Command())
        return command if command.columns else replace(command, columns=self.columns)


FINDS: Final[Mapping[str, str]] = {"run_id": "runs", "schedule": "schedules", "confirmation_id": "confirmations"}
"""Parts of addresses of which the beginning or end is enough → the list that has them, as `id`."""
GROUPS: Final[Mapping[str, Group]] = {
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
    "schedules": Group(
        summary="List, show, make and control schedules, which start runs at moments that were set before.",
        columns=("id", "status", "why", "engine", "definition", "owner", "home", "next", "when", "started", "missed"),
        commands={
            "add": Command(is_for_person=True),
            "cancel": Command(succeeds=frozenset({"cancelled"})),
        },
    ),
}
