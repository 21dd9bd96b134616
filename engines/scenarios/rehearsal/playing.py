"""Plays one dialogue of a scenario and compares what came with what was expected."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from engines.scenarios.core.checks import SYSTEM_NAMES
from engines.scenarios.core.definition import ABOUT_PERSON
from engines.scenarios.core.engine import ScenarioEngine
from engines.scenarios.core.kind import KIND
from engines.scenarios.core.plan import StepTypes, build_plan
from engines.scenarios.core.step_types import AnyStepCall, AnyStepType, StepResult
from engines.scenarios.rehearsal.dialogue import Dialogue, Expected
from engines.scenarios.rehearsal.step_names import find_known_steps, name_steps
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunResult
from orchestrator.rehearsals.beginning import BEGINS, PERSONS, build_actor
from orchestrator.rehearsals.comparing import compare_effects, compare_lists, compare_outcome, compare_values, list_effects, list_messages
from orchestrator.rehearsals.rehearsal import Happening, Rehearsal
from orchestrator.rehearsals.script import Script, ScriptEnded
from state.stored import JsonObject

NoteCall = Callable[[AnyStepCall], AnyStepCall]
"""Called before each step; returns the call with which it is done."""


@dataclass(frozen=True, kw_only=True)
class Played:
    result: RunResult
    variables: JsonObject
    """At the end, or at the step at which it failed or stopped."""
    happenings: Sequence[Happening]
    visited: Mapping[str, frozenset[str]] = field(default_factory=dict)
    problem: str = ""
    """Why the dialogue could not be played to its end; "" if it was."""
    left: int = 0
    given: frozenset[str] = frozenset()
    """Variables that its author or the start gave."""

    @property
    def own_variables(self) -> JsonObject:
        """Without those that every run has."""
        return select_own_variables(self.variables, self.given)


def select_own_variables(variables: JsonObject, given_names: frozenset[str]) -> JsonObject:
    """Leave out variables that every run has, unless their values were given."""
    usual = {*SYSTEM_NAMES, "success"} - (given_names & ABOUT_PERSON)
    return {name: variable for name, variable in variables.items() if name not in usual}


def find_given(document: object, dialogue: Dialogue) -> frozenset[str]:
    initial = document.get("initial_context") if isinstance(document, Mapping) else None
    return frozenset((*dialogue.args, *(initial if isinstance(initial, Mapping) else ())))


async def play_dialogue(
    key: str, documents: Mapping[str, Any], types: StepTypes, dialogue: Dialogue, script: Script, *, now: datetime = BEGINS
) -> Played:
    """Play the scenario `key`; `documents` are all scenarios by key."""
    now = dialogue.find_start(now)
    visited: dict[str, set[str]] = {}
    lines: set[tuple[str, str, str]] = set()
    last: dict[str, JsonObject] = {}
    """At the step begun last, of the run that was started first."""

    def note(call: AnyStepCall) -> AnyStepCall:
        script.at = rehearsal.find_place(call.ctx.run.definition.key, call.node)
        visited.setdefault(script.at.definition, set()).add(script.at.step)
        if not call.ctx.run.parent:
            last["variables"] = call.variables.to_value().data

        def tell(level: int, text: str, /) -> None:
            call.surroundings.note(level, text)
            if (line := (call.ctx.run.run_id, call.node, text)) not in lines:  # each pass begins at the first step
                lines.add(line)
                place = rehearsal.find_place(call.ctx.run.definition.key, call.node)
                script.tell(Happening(kind="log", place=place, text=text, data=logging.getLevelName(level)))

        return replace(call, surroundings=replace(call.surroundings, note=tell))

    engine = ScenarioEngine(trace_types(types, note), find_documents=script.find_documents)
    names = find_known_steps(key, documents, types).names
    find = lambda kind, name: documents.get(name) if kind == KIND else None  # noqa: E731 - reads as the argument that it is
    rehearsal = Rehearsal({KIND: engine}, find, script, now=now, person=build_actor(dialogue.person), names=names)
    problem, result = "", RunResult(status="cancelled")
    try:
        result = await rehearsal.play(KIND, key, {name: Value(arg, PERSONS) for name, arg in dialogue.args.items()})
    except ScriptEnded as error:
        problem = str(error)
    ended = result.value.data if isinstance(result.value.data, Mapping) else {}
    variables = ended if result.status == "done" and not problem else {**last.get("variables", {}), **ended}
    steps = {name: frozenset(one) for name, one in visited.items()}
    return Played(
        result=result,
        variables=variables,
        happenings=script.happenings,
        visited=steps,
        problem=problem,
        left=script.left,
        given=find_given(documents.get(key), dialogue),
    )


def trace_types(types: StepTypes, note: NoteCall) -> StepTypes:
    return {name: replace(type_, perform=_trace(type_, note)) for name, type_ in types.items()}


def _trace(kind: AnyStepType, note: NoteCall) -> Callable[[AnyStepCall], Awaitable[StepResult]]:
    async def perform(call: AnyStepCall) -> StepResult:
        return await kind.perform(note(call))

    return perform


def list_steps(document: object, types: StepTypes) -> list[str]:
    """As `Played.visited` names them. Raises RunFailed."""
    return list(name_steps(build_plan(document, types)).values())


def compare(expect: Expected, played: Played) -> list[str]:
    """Lines to read; none without a difference."""
    return list(_compare(expect, played))


def _compare(expect: Expected, played: Played) -> Iterator[str]:
    if played.problem:
        yield played.problem
    else:
        yield from compare_outcome(expect.outcome, expect.code, played.result, played.happenings)
        yield from compare_values("variables", expect.variables, played.variables)
        if played.left:
            yield f"inputs: the last {played.left} were not asked for"
    if expect.messages is not None:
        yield from compare_lists("messages", expect.messages, list_messages(played.happenings))
    if expect.effects is not None:
        yield from compare_effects("effects", expect.effects, list_effects(played.happenings))
