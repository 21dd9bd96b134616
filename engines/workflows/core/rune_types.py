"""The interface between the engine and the types of runes, of which plugins may add others (S003-5 … S003-7).

A type says what the parameters of its runes are, which variables a rune with these parameters reads and gives, and what it does.
"""

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
"""The name of a local variable."""
PROMPTS: Final = "Prompts"
"""The local list of messages to which prompt runes add, and with which models are asked (S003-X7)."""
AUTHOR: Final[Origins] = frozenset({"definition"})


class RuneParams(LateModel):
    """The parameters of a type of runes. Values keep their JSON types: "5" is no number."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=False)


P = TypeVar("P", bound=RuneParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuneMistake:
    """Something that is wrong with the parameters of a rune beyond their form."""

    path: Path
    """Where in the parameters; names are spelled as in the document."""
    code: str = "finding-rune-wrong"
    """One of `mistakes.py`; types of plugins have this one, whose argument is `problem`."""
    args: Mapping[str, str] = field(default_factory=dict)


def list_no_variables(_params: object) -> Iterable[str]:
    """Return nothing."""
    return ()


def list_placeholders(tree: object) -> Iterable[str]:
    """Return the names of the variables in the texts of JSON data that has `{{variable}}`; of data that is too large, none."""
    try:
        return [place.name for place in Template(tree, WORKFLOW).placeholders]
    except TemplateRefused:
        return ()


def find_no_mistakes(_params: object) -> Iterable[RuneMistake]:
    """Return nothing: parameters that have the right form are right."""
    return ()


class TuumFailed(Exception):
    """A tuum cannot go on. The message says at which rune and why, in English, for authors and operations staff."""

    code = "workflow-tuum-failed"
    """That of the sentence that its person reads."""


class AnswerUnfit(TuumFailed):
    """A model has answered twice what its author cannot use."""

    code = "workflow-answer-unfit"


class TuumStopped(TuumFailed):
    """A script has ended the workflow by itself. `words` is what its author wants the person to read."""

    def __init__(self, node: str, words: str) -> None:
        """Keep the words."""
        super().__init__(f"{node}: {words}")
        self.words = words


class Work(Protocol):
    """What the runes of one run of a tuum reach beyond its variables."""

    ctx: RunContext

    async def ask(self, node: str, prompts: Value, service: str, options: Options, *, is_streaming: bool) -> Value:
        """Return the answer of a model, which is asked once for each node. Raises TuumFailed if there is none."""

    async def ask_again(self, answer: Value, why: str) -> Value | None:
        """Return what the model says that gave this answer, after it is told what is wrong with it.

        None if it is no answer of a model in this tuum, or itself was asked for so. Raises TuumFailed if none comes.
        """

    async def run_script(self, node: str, script: Script, names: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return the variables that a script gives. Raises TuumFailed."""

    async def query(self, node: str, method: str, params: Mapping[str, Any]) -> Value:
        """Return what a reading method of the portal gives, with `Value` at any place of `params`. Raises TuumFailed."""

    async def search_pattern(self, node: str, pattern: str, text: Value, *, is_all: bool = True) -> Value:
        """Return what a regular expression finds, all or the first: a list of {groups, names}. Raises TuumFailed."""

    def emit(self, operation: AtomicOperation, origins: Origins, left_out: Sequence[str] | None = None) -> None:
        """Propose an operation; `origins` say where what it holds comes from. Raises TuumFailed for a rune whose type does not emit.

        The fields `left_out` are not written, and people are told; by default those that are null in what comes from a model.
        """

    async def show(self, payload: DisplayUpdatePayload, origins: Origins) -> None:
        """Show something while the run goes on. It may be dropped (S003-70)."""

    def end_with(self, *, raw_text: Value | None, operations: Value | None) -> None:
        """Make these values the result of the workflow. Raises TuumFailed for a rune whose type is no terminal, or does not emit."""


@dataclass(frozen=True, kw_only=True)
class RuneCall(Generic[P]):
    """One execution of a rune."""

    node: str
    """The unique name of this execution, from which those of its nodes are made."""
    params: P
    variables: Mapping[str, Value]
    """The local variables before it."""
    work: Work
    note_missing: Callable[[str], None]
    """Is told each variable of a template that is not there (S003-A11)."""

    def fill(self, tree: Any) -> Any:
        """Return JSON data with its `{{variable}}` filled; a text that had some is a `Value`. Raises TuumFailed if it grows too large."""
        return self.fill_noting(tree).data

    def fill_noting(self, tree: Any) -> Filled:
        """Return the same with the places at which no variable gave a value. Raises TuumFailed."""
        try:
            filled = Template(tree, WORKFLOW).fill(self.variables, join_pieces)
        except TemplateRefused as error:
            raise self.fail(str(error)) from None
        for place in filled.missing:
            self.note_missing(place.name)
        return filled

    def find(self, name: str) -> Value:
        """Return a variable. Raises TuumFailed if it is not there."""
        if name not in self.variables:
            raise self.fail(f"there is no variable {name}")
        return self.variables[name]

    def fail(self, why: str) -> TuumFailed:
        """Return the error that ends the tuum at this rune."""
        return TuumFailed(f"{self.node}: {why}")


Changes = Mapping[str, Value]
"""The variables that a rune sets."""
NO_CHANGES: Final[Changes] = {}


@dataclass(frozen=True, kw_only=True)
class RuneType(Generic[P]):
    """One type of runes."""

    name: str
    summary: str
    """What it does, in a sentence for authors."""
    params: type[P]
    perform: Callable[[RuneCall[P]], Awaitable[Changes]]
    """Does it and returns the variables that it sets. Raises TuumFailed."""
    example: JsonObject = field(default_factory=dict)
    """A rune of this type without its `runeType`, for the documentation: a correct one, which a test checks."""
    list_consumes: Callable[[P], Iterable[str]] = list_no_variables
    """Returns the local variables that such a rune needs (S003-6)."""
    list_reads: Callable[[P], Iterable[str]] = list_no_variables
    """Returns the local variables that such a rune reads if they are there, such as those of a template (S003-A11)."""
    list_produces: Callable[[P], Iterable[str]] = list_no_variables
    """Returns the local variables that it sets (S003-7)."""
    prepares: bool = False
    """Whether it may stand among the runes that build a prompt: it neither asks a model nor emits anything (S003-39, S003-41)."""
    emits: bool = False
    """Whether it proposes operations. One that does without saying so fails its tuum: by this it is told who may publish what."""
    is_terminal: bool = False
    """Whether it makes the result of the workflow: there is one, in a tuum on which none depends (S003-X6). None else can make it."""
    find_mistakes: Callable[[P], Iterable[RuneMistake]] = find_no_mistakes
    """Returns what is wrong with parameters of the right form, such as an expression that cannot be read."""


AnyRuneType = RuneType[Any]
RuneTypes = dict[str, AnyRuneType]
