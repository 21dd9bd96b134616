"""The interface between the engine and the types of runes, of which plugins may add others (S003-5 … S003-7).

A type says what the parameters of its runes are, and which variables a rune with these parameters reads and gives.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from orchestrator.domain.finding import Path
from orchestrator.engines.workflows.definition import VARIABLE
from orchestrator.expressions.placeholders import WORKFLOW, Template, TemplateRefused
from state.stored import JsonObject

Local = Annotated[str, Field(pattern=VARIABLE)]
"""The name of a local variable."""
PROMPTS: Final = "Prompts"
"""The local list of messages to which prompt runes add, and with which models are asked (S003-X7)."""


class RuneParams(BaseModel):
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


@dataclass(frozen=True, kw_only=True)
class RuneType(Generic[P]):
    """One type of runes."""

    name: str
    summary: str
    """What it does, in a sentence for authors."""
    params: type[P]
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
    """Whether it proposes operations."""
    is_terminal: bool = False
    """Whether it makes the result of the workflow: there is one, in a tuum on which none depends (S003-X6)."""
    find_mistakes: Callable[[P], Iterable[RuneMistake]] = find_no_mistakes
    """Returns what is wrong with parameters of the right form, such as an expression that cannot be read."""


AnyRuneType = RuneType[Any]
RuneTypes = dict[str, AnyRuneType]
