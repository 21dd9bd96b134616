"""Runes that make variables of variables: a script, a fixed value, and parts of texts (S003-41)."""

import re
from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field

from orchestrator.engines.workflows.definition import Names
from orchestrator.engines.workflows.rune_types import AnyRuneType, Local, RuneMistake, RuneParams, RuneType, list_placeholders
from orchestrator.expressions.paths import parse_path
from orchestrator.expressions.scripts.checking import is_variable_name


class ScriptParams(RuneParams):
    """A script, and the variables that it reads and gives."""

    source: str = Field(min_length=1, max_length=20_000, description="A script; the object in its last line gives the variables.")
    consumes: Names = Field(default_factory=list, description="The variables that it reads.")
    produces: Names = Field(default_factory=list, description="The variables that it gives.")


class SetParams(RuneParams):
    """What a variable is set to."""

    variable: Local = Field(description="The variable.")
    value: Any = Field(description="JSON data; its texts may hold {{variable}}.")


class ExtractionParams(RuneParams):
    """What is taken out of a text."""

    input: Local = Field(description="The variable that holds the text.")
    output: Local = Field(description="The variable that gets what was found.")


class TextParams(ExtractionParams):
    """The marks between which a part of a text stands."""

    after: str = Field("", max_length=1000, description="The mark behind which the part begins; without it at the start.")
    before: str = Field("", max_length=1000, description="The mark before which it ends; without it at the end.")


class JsonParams(ExtractionParams):
    """Which part of JSON is taken."""

    path: str = Field("", max_length=500, description="The part, such as items[0].title; without it all.")
    default: Any = Field(None, description="What the variable gets where there is no such part.")


class RegexParams(ExtractionParams):
    """Which expression is looked for."""

    pattern: str = Field(min_length=1, max_length=500, description="The expression, as Python's re reads it.")
    group: int | str = Field(0, description="The group that is taken: its number or name.")
    is_all: bool = Field(False, description="Whether all that is found is taken, as a list; otherwise the first, or null.")


def _list_input(params: ExtractionParams) -> tuple[str, ...]:
    return (params.input,)


def _list_output(params: ExtractionParams) -> tuple[str, ...]:
    return (params.output,)


def _find_script_mistakes(params: ScriptParams) -> Iterator[RuneMistake]:
    for index, name in enumerate(params.consumes):
        if not is_variable_name(name):
            yield RuneMistake(path=("consumes", index), code="finding-script-variable-word", args={"name": name})


def _find_path_mistakes(params: JsonParams) -> Iterator[RuneMistake]:
    if params.path and parse_path(f"all{params.path}" if params.path.startswith("[") else f"all.{params.path}") is None:
        yield RuneMistake(path=("path",), code="finding-rune-path", args={"name": params.path})


def _find_pattern_mistakes(params: RegexParams) -> Iterator[RuneMistake]:
    try:
        pattern = re.compile(params.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        yield RuneMistake(path=("pattern",), code="finding-rune-pattern", args={"problem": str(error)})
        return
    group = params.group
    if group not in pattern.groupindex if isinstance(group, str) else not 0 <= group <= pattern.groups:
        yield RuneMistake(path=("group",), code="finding-rune-group", args={"name": str(group)})


TYPES: Final[tuple[AnyRuneType, ...]] = (
    RuneType[ScriptParams](
        name="script",
        summary="Runs a script in the sandbox.",
        params=ScriptParams,
        example={
            "source": '{"total": sum(deal["sum"] for deal in deals), "count": len(deals)}',
            "consumes": ["deals"],
            "produces": ["total", "count"],
        },
        list_consumes=lambda params: params.consumes,
        list_produces=lambda params: params.produces,
        prepares=True,
        find_mistakes=_find_script_mistakes,
    ),
    RuneType[SetParams](
        name="set",
        summary="Sets a variable to a value that may be made of others.",
        params=SetParams,
        example={"variable": "greeting", "value": "Dear {{client}}"},
        list_reads=lambda params: list_placeholders(params.value),
        list_produces=lambda params: (params.variable,),
        prepares=True,
    ),
    RuneType[TextParams](
        name="text",
        summary="Takes what stands between two marks of a text; empty where the marks are not there.",
        params=TextParams,
        example={"input": "AiOutput", "after": "RESULT:", "before": "END", "output": "result"},
        list_consumes=_list_input,
        list_produces=_list_output,
        prepares=True,
    ),
    RuneType[JsonParams](
        name="json",
        summary="Takes JSON, or a part of it, out of a text such as the answer of a model.",
        params=JsonParams,
        example={"input": "AiOutput", "path": "items[0].title", "default": "", "output": "title"},
        list_consumes=_list_input,
        list_produces=_list_output,
        prepares=True,
        find_mistakes=_find_path_mistakes,
    ),
    RuneType[RegexParams](
        name="regex",
        summary="Finds a regular expression in a text.",
        params=RegexParams,
        example={"input": "mail", "pattern": r"\b\d{10}\b", "isAll": True, "output": "tax_numbers"},
        list_consumes=_list_input,
        list_produces=_list_output,
        prepares=True,
        find_mistakes=_find_pattern_mistakes,
    ),
)
