"""What the pages of runs show of an engine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bot.console.runs.history import StepState
from bot.i18n.translate import Locale, Translator
from bot.plugins.plugin import Slot
from orchestrator.charts.chart import Box
from orchestrator.engines.shared.declared import LaunchParameter
from state.journal.store import StoredEvent


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

    def find_state(self, step: str) -> StepState | None:
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
    are_steps_side_by_side: bool = False
    """Whether a step may still go on when a later one has begun."""
    parts_node: str = ""
    """The node that gives the documents of the parts that its chart shows; "" for an engine that has none."""
    says_ways: bool = True
    """Whether the arrows of its chart say something to people."""


NO_FACE: Final = RunFace()
RUN_FACE: Final = Slot("run", RunFace)
