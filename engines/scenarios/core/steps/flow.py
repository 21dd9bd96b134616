"""The steps that lead a scenario: start, end, branch, wait, variables, sub-scenarios, log (S000-30…54)."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import Any, Final

from pydantic import Field

from engines.scenarios.core.definition import ABOUT_PERSON, GIVEN_WINS, RESERVED
from engines.scenarios.core.steering import CANCELLED
from engines.scenarios.core.step_types import (
    AUTHOR,
    DONE,
    AnyStepCall,
    Raw,
    StepCall,
    StepMistake,
    StepParams,
    StepResult,
    StepType,
    VariableName,
    Words,
    list_fields,
    mark_author,
)
from engines.scenarios.core.variables import DECIDED_BY, NEVER_HANDED_ON, Variables
from orchestrator.domain.finding import DefinitionRefused
from orchestrator.domain.taint import FOREIGN, Value, join_origins, split_values
from orchestrator.engines.runs import RunFailed, RunResult
from orchestrator.expressions.conditions import Condition, ConditionFailed, compile_condition
from orchestrator.expressions.placeholders import SCENARIO, Template
from state.stored import JsonObject

ENGINE: Final = "scenario"
LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class NoParams(StepParams):
    """No parameters."""


class WaitParams(StepParams):
    """How long to wait."""

    seconds: float = Field(ge=0, le=366 * 86_400, description="How many seconds to wait.")


class UpdateContextParams(StepParams):
    """Which variables get which values."""

    updates: dict[VariableName, Any] = Field(description="New values by variable; a.b sets a part of an object.")


class CalculateParams(StepParams):
    """Which variables get the values of which expressions."""

    values: dict[str, str] = Field(min_length=1, description="An expression by variable, such as due: add_days(today, 7).")


class LogMessageParams(StepParams):
    """What is written to the log."""

    message: Words = Field(description="The line.")
    level: str = Field("INFO", description="DEBUG, INFO, WARNING, ERROR or CRITICAL.")


class SubScenarioParams(StepParams):
    """Which scenario runs inside of this one, and what they exchange."""

    sub_scenario_id: str = Field(min_length=1, description="The key of the scenario.")
    input_parameters: JsonObject = Field(default_factory=dict, description="Variables for it, beside its own initial ones.")
    output_mapping: dict[VariableName, Any] | list[VariableName] | None = Field(
        None, description="Which of its variables this scenario takes over; without it all of them."
    )


async def _do_nothing(_call: StepCall[NoParams]) -> StepResult:
    return DONE


async def _end(_call: StepCall[NoParams]) -> StepResult:
    return StepResult(ends=True)


async def _decide(call: StepCall[NoParams]) -> StepResult:
    """Raises RunFailed if the condition cannot be evaluated: no branch is taken by accident (S000-A4)."""
    if call.condition is None:
        raise call.fail("scenario-condition-failed", "the branch has no condition")
    try:
        holds = call.condition.decide(call.variables.values)
    except ConditionFailed as error:
        raise call.fail("scenario-condition-failed", str(error), column=error.finding.column) from None
    call.variables.note_decision(holds)
    branches = call.step.branches or {}
    return StepResult(next_step=branches.get("if" if holds.data else "else"))


async def _wait(call: StepCall[WaitParams]) -> StepResult:
    ctx = call.ctx
    until = await ctx.memo(f"{call.node}/until", lambda: _add_seconds(ctx.now, call.params.seconds), origins=AUTHOR)
    await ctx.sleep(call.node, datetime.fromisoformat(until.data))
    return DONE


async def _add_seconds(now: datetime, seconds: float) -> str:
    return (now + timedelta(seconds=seconds)).isoformat()


async def _update_context(call: StepCall[UpdateContextParams]) -> StepResult:
    """All placeholders are filled from the variables as before (S000-48)."""
    fields = list_fields(call.filled["updates"])
    return StepResult(changes={name: _gather(mark_author(field)) for name, field in fields.items()})


async def _calculate(call: StepCall[CalculateParams]) -> StepResult:
    """All expressions read the variables as before. Raises RunFailed for one that makes no sense."""
    changes: dict[str, Value] = {}
    for name, source in call.params.values.items():
        try:
            computed = _compile(source).compute(call.variables.values)
        except (ConditionFailed, DefinitionRefused) as error:
            raise call.fail("scenario-calculation-failed", f"{name}: {error}", name=name) from None
        changes[name] = Value(computed.data, computed.origins | AUTHOR)
    return StepResult(changes=changes)


@lru_cache(maxsize=1024)
def _compile(source: str) -> Condition:
    return compile_condition(source)


def _gather(tree: Any) -> Value:
    if isinstance(tree, Value):
        return tree
    if isinstance(tree, Mapping):
        parts = {key: _gather(one) for key, one in tree.items()}
        return Value({key: one.data for key, one in parts.items()}, AUTHOR.union(*(one.origins for one in parts.values())))
    items = [_gather(one) for one in tree]
    return Value([one.data for one in items], AUTHOR.union(*(one.origins for one in items)))


async def _log(call: StepCall[LogMessageParams]) -> StepResult:
    """An unknown level is INFO, and named in the line (S000-X17)."""
    level = call.params.level.upper()
    text = call.params.message if level in LEVELS else f"({call.params.level}) {call.params.message}"
    call.surroundings.note(getattr(logging, level) if level in LEVELS else logging.INFO, text)
    return DONE


async def _run_sub_scenario(call: StepCall[SubScenarioParams]) -> StepResult:
    """Take over what the mapping says. Raises RunFailed if the scenario fails (S000-X11)."""
    params = call.params
    if join_origins(split_values(call.filled["sub_scenario_id"])[1]) & FOREIGN:  # text of strangers must not choose what is done
        raise call.fail("scenario-value-unfit", "sub_scenario_id comes from text of strangers", name="sub_scenario_id")
    child_args = {name: _gather(mark_author(field)) for name, field in list_fields(call.filled.get("input_parameters", {})).items()}
    if call.variables.decided_by:
        child_args[DECIDED_BY] = Value(None, call.variables.decided_by)
    ended = await call.ctx.child(call.node, ENGINE, params.sub_scenario_id, child_args)
    if (ended.status, ended.code) == ("cancelled", CANCELLED):  # by its person, at a question of its own
        return StepResult(cancels=True)
    if ended.status != "done":
        raise fail_with_child(call, ended, ENGINE, params.sub_scenario_id)
    if params.output_mapping is None:
        text = f"step {call.node} has no output_mapping: {params.sub_scenario_id} overwrites all variables of the same names"
        call.surroundings.note(logging.WARNING, text)
    changes = map_outputs(params.output_mapping, ended.value)
    if params.output_mapping is None and call.ctx.run.definition.edition >= GIVEN_WINS:
        changes = {name: value for name, value in changes.items() if not _is_usual(name, value, call.variables)}
    return StepResult(changes=changes)


def _is_usual(name: str, value: Value, variables: Variables) -> bool:
    return name in ABOUT_PERSON and value.data == variables.values[RESERVED + name].data


def fail_with_child(call: AnyStepCall, ended: RunResult, engine: str, key: str) -> RunFailed:
    detail = f"the {engine} {key} ended as {ended.status} {ended.code}"
    return call.fail("scenario-child-failed", detail, kind=engine, child=ended.title or key).explain(ended)


def map_outputs(mapping: JsonObject | list[str] | None, context: Value) -> Mapping[str, Value]:
    """Take over final variables of a sub-scenario (S000-39…42, S000-A8)."""
    known = context.data if isinstance(context.data, Mapping) else {}
    if mapping is None:
        names = [name for name in known if not name.startswith(RESERVED) and name not in NEVER_HANDED_ON]
        return {name: context.get(name) for name in names}
    if isinstance(mapping, list):
        return {name: context.get(name) for name in mapping if not name.startswith(RESERVED) and name not in NEVER_HANDED_ON}
    values = {name: context.get(name) for name in known}
    return {name: _map_output(source, known, values) for name, source in mapping.items()}


def _map_output(source: Any, known: JsonObject, values: Mapping[str, Value]) -> Value:
    if isinstance(source, str) and source in known:
        return values[source]
    template = Template(source, SCENARIO)
    filled = template.fill(values)
    if filled.missing and template.is_lone:  # it names nothing (S000-A8); in a longer text it stays as it is written (S000-X2)
        return Value(None, AUTHOR)
    return _gather(mark_author(filled.data))


def _list_updates(raw: Raw) -> Iterable[str]:
    updates = raw.get("updates")
    return (str(name) for name in updates) if isinstance(updates, Mapping) else ()


def _list_update_mistakes(raw: Raw, field: str) -> Iterator[StepMistake]:
    """A variable and a part of it, set by one step: which comes last is not to be seen."""
    fields = raw.get(field)
    names = [str(name) for name in fields] if isinstance(fields, Mapping) else []
    for name in names:
        whole = next((one for one in names if name.startswith(f"{one}.")), None)
        if whole is not None:
            yield StepMistake(path=(field, name), code="finding-update-twice", args={"name": name, "whole": whole}, severity="warning")


def _list_calculated(raw: Raw) -> Iterable[str]:
    values = raw.get("values")
    return (str(name) for name in values) if isinstance(values, Mapping) else ()


def _list_expressions(raw: Raw) -> Iterable[tuple[tuple[str | int, ...], str]]:
    values = raw.get("values")
    expressions = values.items() if isinstance(values, Mapping) else ()
    return ((("values", name), source) for name, source in expressions if isinstance(source, str))


def list_mapped(raw: Raw) -> Iterable[str]:
    mapping = raw.get("output_mapping")
    return (str(name) for name in mapping) if isinstance(mapping, Mapping | list) else ()


def _list_sub_scenarios(raw: Raw) -> Iterable[tuple[str, str]]:
    key = raw.get("sub_scenario_id")
    return ((ENGINE, key),) if isinstance(key, str) and key and not Template(key, SCENARIO).placeholders else ()


START: Final = StepType(
    name="start", summary="Does nothing: a place to begin.", params=NoParams, perform=_do_nothing, example={"id": "begin"}
)
END: Final = StepType(
    name="end", summary="Ends the scenario.", params=NoParams, perform=_end, example={"id": "bye"}, can_continue=lambda _raw: False
)
BRANCH: Final = StepType(
    name="branch",
    summary="Goes one of two ways by a condition.",
    params=NoParams,
    perform=_decide,
    example={"condition": "budget >= 100000", "branches": {"if": "large", "else": "small"}},
    decides=True,
)
WAIT: Final = StepType(
    name="wait", summary="Waits, also over restarts.", params=WaitParams, perform=_wait, example={"params": {"seconds": 3600}}, waits=True
)
UPDATE_CONTEXT: Final = StepType(
    name="update_context",
    summary="Sets variables.",
    params=UpdateContextParams,
    perform=_update_context,
    example={"params": {"updates": {"stage": "new", "deal.title": "{company}"}}},
    list_outputs=_list_updates,
    list_mistakes=partial(_list_update_mistakes, field="updates"),
    is_action=True,
)
CALCULATE: Final = StepType(
    name="calculate",
    summary="Sets variables to the values of expressions.",
    params=CalculateParams,
    perform=_calculate,
    example={"params": {"values": {"due": "add_days(today, 7)"}}},
    list_outputs=_list_calculated,
    list_expressions=_list_expressions,
    list_mistakes=partial(_list_update_mistakes, field="values"),
    unfilled=frozenset({"values"}),
    is_action=True,
)
LOG_MESSAGE: Final = StepType(
    name="log_message",
    summary="Writes a line to scenario_executor.log.",
    params=LogMessageParams,
    perform=_log,
    example={"params": {"message": "{user_id} chose {plan}", "level": "INFO"}},
    is_action=True,
)
SUB_SCENARIO: Final = StepType(
    name="execute_sub_scenario",
    summary="Runs another scenario inside of this one.",
    params=SubScenarioParams,
    perform=_run_sub_scenario,
    example={"params": {"sub_scenario_id": "ask_phone", "input_parameters": {"who": "{client}"}, "output_mapping": ["phone"]}},
    list_outputs=list_mapped,
    list_uses=_list_sub_scenarios,
    unfilled=frozenset({"output_mapping"}),
    waits=True,
)
TYPES: Final = (START, END, BRANCH, WAIT, UPDATE_CONTEXT, CALCULATE, LOG_MESSAGE, SUB_SCENARIO)
