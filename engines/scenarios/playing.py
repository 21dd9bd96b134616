"""The form of a test of a scenario, which stands beside it as `NAME.test.yaml`, and how its dialogues are played and compared."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import Field

from engines.scenarios.core.checks import SYSTEM_NAMES
from engines.scenarios.core.definition import ABOUT_PERSON
from engines.scenarios.core.engine import ScenarioEngine
from engines.scenarios.core.kind import KIND
from engines.scenarios.core.plan import Plan, StepTypes, build_plan
from engines.scenarios.core.step_types import AnyStepCall, AnyStepType, StepResult
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Finding, Path
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunFailed, RunResult
from orchestrator.rehearsals.case import BEGINS, PERSONS, Case, ExpectedEffect, FilePart, KnownSteps, Names, build_actor
from orchestrator.rehearsals.comparing import (
    compare_effects,
    compare_left,
    compare_lists,
    compare_outcome,
    compare_values,
    list_effects,
    list_messages,
)
from orchestrator.rehearsals.rehearsal import Happening, Rehearsal
from orchestrator.rehearsals.script import Script, play_script
from state.stored import JsonObject

_SUB_SCENARIO: Final = "execute_sub_scenario"
_SUB_SCENARIO_ID: Final = "sub_scenario_id"


def name_steps(plan: Plan) -> Names:
    """The author's id, or `step-3` for the third step without one, or `#3` if that is an id of another."""
    ids = {planned_step.step.id for planned_step in plan.steps}
    return {one.label: one.step.id or (one.label if one.label not in ids else f"#{one.index + 1}") for one in plan.steps}


def find_known_steps(key: str, documents: Mapping[str, Any], types: StepTypes) -> KnownSteps:
    """Names in a scenario and those that it may start; `documents` are all. A name known only in the run may be any scenario."""
    names: dict[str, Names] = {}
    left = [key]
    while left:
        scenario_key = left.pop()
        document = documents.get(scenario_key)
        if scenario_key in names or document is None:
            continue
        try:
            plan = build_plan(document, types)
        except RunFailed:
            names[scenario_key] = {}
            continue
        names[scenario_key] = name_steps(plan)
        left += _list_started(plan, documents)
    return KnownSteps(key, names)


def _list_started(plan: Plan, documents: Mapping[str, Any]) -> Iterator[str]:
    for planned_step in plan.steps:
        started_key = planned_step.step.params.get(_SUB_SCENARIO_ID) if planned_step.type.name == _SUB_SCENARIO else None
        if isinstance(started_key, str):
            yield from documents if "{" in started_key else (started_key,)


class Expected(FilePart):
    """What must come of a dialogue. What is left out is not looked at."""

    outcome: Literal["done", "failed", "cancelled"] = "done"
    code: str = Field("", description="The code of the failure.")
    messages: list[str] | None = Field(
        None, description="Everything that the person reads, in order; a sentence of the program as [its-code]."
    )
    variables: JsonObject = Field(default_factory=dict, description="Variables at the end; others are not looked at.")
    effects: list[ExpectedEffect] | None = Field(None, description="All effects, in order.")


class Dialogue(Case):
    """One dialogue."""

    args: JsonObject = Field(default_factory=lambda: {"text": ""}, description="What it is started with; without it as by a bare /run.")
    mocks: dict[str, Any] = Field(default_factory=dict, description="What models, effects, documents and agents give, by step.")
    expect: Expected = Field(default_factory=Expected)

    def choose_mocks(self, _place: object, _kind: object) -> tuple[str, Mapping[str, Any]]:
        return "mocks", self.mocks


class DialogueFile(FilePart):
    """All dialogues of one scenario."""

    dialogues: list[Dialogue] = Field(min_length=1, max_length=1000)


def check_dialogue(document: Document, known: KnownSteps) -> Iterable[Finding]:
    findings = Findings(document)
    if report_model_mistakes(findings, Dialogue, document.data, ()):
        _check_steps(findings, known, Dialogue.model_validate(document.data), ())
    return findings.list_all()


def check_dialogues(document: Document, known: KnownSteps) -> Iterable[Finding]:
    """Return all mistakes; unknown steps are looked for when nothing else is wrong."""
    findings = Findings(document)
    if report_model_mistakes(findings, DialogueFile, document.data, ()):
        for index, dialogue in enumerate(DialogueFile.model_validate(document.data).dialogues):
            _check_steps(findings, known, dialogue, ("dialogues", index))
    return findings.list_all()


def _check_steps(findings: Findings, known: KnownSteps, dialogue: Dialogue, path: Path) -> None:
    for name in dialogue.mocks:
        known.report_unknown(findings, (*path, "mocks", name), name, may_be_keyed=True)
    known.report_unknown_effects(findings, (*path, "expect", "effects"), dialogue.expect.effects)


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
    result, problem = await play_script(rehearsal, KIND, key, {name: Value(arg, PERSONS) for name, arg in dialogue.args.items()})
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
        yield from compare_left(played.left)
    yield from compare_lists("messages", expect.messages, list_messages(played.happenings))
    yield from compare_effects("effects", expect.effects, list_effects(played.happenings))
