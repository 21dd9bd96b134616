"""What editors of one kind of definitions need of it, whatever they look like."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol

from bot.plugins.loading import find_part_of_kind
from bot.plugins.plugin import Slot
from orchestrator.charts.chart import Chart
from orchestrator.domain.finding import Path
from state.stored import JsonObject

NO_PARTS: Final[Mapping[str, object]] = {}
Use = tuple[Path, str]
"""The place of a text in a document, and the name that it has there."""


class Say(Protocol):
    """Says a sentence of the program in the language of the person."""

    def __call__(self, code: str, /, **args: object) -> str:
        """Return it."""


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
    """The list of steps in the document."""
    draw: Callable[[object, Mapping[str, object]], Chart]
    """Draws a draft with any content; it gets the documents of its parts, by what is written in it."""
    are_in_order: bool = True
    """Whether the boxes begin with the steps in their order; otherwise the key of a box is the name of its step."""
    names: tuple[str, ...] = ("id",)
    """The fields that name a step, the first that is there."""

    def name_steps(self, document: object) -> list[str]:
        """Return what the steps of a draft are called, "" for one without a name; nothing for a draft without steps."""
        steps = document.get(self.field) if isinstance(document, Mapping) else None
        return [self._find_name(step) for step in steps] if isinstance(steps, list) else []

    def _find_name(self, step: object) -> str:
        names = [step.get(name) for name in self.names] if isinstance(step, Mapping) else []
        return next((name for name in names if isinstance(name, str) and name), "")


@dataclass(frozen=True, kw_only=True)
class KindFace:
    """What the editors of one kind of definitions show."""

    begin: Callable[[Say], JsonObject]
    """Returns the correct and short document with which something new begins."""
    build_schema: Callable[[], JsonObject] | None = None
    build_item: Callable[[object, Path], object] = build_nothing
    """Returns what a new element of the list at a place begins as."""
    steps: Steps | None = None
    named_lists: tuple[Path, ...] = ()
    """The lists whose elements have names that other places use."""
    list_uses: Callable[[object, Path], Iterator[Use]] = use_nothing


KIND_FACE: Final = Slot("kind", KindFace)


def build_definition_chart(kind: str, document: object, parts: Mapping[str, object] = NO_PARTS) -> Chart | None:
    """Return the chart of a definition, also of one with mistakes; None for a kind that has none.

    `parts` are the documents of its parts, by what is written in it.
    """
    face = find_part_of_kind(KIND_FACE, kind)
    return face.steps.draw(document, parts) if face is not None and face.steps is not None else None


@cache
def build_kind_schema(kind: str) -> JsonObject | None:
    """Return the schema of a kind, None if none is published."""
    face = find_part_of_kind(KIND_FACE, kind)
    return face.build_schema() if face is not None and face.build_schema is not None else None


def build_start(say: Say, kind: str) -> JsonObject:
    """Return the document with which something new of this kind begins; an empty one for a kind that shows nothing."""
    face = find_part_of_kind(KIND_FACE, kind)
    return face.begin(say) if face is not None else {}
