"""Engines of runs by name, and the definitions that they execute."""

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
"""Definitions of an engine listed in a chat."""
ALL_ROLES: frozenset[Role] = frozenset({"manager", "lead", "admin"})


@dataclass(frozen=True, kw_only=True)
class RunCommand:
    definition: str
    """Empty if the first word after the command names it; without a word they are listed."""
    lane: Lane = "express"
    """A run is no turn, so its command waits for none by default."""
    menu: Notice | None = None
    """None keeps it out of the bot's menu."""


def list_nothing(_document: Any) -> Sequence[tuple[str, str]]:
    return ()


def describe_nothing(_document: Any) -> tuple[str, str]:
    """People see the key instead."""
    return "", ""


def is_open(_document: Any) -> bool:
    """Every definition may be started so."""
    return True


def is_for_nobody_outside(_document: Any) -> bool:
    """No definition is for customers."""
    return False


def find_no_reserved(_definition: Definition, _given: Iterable[str]) -> str:
    """Every name is allowed."""
    return ""


@dataclass(frozen=True, kw_only=True)
class RegisteredEngine:
    engine: RunEngine
    roles: frozenset[Role] = ALL_ROLES
    commands: Mapping[str, RunCommand] = field(default_factory=dict)
    list_uses: Callable[[Any], Sequence[tuple[str, str]]] = list_nothing
    """(engine, key) of the definitions that a document may start as children, fixed when the run begins.

    Names known only later are looked up then.
    """
    describe: Callable[[Any], tuple[str, str]] = describe_nothing
    """(title, summary in a line) of a document."""
    is_listed: Callable[[Any], bool] = is_open
    is_for_programs: Callable[[Any], bool] = is_open
    """Whether other programs may start a document over HTTP."""
    is_for_customers: Callable[[Any], bool] = is_for_nobody_outside
    """Whether a document is marked as one for customers."""
    find_reserved: Callable[[Definition, Iterable[str]], str] = find_no_reserved
    """The first of these names that no start may give a value, "" if none."""
    is_background: bool = False
    """Its reads let everybody else's go first."""
    is_offered: bool = False
    """Whether the CRM agent may offer its definitions to people."""
    kind: DefinitionKind | None = None
    """None if its definitions come with the program alone."""
    parts: Sequence[DefinitionKind] = ()
    """Kinds that its definitions name but it does not start, such as agents of flows."""


def may_start(actor: Actor, registered: RegisteredEngine, document: Any) -> bool:
    """By role and, for customers, the definition's mark; `offers.StartableOffers` relies on nothing else counting."""
    return actor.role in registered.roles and (not actor.for_customers or registered.is_for_customers(document))


def may_choose(actor: Actor, registered: RegisteredEngine, document: Any) -> bool:
    """Offered where people choose what to start."""
    return registered.is_listed(document) and may_start(actor, registered, document)


class Definitions(Protocol):
    async def find(self, engine: str, key: str, /) -> Definition | None:
        """The version in force; None if there is none. Raises RunFailed if it may not be started."""

    async def check_start(self, engine: str, key: str, /) -> None:
        """Raises RunFailed if no run may begin now, also none of a text fixed before."""

    async def list_all(self, engine: str, /) -> Sequence[Definition]:
        """Those of which a run may begin now, by key; at most `MOST_LISTED`."""


class StaticDefinitions:
    def __init__(self, documents: Mapping[tuple[str, str], Any]) -> None:
        """Each document is version 1."""
        self._documents = documents

    async def find(self, engine: str, key: str, /) -> Definition | None:
        document = self._documents.get((engine, key))
        return Definition(key=key, version=1, document=document) if document is not None else None

    async def check_start(self, _engine: str, _key: str, /) -> None:
        """Every definition may be started."""

    async def list_all(self, engine: str, /) -> Sequence[Definition]:
        definitions = [
            Definition(key=key, version=1, document=one) for (name, key), one in sorted(self._documents.items()) if name == engine
        ]
        return definitions[:MOST_LISTED]


@dataclass(frozen=True, kw_only=True)
class Engines:
    """All engines of this program; conversations (`turns`) may be children of runs."""

    runs: Mapping[str, RegisteredEngine] = field(default_factory=dict)
    turns: Mapping[str, Engine] = field(default_factory=dict)
    definitions: Definitions = field(default_factory=lambda: StaticDefinitions({}))

    @property
    def kinds(self) -> dict[str, DefinitionKind]:
        own = [kind for engine in self.runs.values() for kind in (engine.kind, *engine.parts) if kind is not None]
        return {kind.name: kind for kind in own}
