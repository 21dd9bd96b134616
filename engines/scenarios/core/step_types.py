"""The interface between the engine and the types of steps, of which plugins may add others (S000-55, S000-64)."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, Literal, Protocol, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict

from engines.scenarios.core.definition import Step
from engines.scenarios.core.variables import MOST_PARTS, Variables
from orchestrator.definitions.kinds import Write
from orchestrator.domain.finding import Severity
from orchestrator.domain.frozen import LateModel
from orchestrator.domain.outputs import Notice
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.domain.taint import NOWHERE, Origins, Value, join_origins, split_values
from orchestrator.engines.runs import Option, RunContext, RunFailed
from orchestrator.engines.shared.file_access import Download, ReadFile
from orchestrator.engines.shared.file_access import Downloaded as Downloaded  # noqa: PLC0414 - packages of others take it from here
from orchestrator.expressions.conditions import Condition
from orchestrator.expressions.placeholders import SCENARIO, Template, TemplateRefused, format_value
from state.canonical import map_leaves
from state.stored import JsonObject

Raw = JsonObject
AUTHOR: Final[Origins] = frozenset({"definition"})


class StepParams(LateModel):
    """The parameters of a type of steps. Values keep their JSON types: "5" is no number."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


Words = Annotated[str, BeforeValidator(format_value)]
"""A placeholder that is the whole text may stand for any value."""


def _check_variable(name: str) -> str:
    """Raises ValueError for too many parts."""
    if name.count(".") >= MOST_PARTS:
        raise ValueError(f"a name of a variable has more than {MOST_PARTS} parts")
    return name


VariableName = Annotated[str, AfterValidator(_check_variable)]
"""With dots it is a part of an object."""
P = TypeVar("P", bound=StepParams)


@dataclass
class Keyboard:
    """Announced by a message, the buttons stand under the next question (S000-X16)."""

    options: tuple[Option, ...] = ()


@dataclass
class Fetched:
    size: int = 0


class NoteStep(Protocol):
    def __call__(self, level: int, text: str, /) -> None: ...


class Controls(Protocol):
    @property
    def controls(self) -> tuple[Option, ...]: ...

    @property
    def heading(self) -> Notice | None:
        """None if it is not shown."""

    @property
    def can_go_back(self) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    note: NoteStep
    steering: Controls
    find_documents: FindDocuments | None = None
    read_file: ReadFile | None = None
    download: Download | None = None
    keyboard: Keyboard = field(default_factory=Keyboard)
    fetched: Fetched = field(default_factory=Fetched)


@dataclass(frozen=True, kw_only=True)
class StepCall(Generic[P]):
    node: str
    """Unique; names of nodes are made of it."""
    step: Step
    params: P
    filled: JsonObject
    """The same as JSON data with a `Value` for everything filled in, for effects."""
    variables: Variables
    ctx: RunContext
    surroundings: Surroundings
    empty: frozenset[tuple[str | int, ...]] = frozenset()
    """Places in `filled` of texts without a value for any placeholder."""
    condition: Condition | None = None
    spoken: Mapping[str, Value] = field(default_factory=dict)
    """The variables as people read them."""

    def take(self, *names: str) -> JsonObject:
        """As an effect needs them: a constant is a value of the author."""
        origins = AUTHOR | self.variables.decided_by
        return {name: add_origins(self.filled[name], origins) for name in names if self.filled.get(name) is not None}

    def find_origins(self, *names: str) -> Origins:
        """Include the way to this step; without names take all parameters."""
        chosen = self.filled if not names else {name: self.filled.get(name) for name in names}
        return AUTHOR | self.variables.decided_by | join_origins(split_values(chosen)[1])

    def fail(self, code: str, detail: str, **args: object) -> RunFailed:
        return RunFailed(code, f"step {self.node}: {detail}", step=self.step.id or self.node, **args)


def mark_author(tree: Any) -> Any:
    return add_origins(tree, AUTHOR)


def list_fields(filled: Any) -> JsonObject:
    """Also where one placeholder stands for the whole object."""
    return {name: Value(one, filled.origins) for name, one in filled.data.items()} if isinstance(filled, Value) else filled


def list_part_origins(items: Any, name: str) -> list[Origins]:
    """Origins of the part `name` of each object; lists of lists are gone through in order."""
    whole, elements = (items.origins, items.data) if isinstance(items, Value) else (NOWHERE, items)
    origins: list[Origins] = []
    for element in elements or ():
        if isinstance(element, list) or (isinstance(element, Value) and isinstance(element.data, list)):
            origins.extend(whole | origins for origins in list_part_origins(element, name))
        elif isinstance(element, Value):
            origins.append(whole | element.origins)
        else:
            origins.append(whole | join_origins(split_values(element.get(name))[1]) if isinstance(element, Mapping) else whole)
    return origins


def add_origins(tree: Any, origins: Origins) -> Any:
    """Every value also comes from these origins."""
    return map_leaves(tree, lambda leaf: Value(leaf.data, leaf.origins | origins) if isinstance(leaf, Value) else Value(leaf, origins))


@dataclass(frozen=True, kw_only=True)
class StepResult:
    changes: Mapping[str, Value] = field(default_factory=dict)
    next_step: str | None = None
    ends: bool = False
    cancels: bool = False
    goes_back: bool = False
    refused: str = ""
    """So that its author's other way is taken; "" if it was not refused."""


DONE: Final = StepResult()


@dataclass(frozen=True, kw_only=True)
class StepMistake:
    path: tuple[str | int, ...] = ()
    code: str
    args: Mapping[str, str | int] = field(default_factory=dict)
    severity: Severity = "error"


@dataclass(frozen=True, kw_only=True)
class WrittenCall:
    method: str
    method_in: str
    params: object
    params_in: str


def is_later(value: object) -> bool:
    """Return whether a placeholder makes it known only in the run."""
    if not isinstance(value, str):
        return False
    try:
        return bool(Template(value, SCENARIO).placeholders)
    except TemplateRefused:
        return True


def list_none(_raw: Raw) -> Sequence[Any]:
    return ()


def list_named(name: str, default: str) -> Callable[[Raw], Iterable[str]]:

    def list_outputs(raw: Raw) -> Iterable[str]:
        variable = raw.get(name) or default
        return (variable,) if isinstance(variable, str) and variable else ()

    return list_outputs


@dataclass(frozen=True, kw_only=True)
class StepType(Generic[P]):
    name: str
    summary: str
    params: type[P]
    perform: Callable[[StepCall[P]], Awaitable[StepResult]]
    example: JsonObject = field(default_factory=dict)
    """A correct step without its `type`, for the documentation; a test checks it."""
    needs: frozenset[str] = frozenset()
    """Required though `params`, which several types share, has a default."""
    ignores: frozenset[str] = frozenset()
    list_outputs: Callable[[Raw], Iterable[str]] = list_none
    """Variables that such a step sets; with dots a part of an object."""
    list_calls: Callable[[Raw], Iterable[WrittenCall]] = list_none
    """Calls of the portal, whose form is checked before anything runs."""
    list_writes: Callable[[Raw], Sequence[Write] | None] = list_none
    """Effects that such a step may submit; None if it cannot be told."""
    list_targets: Callable[[Raw], Iterable[tuple[tuple[str | int, ...], str]]] = list_none
    """(path inside of the parameters, id) of steps to which it may lead."""
    list_expressions: Callable[[Raw], Iterable[tuple[tuple[str | int, ...], str]]] = list_none
    """(path inside of the parameters, source), checked as conditions are."""
    list_uses: Callable[[Raw], Iterable[tuple[str, str]]] = list_none
    """(engine, key) of definitions that it starts."""
    list_mistakes: Callable[[Raw], Iterable[StepMistake]] = list_none
    list_addresses: Callable[[Raw], Iterable[tuple[tuple[str | int, ...], str]]] = list_none
    spoken: frozenset[str] = frozenset()
    """Texts for people: days, sums and telephones are filled in as they are spoken."""
    unfilled: frozenset[str] = frozenset()
    """Their placeholders are not this scenario's variables."""
    call_at: str = ""
    """Holds the parameters of the effect; "" if they are the step's own."""
    gives_text: Callable[[Raw], bool] = lambda _raw: False
    """What it sets are texts, which have no parts."""
    source: Literal["", "model", "person"] = ""
    """Who gives the values that it sets; "" for the program."""
    gives_blocks: bool = False
    """Blocks in its value are an author's; marks from elsewhere are escaped."""
    is_action: bool = False
    """`type: action` with this `action_type` is the same step (S000-52)."""
    waits: bool = False
    """It waits for people, time or others, so that a loop through it never runs hot."""
    asks: bool = False
    is_internal: bool = False
    """It gives whatever the company knows, which is nothing for customers."""
    decides: bool = False
    can_continue: Callable[[Raw], bool] = lambda _raw: True


AnyStepType = StepType[Any]
AnyStepCall = StepCall[Any]
