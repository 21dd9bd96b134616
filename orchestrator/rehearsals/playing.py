"""Plays one dialogue of a scenario and says how what came of it differs from what was expected."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from difflib import ndiff
from typing import Any, Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Reply
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.runs import RunResult
from orchestrator.engines.scenarios.checks import SYSTEM_NAMES
from orchestrator.engines.scenarios.engine import ScenarioEngine
from orchestrator.engines.scenarios.kind import KIND
from orchestrator.engines.scenarios.plan import StepTypes, build_plan
from orchestrator.engines.scenarios.step_types import AnyStepCall, AnyStepType, StepResult
from orchestrator.rehearsals.dialogue import Dialogue, Expected, ExpectedEffect
from orchestrator.rehearsals.rehearsal import PERSON, Happening, Rehearsal
from orchestrator.rehearsals.script import Script, ScriptEnded
from orchestrator.rehearsals.step_names import find_known_steps, name_steps
from state.canonical import dumps
from state.stored import JsonObject

BEGINS: Final = datetime(2026, 1, 12, 9, 0, tzinfo=UTC)
"""The moment at which the clock of a test begins, a Monday: a test must not depend on the day on which it runs."""
NoteCall = Callable[[AnyStepCall], None]
"""Is called before each step is done."""
PERSONS: Final[Origins] = frozenset({"person"})


@dataclass(frozen=True, kw_only=True)
class Played:
    """What came of a dialogue."""

    result: RunResult
    variables: JsonObject
    happenings: Sequence[Happening]
    visited: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The steps that were done, by the key of their scenario, each by its name."""
    problem: str = ""
    """Why the dialogue could not be played to its end; "" if it was."""
    left: int = 0
    """How many inputs were not asked for."""

    @property
    def own_variables(self) -> JsonObject:
        """The variables at the end without those that every run has."""
        return select_own_variables(self.variables)


def select_own_variables(variables: JsonObject) -> JsonObject:
    """Return the variables at the end of a scenario without those that every run has."""
    return {name: one for name, one in variables.items() if name not in {*SYSTEM_NAMES, "success"}}


async def play_dialogue(
    key: str, documents: Mapping[str, Any], types: StepTypes, dialogue: Dialogue, script: Script, *, now: datetime = BEGINS
) -> Played:
    """Return what comes of a dialogue with the scenario `key`; `documents` are all scenarios that there are, by key.

    It begins at `now`, or at the hour of `now` on the day that the dialogue names.
    """
    if dialogue.day:
        now = datetime.combine(date.fromisoformat(dialogue.day), now.timetz())
    visited: dict[str, set[str]] = {}

    def note(call: AnyStepCall) -> None:
        script.at = rehearsal.find_place(call.ctx.run.definition.key, call.node)
        visited.setdefault(script.at.definition, set()).add(script.at.step)

    engine = ScenarioEngine(trace_types(types, note), find_documents=script.find_documents)
    who = dialogue.person
    told = {"key": who.key, "name": who.name, "bitrix_user_id": who.employee, "time_zone": who.time_zone}
    person = Actor.model_validate({**PERSON.model_dump(), **told})
    names = find_known_steps(key, documents, types).names
    find = lambda kind, name: documents.get(name) if kind == KIND else None  # noqa: E731 - reads as the argument that it is
    rehearsal = Rehearsal({KIND: engine}, find, script, now=now, person=person, names=names)
    problem, result = "", RunResult(status="cancelled")
    try:
        result = await rehearsal.play(KIND, key, {name: Value(one, PERSONS) for name, one in dialogue.args.items()})
    except ScriptEnded as error:
        problem = str(error)
    variables = result.value.data if isinstance(result.value.data, Mapping) else {}
    steps = {name: frozenset(one) for name, one in visited.items()}
    return Played(result=result, variables=variables, happenings=script.happenings, visited=steps, problem=problem, left=script.left)


def trace_types(types: StepTypes, note: NoteCall) -> StepTypes:
    """Return the types with steps that call `note` before they do what they do."""
    return {name: replace(one, perform=_trace(one, note)) for name, one in types.items()}


def _trace(kind: AnyStepType, note: NoteCall) -> Callable[[AnyStepCall], Awaitable[StepResult]]:
    async def perform(call: AnyStepCall) -> StepResult:
        note(call)
        return await kind.perform(call)

    return perform


def list_steps(document: object, types: StepTypes) -> list[str]:
    """Return the steps of a scenario as `Played.visited` names them. Raises RunFailed for one that cannot be played."""
    return list(name_steps(build_plan(document, types)).values())


def list_messages(happenings: Sequence[Happening]) -> list[str]:
    """Return everything that the person read, in order."""
    return [say_reply(one) for one in happenings if one.kind in {"message", "question"}]


def say_reply(happening: Happening) -> str:
    """Return a message as a test holds it: its text, and sentences of the program as [their-code], in whatever language they are."""
    reply = happening.reply or Reply()
    return "\n".join([*([happening.text] if happening.text else []), *(f"[{one.code}]" for one in reply.notices)])


def list_effects(happenings: Sequence[Happening]) -> list[ExpectedEffect]:
    """Return the effects that were asked for, in order."""
    told = [one for one in happenings if one.kind == "effect"]
    return [ExpectedEffect(step=one.place.step, method=one.data["method"], params=one.data["params"]) for one in told]


def compare(expect: Expected, played: Played) -> list[str]:
    """Return how what came differs from what was expected, as lines to read; none if it does not."""
    return list(_compare(expect, played))


def _compare(expect: Expected, played: Played) -> Iterator[str]:
    yield from _compare_ends(expect, played)
    if expect.messages is not None:
        yield from _compare_lists("messages", expect.messages, list_messages(played.happenings))
    if expect.effects is not None:
        came_effects = list_effects(played.happenings)
        if len(came_effects) != len(expect.effects) or not all(map(_is_effect_fitting, expect.effects, came_effects)):
            yield from _compare_lists("effects", list(map(_write_effect, expect.effects)), list(map(_write_effect, came_effects)))


def _compare_ends(expect: Expected, played: Played) -> Iterator[str]:
    """Return how the end differs: the outcome, the variables, and whether every input was asked for."""
    if played.problem:
        yield played.problem
        return
    result = played.result
    if expect.outcome != result.status or (expect.code and expect.code != result.code):
        wanted, came = f"{expect.outcome} {expect.code}".strip(), f"{result.status} {result.code}".strip()
        details = [one.text for one in played.happenings if one.kind == "failure" and one.text]
        yield f"outcome: expected {wanted}, came {came}{f' ({details[-1]})' if details else ''}"
    for name, value in expect.variables.items():
        if name not in played.variables:
            yield f"variables.{name}: expected {dumps(value)}, and nothing set it"
        elif dumps(played.variables[name]) != dumps(value):
            yield f"variables.{name}: expected {dumps(value)}, came {dumps(played.variables[name])}"
    if played.left:
        yield f"inputs: the last {played.left} were not asked for"


def _compare_lists(name: str, expected: Sequence[str], came: Sequence[str]) -> Iterator[str]:
    """Return the lines of both lists with what is only in the one (-) or the other (+); none if they are equal."""
    if list(expected) == list(came):
        return
    yield f"{name}: - expected, + came"
    wanted, found = ([one.replace("\n", " ⏎ ") for one in lines] for lines in (expected, came))
    yield from (f"  {line}" for line in ndiff(wanted, found) if not line.startswith("?"))


def _is_effect_fitting(wanted: ExpectedEffect, came: ExpectedEffect) -> bool:
    is_right = wanted.method == came.method and wanted.step in {None, came.step}
    return is_right and (wanted.params is None or dumps(wanted.params) == dumps(came.params))


def _write_effect(effect: ExpectedEffect) -> str:
    where = f"{effect.step}: " if effect.step else ""
    return f"{where}{effect.method}" + (f" {dumps(effect.params)}" if effect.params is not None else "")
