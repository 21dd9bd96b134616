from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources.abc import Traversable
from typing import Final, Protocol

from bot.plugins.choices import Choice, FindOffer, Known, offer_nothing
from bot.plugins.loading import find_part_of_kind
from bot.plugins.plugin import Slot
from orchestrator.charts.chart import Chart
from orchestrator.domain.finding import Path
from state.stored import JsonObject

NO_PARTS: Final[Mapping[str, object]] = {}
Use = tuple[Path, str]
"""(place of a text, the name that it has there)."""


class Say(Protocol):
    """In the language of the person."""

    def __call__(self, code: str, /, **args: object) -> str: ...


def use_nothing(_document: object, _listed: Path) -> Iterator[Use]:
    yield from ()


def build_nothing(_document: object, _path: Path) -> object:
    return {}


def follow_nothing(document: object, _path: Path) -> object:
    return document


def list_no_variables(_document: object, _path: Path) -> Sequence[str]:
    return ()


@dataclass(frozen=True, kw_only=True)
class StepChoice:
    """A kind of step that can be added."""

    value: str
    label: str
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Deeds:
    """What a canvas does to a document. Each gives a new document, takes any draft, and leaves it as it is where nothing can be done.

    Boxes are named by their keys, ways by their places among the ports of a box.
    """

    list_types: Callable[[Say], Sequence[StepChoice]]
    add: Callable[[object, str, str, int], tuple[object, str]]
    """(document, type, key of the box before or "", port) → with the new step on that way, and its key."""
    connect: Callable[[object, str, int, str], object]
    disconnect: Callable[[object, str, int, str], object]
    remove: Callable[[object, Sequence[str]], object]
    """What led to them leads to what followed them."""
    with_parts: "Callable[[Mapping[str, object]], Deeds] | None" = None
    """Where deeds must know the documents of parts, which are by what is written in the document."""

    def know_parts(self, parts: Mapping[str, object]) -> "Deeds":
        return self.with_parts(parts) if self.with_parts is not None else self


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Where the steps of a definition stand, and how they are drawn."""

    field: str
    """The list of steps in the document."""
    draw: Callable[[object, Mapping[str, object]], Chart]
    """Gets any draft, and the documents of its parts by what is written in it."""
    are_in_order: bool = True
    """Boxes begin with the steps in order; otherwise keys are names."""
    names: tuple[str, ...] = ("id",)
    """The first that is there names a step."""
    deeds: Deeds | None = None

    def name_steps(self, document: object) -> list[str]:
        """ "" for one without a name."""
        steps = document.get(self.field) if isinstance(document, Mapping) else None
        return [self._find_name(step) for step in steps] if isinstance(steps, list) else []

    def _find_name(self, step: object) -> str:
        names = [step.get(name) for name in self.names] if isinstance(step, Mapping) else []
        return next((name for name in names if isinstance(name, str) and name), "")


@dataclass(frozen=True, kw_only=True)
class KindFace:
    begin: Callable[[Say], JsonObject]
    """A correct and short document to begin with."""
    build_schema: Callable[[], JsonObject] | None = None
    build_item: Callable[[object, Path], object] = build_nothing
    steps: Steps | None = None
    named_lists: tuple[Path, ...] = ()
    """Their elements have names that other places use."""
    templates: tuple[Traversable, ...] = ()
    """Files of definitions to begin with, called as their keys are."""
    list_uses: Callable[[object, Path], Iterator[Use]] = use_nothing
    offers: Mapping[str, bool] = field(default_factory=dict)
    """Kinds of published definitions among which its fields choose; true if with their documents."""
    names_fields: bool = False
    """Whether it names fields of records, so that the portal is asked for its own."""
    open_choices: Callable[[object, Known], FindOffer] = offer_nothing
    """(any draft, what is known outside of it) → what the field at a path may hold; None for what is free."""
    list_variables: Callable[[object, Path], Sequence[str]] = list_no_variables
    """As they are written at that path; only those that can be set before it."""
    follow: Callable[[object, Path], object] = follow_nothing
    """What else changes after somebody has chosen the value at that path, or added the element there."""


KIND_FACE: Final = Slot("kind", KindFace)


def build_definition_chart(kind: str, document: object, parts: Mapping[str, object] = NO_PARTS) -> Chart | None:
    """Also with mistakes. `parts` are by what is written in the document."""
    face = find_part_of_kind(KIND_FACE, kind)
    return face.steps.draw(document, parts) if face is not None and face.steps is not None else None


@cache
def build_kind_schema(kind: str) -> JsonObject | None:
    """None if none is published."""
    face = find_part_of_kind(KIND_FACE, kind)
    return face.build_schema() if face is not None and face.build_schema is not None else None


def build_start(say: Say, kind: str) -> JsonObject:
    """Empty for a kind that shows nothing."""
    face = find_part_of_kind(KIND_FACE, kind)
    return face.begin(say) if face is not None else {}


def list_choices(kind: str, document: object, path: Path, known: Known) -> Sequence[Choice]:
    """Of the field at a path of any draft; none where it is free."""
    face = find_part_of_kind(KIND_FACE, kind)
    offer = face.open_choices(document, known)(path) if face is not None else None
    return offer.choices if offer is not None else ()
