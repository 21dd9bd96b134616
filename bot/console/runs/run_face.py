from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bot.console.runs.history import StepState
from bot.i18n.translate import Locale, Translator
from bot.plugins.loading import find_own_kind, find_part, list_offering
from bot.plugins.plugin import Slot
from orchestrator.charts.chart import Box
from orchestrator.engines.shared.declared import LaunchParameter
from state.journal.store import StoredEvent


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What is asked for before the start."""

    parameters: tuple[LaunchParameter, ...] = ()
    record: str = ""
    """The kind of its record, whose number is one more parameter."""


def ask_nothing(_document: object) -> Launch:
    """The run asks for everything itself."""
    return Launch()


class Follower(Protocol):
    """Of one run; says how its steps stand."""

    def add(self, event: StoredEvent) -> None:
        """With its output."""

    def find_state(self, step: str) -> StepState | None:
        """None if it has left no trace."""

    def tell_result(self, result: Mapping[str, object], *, today: str, locale: Locale) -> Sequence[tuple[str, str]]:
        """(Title, text) of all that it tells people."""


def follow_nothing(_document: object) -> Follower | None:
    """Steps are read from the nodes."""
    return None


def keep_box(_tr: Translator, _document: object, _place: int, box: Box) -> Box | None:
    """As all boxes are said."""
    del box
    return None


def keep_key(_place: int, key: str, _parts: Mapping[str, object]) -> str:
    """The nodes of its step begin with it."""
    return key


@dataclass(frozen=True, kw_only=True)
class RunFace:
    takes_parameters: bool = False
    """Otherwise its runs ask for them."""
    read_launch: Callable[[object], Launch] = ask_nothing
    follow: Callable[[object], Follower | None] = follow_nothing
    say_box: Callable[[Translator, object, int, Box], Box | None] = keep_box
    name_nodes: Callable[[int, str, Mapping[str, object]], str] = keep_key
    """By place and key of a box and the parts of the definition: the first part of its nodes' names; "" for what is no step."""
    are_steps_side_by_side: bool = False
    """A step may go on when a later one has begun."""
    parts_node: str = ""
    """The node that gives the parts of its chart; "" for none."""
    says_ways: bool = True
    """The arrows say something to people."""


NO_FACE: Final = RunFace()
RUN_FACE: Final = Slot("run", RunFace)


def find_face(kind: str) -> RunFace:
    """Of the engine that runs definitions of this kind."""
    engine = next((engine for engine in list_offering(RUN_FACE) if find_own_kind(engine) == kind), "")
    return find_part(RUN_FACE, engine) or NO_FACE
