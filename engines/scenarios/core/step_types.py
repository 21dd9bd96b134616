"""The interface between the engine and the types of steps, of which plugins may add others (S000-55, S000-64).

A type says what its parameters are, what a step of it does, and what a validator must know before anything runs.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, Literal, Protocol, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict

from engines.scenarios.core.definition import Step
from engines.scenarios.core.variables import MOST_PARTS, Variables
from orchestrator.definitions.kinds import Write
from orchestrator.domain.frozen import LateModel
from orchestrator.domain.outputs import Notice
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.domain.taint import NOWHERE, Origins, Value, join_origins, split_values
from orchestrator.engines.runs import Option, RunContext, RunFailed
from orchestrator.engines.shared.file_access import Download, ReadFile
from orchestrator.engines.shared.file_access import Downloaded as Downloaded  # noqa: PLC0414 - packages of others take it from here
from orchestrator.expressions.conditions import Condition
from orchestrator.expressions.placeholders import format_value
from state.stored import JsonObject

Raw = JsonObject
"""The parameters of a step as its author wrote them, with placeholders."""
AUTHOR: Final[Origins] = frozenset({"definition"})


class StepParams(LateModel):
    """The parameters of a type of steps. Values keep their JSON types: "5" is no number."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


Words = Annotated[str, BeforeValidator(format_value)]
"""A text that people read: a placeholder that is the whole of it may stand for any value."""


def _check_variable(name: str) -> str:
    """Return the name of a variable that a step sets. Raises ValueError for one of too many parts."""
    if name.count(".") >= MOST_PARTS:
        raise ValueError(f"a name of a variable has more than {MOST_PARTS} parts")
    return name


VariableName = Annotated[str, AfterValidator(_check_variable)]
"""The name of a variable that a step sets; with dots it is a part of an object."""
P = TypeVar("P", bound=StepParams)


@dataclass
class Keyboard:
    """The buttons that a message of this pass has announced, and that stand under the next question (S000-X16)."""

    options: tuple[Option, ...] = ()


@dataclass
class Fetched:
    """How much this run has fetched from other hosts, in bytes."""

    size: int = 0


class NoteStep(Protocol):
    """Writes a line of an author to the log of scenarios."""

    def __call__(self, level: int, text: str, /) -> None:
        """Write the line."""


class Controls(Protocol):
    """What stands beside the author's buttons of a question, and how far the run is."""

    @property
    def controls(self) -> tuple[Option, ...]:
        """The buttons of the program."""

    @property
    def heading(self) -> Notice | None:
        """How far the scenario is, None if that is not shown."""

    @property
    def can_go_back(self) -> bool:
        """Whether there is a question before the present one to which the person may go back."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What steps reach beside the run: services of the program, and the log."""

    note: NoteStep
    steering: Controls
    find_documents: FindDocuments | None = None
    read_file: ReadFile | None = None
    download: Download | None = None
    keyboard: Keyboard = field(default_factory=Keyboard)
    fetched: Fetched = field(default_factory=Fetched)


@dataclass(frozen=True, kw_only=True)
class StepCall(Generic[P]):
    """One execution of a step."""

    node: str
    """The unique name of this execution, from which those of its nodes are made."""
    step: Step
    params: P
    """The parameters with their placeholders filled."""
    filled: JsonObject
    """The same as JSON data in which everything that was filled in is a `Value`, for effects."""
    variables: Variables
    ctx: RunContext
    surroundings: Surroundings
    empty: frozenset[tuple[str | int, ...]] = frozenset()
    """The places in `filled` of texts of which no placeholder gave a value."""
    condition: Condition | None = None

    def take(self, *names: str) -> JsonObject:
        """Return the named parameters that are given, each constant as a value of the author, as an effect needs them."""
        origins = AUTHOR | self.variables.decided_by
        return {name: add_origins(self.filled[name], origins) for name in names if self.filled.get(name) is not None}

    def find_origins(self, *names: str) -> Origins:
        """Return where the values in the named parameters come from, and the way to this step; without names those of all."""
        chosen = self.filled if not names else {name: self.filled.get(name) for name in names}
        return AUTHOR | self.variables.decided_by | join_origins(split_values(chosen)[1])

    def fail(self, code: str, detail: str, **args: object) -> RunFailed:
        """Return the error that ends the run at this step."""
        return RunFailed(code, f"step {self.node}: {detail}", step=self.step.id or self.node, **args)


def mark_author(tree: Any) -> Any:
    """Return JSON data in which every value comes from the author of the definition, too."""
    return add_origins(tree, AUTHOR)


def list_fields(filled: Any) -> JsonObject:
    """Return the fields of an object in filled JSON data, also where one placeholder stands for the whole object."""
    return {name: Value(one, filled.origins) for name, one in filled.data.items()} if isinstance(filled, Value) else filled


def list_part_origins(items: Any, name: str) -> list[Origins]:
    """Return where the part `name` of each object in filled JSON data comes from; lists of lists are gone through in order."""
    whole, given = (items.origins, items.data) if isinstance(items, Value) else (NOWHERE, items)
    origins: list[Origins] = []
    for one in given or ():
        if isinstance(one, list) or (isinstance(one, Value) and isinstance(one.data, list)):
            origins.extend(whole | origins for origins in list_part_origins(one, name))
        elif isinstance(one, Value):
            origins.append(whole | one.origins)
        else:
            origins.append(whole | join_origins(split_values(one.get(name))[1]) if isinstance(one, Mapping) else whole)
    return origins


def add_origins(tree: Any, origins: Origins) -> Any:
    """Return JSON data in which every value comes from these places, too."""
    if isinstance(tree, Value):
        return Value(tree.data, tree.origins | origins)
    if isinstance(tree, Mapping):
        return {key: add_origins(one, origins) for key, one in tree.items()}
    if isinstance(tree, list):
        return [add_origins(one, origins) for one in tree]
    return Value(tree, origins)


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What a step leads to."""

    changes: Mapping[str, Value] = field(default_factory=dict)
    """Variables that it sets."""
    next_step: str | None = None
    """The id of the step that follows, if the step itself decides it."""
    ends: bool = False
    """Whether the scenario is over."""
    cancels: bool = False
    """Whether the person has cancelled the scenario."""
    goes_back: bool = False
    """Whether the person goes back to the question before."""
    refused: str = ""
    """Why the step was refused what it wanted to do, so that its author's other way is taken; "" if it was not."""


DONE: Final = StepResult()


@dataclass(frozen=True, kw_only=True)
class StepMistake:
    """A mistake in the parameters of a step: where in them, and the code of the sentence with its arguments."""

    path: tuple[str | int, ...] = ()
    code: str
    args: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class WrittenCall:
    """A call of the portal in the parameters of a step: the method, and the parameter that holds those of the call."""

    method: str
    method_in: str
    params: object
    params_in: str


def list_none(_raw: Raw) -> Sequence[Any]:
    """Return nothing."""
    return ()


def list_named(name: str, default: str) -> Callable[[Raw], Iterable[str]]:
    """Return what names the variable that the parameter `name` holds, by default `default`."""

    def list_outputs(raw: Raw) -> Iterable[str]:
        given = raw.get(name) or default
        return (given,) if isinstance(given, str) and given else ()

    return list_outputs


@dataclass(frozen=True, kw_only=True)
class StepType(Generic[P]):
    """One type of steps."""

    name: str
    summary: str
    """What it does, in a sentence for authors."""
    params: type[P]
    perform: Callable[[StepCall[P]], Awaitable[StepResult]]
    example: JsonObject = field(default_factory=dict)
    """A step of this type without its `type`, for the documentation: a correct one, which a test checks."""
    needs: frozenset[str] = frozenset()
    """Parameters that must be given although `params`, which several types share, has a default for them."""
    ignores: frozenset[str] = frozenset()
    """Parameters of `params` that have no effect in this type."""
    list_outputs: Callable[[Raw], Iterable[str]] = list_none
    """Returns the names of the variables that a step with these parameters sets; with dots it is a part of an object."""
    list_calls: Callable[[Raw], Iterable[WrittenCall]] = list_none
    """Returns the calls of the portal that stand in its parameters, whose form is checked before anything runs."""
    list_writes: Callable[[Raw], Sequence[Write] | None] = list_none
    """Returns the effects that such a step may submit; None if it cannot be told."""
    list_targets: Callable[[Raw], Iterable[tuple[tuple[str | int, ...], str]]] = list_none
    """Returns (path inside of the parameters, id) for each step to which its parameters may lead."""
    list_expressions: Callable[[Raw], Iterable[tuple[tuple[str | int, ...], str]]] = list_none
    """Returns (path inside of the parameters, source) for each expression in its parameters, which is checked as a condition is."""
    list_uses: Callable[[Raw], Iterable[tuple[str, str]]] = list_none
    """Returns (engine, key) of the definitions that it starts."""
    list_mistakes: Callable[[Raw], Iterable[StepMistake]] = list_none
    """Returns what is wrong with such parameters beyond what their model says."""
    list_addresses: Callable[[Raw], Iterable[tuple[tuple[str | int, ...], str]]] = list_none
    """Returns (path inside of the parameters, address) for each address of another host from which a step with these parameters reads."""
    unfilled: frozenset[str] = frozenset()
    """The parameters whose placeholders are not those of this scenario's variables."""
    call_at: str = ""
    """The parameter that holds the parameters of the effect that it submits; "" if those of the step are its own."""
    gives_text: Callable[[Raw], bool] = lambda _raw: False
    """Whether the variables that such a step sets are texts, which have no parts."""
    source: Literal["", "model", "person"] = ""
    """Who gives the values of the variables that it sets: a model, or a person who answers; "" for the program."""
    gives_blocks: bool = False
    """Whether marks of blocks in what it gives are those of an author; marks from elsewhere in it are escaped."""
    is_action: bool = False
    """Whether `type: action` with this name as `action_type` is the same step (S000-52)."""
    waits: bool = False
    """Whether it gives way to people, time or other parties, so that a loop through it never runs hot."""
    asks: bool = False
    """Whether it asks the person a question to which they may go back."""
    is_internal: bool = False
    """Whether it gives whatever the company knows of what the words ask for, which is nothing for customers."""
    decides: bool = False
    """Whether it chooses between ways by a condition."""
    can_continue: Callable[[Raw], bool] = lambda _raw: True
    """Whether the run may go on with the following step after it."""


AnyStepType = StepType[Any]
AnyStepCall = StepCall[Any]
