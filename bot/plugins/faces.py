"""The parts of a plugin: what the console, the HTTP API, the terminal and the composition root ask of an engine."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from bot.i18n.translate import Locale, Translator
from orchestrator.charts.chart import Box, Chart
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.domain.finding import Path
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.runs.registry import Definitions, RegisteredEngine
from state.journal.async_store import AsyncStore
from state.journal.store import StoredEvent
from state.stored import JsonObject

if TYPE_CHECKING:
    from fastapi import APIRouter

    from bitrix.catalogue.catalogue import Catalogue
    from bot.console.definitions.form.sources import FormSource
    from bot.console.runs.history import StepState
    from bot.console.visit import Visit
    from bot.http_api.audit.session_events import StreamReader
    from bot.http_api.server.endpoint_context import EndpointContext
    from bot.rehearsing.trials import Playable
    from bot.settings import Settings
    from orchestrator.definitions.service import DefinitionService
    from orchestrator.directory.naming import Naming
    from orchestrator.domain.own_reads import FindDocuments
    from orchestrator.expressions.scripts.runner import ScriptRunner
    from orchestrator.gate.call.gate_deps import PolicySource
    from orchestrator.performers.files.folder import Folder
    from orchestrator.performers.http import HttpPerformer
    from orchestrator.runs.registry import Engines

NO_PARTS: Final[Mapping[str, object]] = {}
Use = tuple[Path, str]
"""The place of a text in a document, and the name that it has there."""


@dataclass(frozen=True, kw_only=True)
class EnginePorts:
    """What the services of the process give to engines."""

    settings: "Settings"
    store: AsyncStore
    policies: "PolicySource"
    catalogue: "Catalogue"
    naming: "Naming"
    find_documents: "FindDocuments"
    http: "HttpPerformer"
    folder: "Folder | None"
    scripts: "ScriptRunner"


def connect_nothing(engine: RegisteredEngine, _ports: EnginePorts) -> RegisteredEngine:
    """Return the engine as it is: it reaches the outside only through its runs."""
    return engine


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """Builds the engine: as it checks definitions, and as it executes them with services."""

    build: Callable[[], RegisteredEngine]
    connect: Callable[[RegisteredEngine, EnginePorts], RegisteredEngine] = connect_nothing


class Say(Protocol):
    """Says a sentence of the program in the language of the person."""

    def __call__(self, code: str, /, **args: object) -> str:
        """Return it."""


class LoadPlayable(Protocol):
    """Loads what a trial of a checked document needs of others."""

    async def __call__(
        self, kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
    ) -> "Playable":
        """Return the definition with all that it needs. Raises StoreError."""


def use_nothing(_document: object, _listed: Path) -> Iterator[Use]:
    """Yield nothing: in documents of this kind no element names another."""
    yield from ()


def build_nothing(_document: object, _path: Path) -> object:
    """Return an element without anything in it."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Where the steps of a definition stand, and how they are drawn."""

    field: str
    draw: Callable[[object, Mapping[str, object]], Chart]
    """Draws a draft with any content; it gets the documents of its parts, by what is written in it."""
    are_in_order: bool = True
    """Whether the boxes begin with the steps in their order; otherwise the key of a box is the name of its step."""


@dataclass(frozen=True, kw_only=True)
class KindFace:
    """What the editors of one kind of definitions show."""

    begin: Callable[[Say], JsonObject]
    """Returns the correct and short document with which something new begins."""
    build_schema: Callable[[], JsonObject] | None = None
    open_form: "Callable[[Visit], Awaitable[FormSource]] | None" = None
    """Opens a form of its own; without it the form is drawn from the schema."""
    build_item: Callable[[object, Path], object] = build_nothing
    """Returns what a new element of the list at a place begins as."""
    steps: Steps | None = None
    named_lists: tuple[Path, ...] = ()
    """The lists whose elements have names that other places use."""
    list_uses: Callable[[object, Path], Iterator[Use]] = use_nothing
    load_playable: LoadPlayable | None = None
    """None for a kind that cannot be tried."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What a definition asks for before it starts."""

    parameters: tuple[LaunchParameter, ...] = ()
    record: str = ""
    """The kind of record that it works on, whose number is one more parameter."""


def ask_nothing(_document: object) -> Launch:
    """Return nothing: the run asks for everything itself."""
    return Launch()


class Follower(Protocol):
    """Follows the events of one run and says how its steps stand."""

    def add(self, event: StoredEvent) -> None:
        """Take in the next event, with its output."""

    def find_state(self, step: str) -> "StepState | None":
        """Return how a step stands; None for one that has left no trace."""

    def tell_result(self, result: Mapping[str, object], *, today: str, locale: Locale) -> Sequence[tuple[str, str]]:
        """Return (title, text) of all that the result tells people."""


def follow_nothing(_document: object) -> Follower | None:
    """Return None: how the steps stand is read from the nodes."""
    return None


def keep_box(_tr: Translator, _document: object, _place: int, box: Box) -> Box | None:
    """Return None: the box is said as all boxes are."""
    del box
    return None


def keep_key(_place: int, key: str) -> str:
    """Return the key of the box: the nodes of its step begin with it."""
    return key


@dataclass(frozen=True, kw_only=True)
class RunFace:
    """What the pages of runs show of an engine."""

    takes_parameters: bool = False
    """Whether its runs may be started with parameters; otherwise they ask for them."""
    read_launch: Callable[[object], Launch] = ask_nothing
    follow: Callable[[object], Follower | None] = follow_nothing
    say_box: Callable[[Translator, object, int, Box], Box | None] = keep_box
    name_nodes: Callable[[int, str], str] = keep_key
    """Returns the first part of the names of the nodes of a step, by its place and the key of its box."""
    says_ways: bool = True
    """Whether the arrows of its chart say something to people."""


NO_FACE: Final = RunFace()


@dataclass(frozen=True, kw_only=True)
class HttpFace:
    """Endpoints of an engine's own, beside those of all definitions and runs."""

    build_routers: "Callable[[EndpointContext, StreamReader, Engines, DefinitionService], Sequence[APIRouter]]"
