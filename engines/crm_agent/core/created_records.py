"""Fills in "@created:N", the record that step N of the same plan creates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from engines.crm_agent.core.plan import REFERENCE_SIGN, PlannedStep, replace_references
from orchestrator.directory.answers import Resolution, Resolved, Unresolved
from orchestrator.directory.created_references import REFERENCE
from orchestrator.domain.effect import STAND_IN, FollowingStep, Outcome, Pending
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import TurnContext

Submitted = Outcome | Pending | Literal["waits", "problem"]
"""Its outcome, its card, that it waits for another step's record, or that it was not submitted."""
_NONE: Final = Notice(code="created-none")
_UNNAMED: Final = Notice(code="created-unnamed")
_MAY_EXIST: Final = frozenset({"succeeded", "unknown"})
"""The record may be there, though its number is not known."""


@dataclass(frozen=True, kw_only=True)
class Waits:
    """The needed record is made by step `number`, which waits for a person."""

    number: int


def find_created(value: object) -> list[int]:
    """Numbers of steps whose new records are named, in order and without duplicates."""
    return list(dict.fromkeys(number for _, number in _list_references(value)))


async def fill_created(ctx: TurnContext, planned: PlannedStep, results: Mapping[int, Submitted]) -> PlannedStep | Waits:
    """Fill the numbers of new records in, or return the problem or the step to wait for.

    `results` are those of earlier steps, by number.
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
    """Steps that need the record of step `number`, with a stand-in for the record's number."""
    if number == len(plan):
        return ()
    record_kind = await ctx.query("kind", method=plan[number - 1].step.method, params=plan[number - 1].step.params)
    steps: list[FollowingStep] = []
    for planned in plan[number:]:
        step = planned.step
        references = [reference for reference, needed in _list_references(step.params) if needed == number]
        if not references or planned.problem is not None or find_created(step.params) != [number]:
            continue
        places = {reference: await _place(ctx, planned, reference, f"{record_kind}:{STAND_IN}") for reference in references}
        if all(isinstance(place, Resolved) for place in places.values()):
            values = {reference: place.value for reference, place in places.items() if isinstance(place, Resolved)}
            steps.append(
                FollowingStep(method=step.method, params=replace_references(step.params, values), made=record_kind, slot=planned.slot)
            )
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
        match = REFERENCE.fullmatch(value)
        return [(value, int(match[1]))] if match is not None else []
    if isinstance(value, Mapping):
        return [reference for item in value.values() for reference in _list_references(item)]
    if isinstance(value, (list, tuple)):
        return [reference for item in value for reference in _list_references(item)]
    return []
