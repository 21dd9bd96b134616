"""The interface between the engine and the types of runes, of which plugins may add others (S003-5…7)."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, Protocol, TypeVar

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from engines.workflows.core.definition import VARIABLE, Script
from engines.workflows.core.results import AtomicOperation, DisplayUpdatePayload
from orchestrator.domain.finding import Path
from orchestrator.domain.frozen import LateModel
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.runs import RunContext
from orchestrator.engines.shared.block_marks import join_pieces
from orchestrator.engines.shared.declared import Options
from orchestrator.expressions.placeholders import WORKFLOW, Filled, Template, TemplateRefused
from state.stored import JsonObject

Local = Annotated[str, Field(pattern=VARIABLE)]
PROMPTS: Final = "Prompts"
"""The local list of messages with which models are asked (S003-X7)."""
AUTHOR: Final[Origins] = frozenset({"definition"})


class RuneParams(LateModel):
    """The parameters of a type of runes. Values keep their JSON types: "5" is no number."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=False)


P = TypeVar("P", bound=RuneParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuneMistake:
    path: Path
    code: str = "finding-rune-wrong"
    """One of `mistakes.py`; plugins have this one, whose argument is `problem`."""
    args: Mapping[str, str] = field(default_factory=dict)


def list_no_variables(_params: object) -> Iterable[str]:
    return ()


def list_placeholders(tree: object) -> Iterable[str]:
    """Names in the texts of JSON data; none if it is too large."""
    try:
        return [place.name for place in Template(tree, WORKFLOW).placeholders]
    except TemplateRefused:
        return ()


def find_no_mistakes(_params: object) -> Iterable[RuneMistake]:
    return ()


class TuumFailed(Exception):
    """A tuum cannot go on. The message says at which rune and why, in English, for authors and operations staff."""

    code = "workflow-tuum-failed"


class AnswerUnfit(TuumFailed):
    """A model has answered twice what its author cannot use."""

    code = "workflow-answer-unfit"


class TuumStopped(TuumFailed):
    """A script has ended the workflow by itself. `words` is what its author wants the person to read."""

    def __init__(self, node: str, words: str) -> None:
        super().__init__(f"{node}: {words}")
        self.words = words


class Work(Protocol):
    ctx: RunContext

    async def ask(self, node: str, prompts: Value, service: str, options: Options, *, is_streaming: bool) -> Value:
        """Ask a model once for each node. Raises TuumFailed."""

    async def ask_again(self, answer: Value, why: str) -> Value | None:
        """Tell the model its mistake; None if the answer is none of this tuum, or was asked for so itself. Raises TuumFailed."""

    async def run_script(self, node: str, script: Script, names: Mapping[str, Value]) -> Mapping[str, Value]:
        """Raises TuumFailed."""

    async def query(self, node: str, method: str, params: Mapping[str, Any]) -> Value:
        """Read from the portal, with `Value` at any place of `params`. Raises TuumFailed."""

    async def search_pattern(self, node: str, pattern: str, text: Value, *, is_all: bool = True) -> Value:
        """Return [{groups, names}]. Raises TuumFailed."""

    def emit(self, operation: AtomicOperation, origins: Origins, left_out: Sequence[str] | None = None) -> None:
        """Raises TuumFailed for a rune whose type does not emit. `left_out` are by default nulls of a model."""

    async def show(self, payload: DisplayUpdatePayload, origins: Origins) -> None:
        """May be dropped (S003-70)."""

    def end_with(self, *, raw_text: Value | None, operations: Value | None) -> None:
        """Raises TuumFailed for a rune whose type is no terminal, or does not emit."""


@dataclass(frozen=True, kw_only=True)
class RuneCall(Generic[P]):
    node: str
    """Unique; names of nodes are made of it."""
    params: P
    variables: Mapping[str, Value]
    work: Work
    note_missing: Callable[[str], None]
    """Is told each missing variable of a template (S003-A11)."""

    def fill(self, tree: Any) -> Any:
        """A text with variables becomes a `Value`. Raises TuumFailed if it grows too large."""
        return self.fill_noting(tree).data

    def fill_noting(self, tree: Any) -> Filled:
        """Also return the places without a value. Raises TuumFailed."""
        try:
            filled = Template(tree, WORKFLOW).fill(self.variables, join_pieces)
        except TemplateRefused as error:
            raise self.fail(str(error)) from None
        for place in filled.missing:
            self.note_missing(place.name)
        return filled

    def find(self, name: str) -> Value:
        """Raises TuumFailed."""
        if name not in self.variables:
            raise self.fail(f"there is no variable {name}")
        return self.variables[name]

    def fail(self, why: str) -> TuumFailed:
        return TuumFailed(f"{self.node}: {why}")


Changes = Mapping[str, Value]
NO_CHANGES: Final[Changes] = {}


@dataclass(frozen=True, kw_only=True)
class RuneType(Generic[P]):
    name: str
    summary: str
    params: type[P]
    perform: Callable[[RuneCall[P]], Awaitable[Changes]]
    """Returns the variables that it sets. Raises TuumFailed."""
    example: JsonObject = field(default_factory=dict)
    """A correct rune without its `runeType`, for the documentation; a test checks it."""
    list_consumes: Callable[[P], Iterable[str]] = list_no_variables
    """Local variables that it needs (S003-6)."""
    list_reads: Callable[[P], Iterable[str]] = list_no_variables
    """Local variables that it reads if they are there (S003-A11)."""
    list_produces: Callable[[P], Iterable[str]] = list_no_variables
    """Local variables that it sets (S003-7)."""
    prepares: bool = False
    """It may build a prompt: it neither asks a model nor emits (S003-39, S003-41)."""
    emits: bool = False
    """It proposes operations. One that does without saying so fails its tuum."""
    is_terminal: bool = False
    """It makes the result; there is one, in a tuum on which none depends (S003-X6)."""
    find_mistakes: Callable[[P], Iterable[RuneMistake]] = find_no_mistakes


AnyRuneType = RuneType[Any]
RuneTypes = dict[str, AnyRuneType]
