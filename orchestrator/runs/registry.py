"""The engines of runs by name, and the definitions that they execute."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.domain.actor import Actor, Role
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import Engine
from orchestrator.engines.runs import Definition, RunEngine
from state.journal.store import Lane

MOST_LISTED: Final = 50
"""How many definitions of an engine are listed in a chat."""
ALL_ROLES: frozenset[Role] = frozenset({"manager", "lead", "admin"})


@dataclass(frozen=True, kw_only=True)
class RunCommand:
    """A typed command that starts a run, such as /steps; what is typed after it becomes the argument `text` of the run."""

    definition: str
    """The definition that it starts; "" if the first word after the command names it. Without a word they are listed, with buttons."""
    lane: Lane = "express"
    """Its lane in the conversation: a run is no turn, so its command waits for none unless the engine wants it to."""
    menu: Notice | None = None
    """The command's line in the bot's menu; None for a command that is not shown there."""


def list_nothing(_document: Any) -> Sequence[tuple[str, str]]:
    """Return no names: an engine whose definitions use no others."""
    return ()


def describe_nothing(_document: Any) -> tuple[str, str]:
    """Return ("", ""): the definition has no title and no summary, and people see its key."""
    return "", ""


def is_open(_document: Any) -> bool:
    """Return True: every definition of the engine may be started so."""
    return True


def is_for_nobody_outside(_document: Any) -> bool:
    """Return False: no definition of the engine is meant for customers."""
    return False


def find_no_reserved(_definition: Definition, _given: Iterable[str]) -> str:
    """Return "": every name may be given to definitions of the engine."""
    return ""


@dataclass(frozen=True, kw_only=True)
class RegisteredEngine:
    """One engine with what it registers: who may start its runs, and the commands that do."""

    engine: RunEngine
    roles: frozenset[Role] = ALL_ROLES
    commands: Mapping[str, RunCommand] = field(default_factory=dict)
    list_uses: Callable[[Any], Sequence[tuple[str, str]]] = list_nothing
    """Returns (engine, key) of each definition that a document of this engine may start as a child.

    These are fixed when the run begins. A name that is only known while the run goes on is looked up then.
    """
    describe: Callable[[Any], tuple[str, str]] = describe_nothing
    """Returns (title, summary in a line) of a document, for the list of what can be started."""
    is_listed: Callable[[Any], bool] = is_open
    """Returns whether a document is shown where people choose what to start."""
    is_for_programs: Callable[[Any], bool] = is_open
    """Returns whether other programs may start a document over HTTP."""
    is_for_customers: Callable[[Any], bool] = is_for_nobody_outside
    """Returns whether a document is marked as one that may be started for customers."""
    find_reserved: Callable[[Definition, Iterable[str]], str] = find_no_reserved
    """Returns the first of these names under which no start of the definition may give a value, "" if there is none."""
    is_offered: bool = False
    """Whether the CRM agent is told what may be started, and may offer it to people."""
    kind: DefinitionKind | None = None
    """What its definitions are; None for an engine whose definitions come with the program alone and are never stored."""
    parts: Sequence[DefinitionKind] = ()
    """Kinds of definitions that those of this engine name and that it does not start, such as the agents of flows."""


def may_start(actor: Actor, registered: RegisteredEngine, document: Any) -> bool:
    """Return whether the actor may start runs of this definition: the role decides, and for customers the mark of the definition.

    Nothing else of the actor counts: `offers.StartableOffers` keeps what it has found for a role.
    """
    return actor.role in registered.roles and (not actor.for_customers or registered.is_for_customers(document))


def may_choose(actor: Actor, registered: RegisteredEngine, document: Any) -> bool:
    """Return whether the definition is offered to the actor where people choose what to start."""
    return registered.is_listed(document) and may_start(actor, registered, document)


class Definitions(Protocol):
    """Finds the definitions that runs execute."""

    async def find(self, engine: str, key: str, /) -> Definition | None:
        """Return the definition in the version that is in force now; None if there is none.

        Raises RunFailed, which says why, if there is one and it may not be started.
        """

    async def check_start(self, engine: str, key: str, /) -> None:
        """Raise RunFailed if no run of this definition may begin now, also none of a text that was fixed before."""

    async def list_all(self, engine: str, /) -> Sequence[Definition]:
        """Return the definitions of which a run may begin now, by key; at most `MOST_LISTED`."""


class StaticDefinitions:
    """Definitions that the program was started with: (engine, key) → document."""

    def __init__(self, documents: Mapping[tuple[str, str], Any]) -> None:
        """Keep the documents; each is version 1."""
        self._documents = documents

    async def find(self, engine: str, key: str, /) -> Definition | None:
        """Return the definition, None if there is none."""
        document = self._documents.get((engine, key))
        return Definition(key=key, version=1, document=document) if document is not None else None

    async def check_start(self, _engine: str, _key: str, /) -> None:
        """Let every definition be started."""

    async def list_all(self, engine: str, /) -> Sequence[Definition]:
        """Return all definitions of the engine."""
        found = [Definition(key=key, version=1, document=one) for (name, key), one in sorted(self._documents.items()) if name == engine]
        return found[:MOST_LISTED]


@dataclass(frozen=True, kw_only=True)
class Engines:
    """All engines of this program: those of runs, and those that hold conversations, which a run may start as a child."""

    runs: Mapping[str, RegisteredEngine] = field(default_factory=dict)
    turns: Mapping[str, Engine] = field(default_factory=dict)
    definitions: Definitions = field(default_factory=lambda: StaticDefinitions({}))

    @property
    def kinds(self) -> dict[str, DefinitionKind]:
        """The kinds of definitions that these engines execute, by name."""
        own = [kind for engine in self.runs.values() for kind in (engine.kind, *engine.parts) if kind is not None]
        return {kind.name: kind for kind in own}
