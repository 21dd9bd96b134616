"""Fills in "@created:N", the record that step N of the same plan creates, once that step has run.

While step N waits for a person, the steps that need its record wait with it. They are shown on its card, and are submitted when the turn
goes on after the card.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from engines.crm_agent.core.plan import REFERENCE_SIGN, PlannedStep, replace_references
from orchestrator.directory.answers import Resolution, Resolved, Unresolved
from orchestrator.directory.created_references import REFERENCE
from orchestrator.domain.effect import STAND_IN, FollowingStep
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import TurnContext

Submitted = Outcome | Pending | Literal["waits", "problem"]
"""What came of a step of the plan so far: its outcome, its card, that it waits for another step's record, or that it was not submitted."""
_NONE: Final = Notice(code="created-none")
_UNNAMED: Final = Notice(code="created-unnamed")
_MAY_EXIST: Final = frozenset({"succeeded", "unknown"})
"""Statuses of a step whose record may be there, though its number is not known."""


@dataclass(frozen=True, kw_only=True)
class Waits:
    """A step cannot be submitted yet: the record that it needs is made by step `number`, which waits for a person."""

    number: int


def find_created(value: object) -> list[int]:
    """Return the numbers of the steps whose new records the values refer to, in order and without duplicates."""
    return list(dict.fromkeys(number for _, number in _list_references(value)))


async def fill_created(ctx: TurnContext, planned: PlannedStep, results: Mapping[int, Submitted]) -> PlannedStep | Waits:
    """Return the step with the numbers of new records in place of its references, or with a problem; or the step that it waits for.

    `results` holds what came of the earlier steps of the plan by their number.
    """
    if REFERENCE_SIGN not in str(planned.step.params):
        return planned
    values: dict[str, object] = {}
    for reference, number in _list_references(planned.step.params):
        result = results.get(number)
        if isinstance(result, Pending) or result == "waits":
            return Waits(number=number)
        if not isinstance(result, Outcome) or not result.created:
            return replace(planned, problem=_build_problem(reference, number, result))
        resolution: Resolution = await _place(ctx, planned, reference, result.created)
        if not isinstance(resolution, Resolved):
            return replace(planned, problem=resolution if isinstance(resolution, Unresolved) else _build_problem(reference, number, result))
        values[reference] = resolution.value
    step = planned.step
    return replace(planned, step=replace(step, params=replace_references(step.params, values))) if values else planned


async def list_following(ctx: TurnContext, plan: Sequence[PlannedStep], number: int) -> tuple[FollowingStep, ...]:
    """Return the steps of the plan that need the record which step `number` creates, with a stand-in for the record's number."""
    if number == len(plan):
        return ()
    made = await ctx.query("kind", method=plan[number - 1].step.method, params=plan[number - 1].step.params)
    steps: list[FollowingStep] = []
    for planned in plan[number:]:
        step = planned.step
        references = [reference for reference, needed in _list_references(step.params) if needed == number]
        if not references or planned.problem is not None or find_created(step.params) != [number]:
            continue
        places = {reference: await _place(ctx, planned, reference, f"{made}:{STAND_IN}") for reference in references}
        if all(isinstance(place, Resolved) for place in places.values()):
            values = {reference: place.value for reference, place in places.items() if isinstance(place, Resolved)}
            steps.append(FollowingStep(method=step.method, params=replace_references(step.params, values), made=made, slot=planned.slot))
    return tuple(steps)


async def _place(ctx: TurnContext, planned: PlannedStep, reference: str, target: str) -> Resolution:
    step = planned.step
    resolution: Resolution = await ctx.query("created", reference=reference, target=target, method=step.method, params=step.params)
    return resolution


def _build_problem(reference: str, number: int, result: Submitted | None) -> Unresolved:
    if isinstance(result, Outcome) and result.status in _MAY_EXIST and result.method.endswith(".add"):
        detail = f"{reference}: the record of step {number} may be there, but its number is not known, so this step was not begun"
        return Unresolved(notice=_UNNAMED, detail=detail)
    if result is None:
        detail = f"{reference}: a step can only use the record of an earlier step of the same plan, and there is no step {number} before it"
    else:
        detail = f"{reference}: step {number} created no record, so this step was not begun"
    return Unresolved(notice=_NONE, detail=detail)


def _list_references(value: object) -> list[tuple[str, int]]:
    if isinstance(value, str):
        found = REFERENCE.fullmatch(value)
        return [(value, int(found[1]))] if found is not None else []
    if isinstance(value, Mapping):
        return [reference for item in value.values() for reference in _list_references(item)]
    if isinstance(value, (list, tuple)):
        return [reference for item in value for reference in _list_references(item)]
    return []
