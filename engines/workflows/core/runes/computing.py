"""Runes that make variables of variables: script, fixed value, parts of texts (S003-41)."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from engines.workflows.core.definition import Names, Script
from engines.workflows.core.rune_types import (
    AUTHOR,
    AnswerUnfit,
    AnyRuneType,
    Changes,
    Local,
    RuneCall,
    RuneMistake,
    RuneParams,
    RuneType,
    list_placeholders,
)
from orchestrator.domain.taint import Value, join_origins, split_values
from orchestrator.engines.shared.model_json import JsonUnreadable, check_required, find_part, parse_part_path, read_model_json
from orchestrator.expressions.placeholders import format_value
from orchestrator.expressions.scripts.checking import is_variable_name

Path = Annotated[str, Field(max_length=500)]


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

    path: Path = Field("", description="The part, such as items[0].title; without it all.")
    default: Any = Field(None, description="What the variable gets where there is no such part.")
    required: list[Path] = Field(default_factory=list, max_length=50, description="What must be there and not null, such as client.name.")


class RegexParams(ExtractionParams):
    """Which expression is looked for."""

    pattern: str = Field(min_length=1, max_length=500, description="The expression, as Python's re reads it.")
    group: int | str = Field(0, description="The group that is taken: its number or name.")
    is_all: bool = Field(False, description="Whether all that is found is taken, as a list; otherwise the first, or null.")


async def _run_script(call: RuneCall[ScriptParams]) -> Changes:
    params = call.params
    script = Script.model_validate({"source": params.source, "consumes": params.consumes, "produces": params.produces})
    return await call.work.run_script(call.node, script, call.variables)


async def _set(call: RuneCall[SetParams]) -> Changes:
    data, values = split_values(call.fill(call.params.value))
    return {call.params.variable: Value(data, join_origins(values) | AUTHOR)}


async def _take_text(call: RuneCall[TextParams]) -> Changes:
    params = call.params

    def take(raw: Any) -> str:
        text = format_value(raw)
        _, mark, behind = text.partition(params.after) if params.after else ("", "-", text)
        part, end, _ = behind.partition(params.before) if params.before else (behind, "-", "")
        return part.strip() if mark and end else ""

    return {params.output: call.find(params.input).map(take)}


async def _take_json(call: RuneCall[JsonParams]) -> Changes:
    """An unreadable answer is asked for again. Raises AnswerUnfit, unless the author gives a default."""
    params, source = call.params, call.find(call.params.input)
    has_default = "default" in params.model_fields_set and not params.required
    changes: dict[str, Value] = {}
    while params.output not in changes:
        try:
            changes[params.output] = _read_part(params, source)
        except JsonUnreadable as error:
            again = None if has_default and error.is_absent else await call.work.ask_again(source, str(error))
            if again is not None:
                source = changes[params.input] = again
            elif has_default:
                changes[params.output] = Value(params.default, source.origins | AUTHOR)
            else:
                raise AnswerUnfit(f"{call.node}: {params.input}: {error}") from None
    return changes


def _read_part(params: JsonParams, source: Value) -> Value:
    """Raises JsonUnreadable."""
    text = source.data
    data = read_model_json(text, lambda data: find_part(data, params.path).is_there) if isinstance(text, str) else text
    check_required(data, params.required)
    part = find_part(data, params.path).value
    return Value(params.default, source.origins | AUTHOR) if part is None else Value(part, source.origins)


async def _find_pattern(call: RuneCall[RegexParams]) -> Changes:
    params = call.params
    matches = await call.work.search_pattern(call.node, params.pattern, call.find(params.input), is_all=params.is_all)
    parts = [_take_group(call, match) for match in matches.data]
    return {params.output: Value(parts if params.is_all else parts[0] if parts else None, matches.origins)}


def _take_group(call: RuneCall[RegexParams], match: Mapping[str, Any]) -> Any:
    group = call.params.group
    groups = match["names"] if isinstance(group, str) else match["groups"]
    try:
        return groups[group]
    except LookupError:
        raise call.fail(f"the pattern has no group {group}") from None


def _list_input(params: ExtractionParams) -> tuple[str, ...]:
    return (params.input,)


def _list_output(params: ExtractionParams) -> tuple[str, ...]:
    return (params.output,)


def _find_script_mistakes(params: ScriptParams) -> Iterator[RuneMistake]:
    for index, name in enumerate(params.consumes):
        if not is_variable_name(name):
            yield RuneMistake(path=("consumes", index), code="finding-script-variable-word", args={"name": name})


def _find_path_mistakes(params: JsonParams) -> Iterator[RuneMistake]:
    if parse_part_path(params.path) is None:
        yield RuneMistake(path=("path",), code="finding-rune-path", args={"name": params.path})
    for place, path in enumerate(params.required):
        if not path or parse_part_path(path) is None:
            yield RuneMistake(path=("required", place), code="finding-rune-path", args={"name": path})


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
        perform=_run_script,
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
        perform=_set,
        example={"variable": "greeting", "value": "Dear {{client}}"},
        list_reads=lambda params: list_placeholders(params.value),
        list_produces=lambda params: (params.variable,),
        prepares=True,
    ),
    RuneType[TextParams](
        name="text",
        summary="Takes what stands between two marks of a text; empty where the marks are not there.",
        params=TextParams,
        perform=_take_text,
        example={"input": "AiOutput", "after": "RESULT:", "before": "END", "output": "result"},
        list_consumes=_list_input,
        list_produces=_list_output,
        prepares=True,
    ),
    RuneType[JsonParams](
        name="json",
        summary="Takes JSON, or a part of it, out of a text such as the answer of a model.",
        params=JsonParams,
        perform=_take_json,
        example={"input": "AiOutput", "path": "client.name", "required": ["client.name", "sum"], "output": "client"},
        list_consumes=_list_input,
        list_produces=_list_output,
        prepares=True,
        find_mistakes=_find_path_mistakes,
    ),
    RuneType[RegexParams](
        name="regex",
        summary="Finds a regular expression in a text.",
        params=RegexParams,
        perform=_find_pattern,
        example={"input": "mail", "pattern": r"\b\d{10}\b", "isAll": True, "output": "tax_numbers"},
        list_consumes=_list_input,
        list_produces=_list_output,
        prepares=True,
        find_mistakes=_find_pattern_mistakes,
    ),
)
