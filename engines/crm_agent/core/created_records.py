"""Fills in "@created:N", the record that step N of the same plan creates, and checks steps that need one before anybody is asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from engines.crm_agent.core.planned_steps import REFERENCE_SIGN, PlannedStep, replace_references
from engines.crm_agent.core.setbacks import WITHDRAWN
from orchestrator.directory.answers import Resolution, Resolved, Unresolved
from orchestrator.directory.created_references import REFERENCE
from orchestrator.domain.effect import STAND_IN, WAITS_ALREADY, Effect, FollowingStep, MissedStep, NewRecord, Outcome, Pending, Provenance
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
    """The needed record is made by step `number`, which waits for a person or is only planned."""

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
    targets: dict[int, str] = {}
    for reference, number in _list_references(planned.step.params):
        result = results.get(number)
        if isinstance(result, Pending) or result == "waits" or (isinstance(result, Outcome) and result.status == "planned"):
            return Waits(number=number)
        if not isinstance(result, Outcome) or not result.created:
            return replace(planned, problem=_build_problem(reference, number, result))
        targets[number] = result.created
    return await _put_records(ctx, planned, targets) if targets else planned


async def list_following(
    ctx: TurnContext, plan: Sequence[PlannedStep], number: int, results: Mapping[int, Submitted]
) -> tuple[FollowingStep, ...]:
    """Steps that wait for the record of step `number`, also behind one another, with stand-ins for the numbers of new records.

    One that needs several records belongs to the first of these that is not there yet.
    """
    made = {one: result.created for one, result in results.items() if isinstance(result, Outcome) and result.created}
    firsts = _find_first_makers(plan, made)
    following = [place for place, first in firsts.items() if first == number != place]
    makers = {number, *(one for place in following for one in find_created(plan[place - 1].step.params))} - made.keys()
    targets, records, steps = dict(made), dict[int, NewRecord](), list[FollowingStep]()
    for place in sorted({*following, *makers} if following else ()):
        planned = plan[place - 1]
        needed = find_created(planned.step.params)
        filled = await _put_records(ctx, planned, targets) if targets.keys() >= set(needed) else planned
        if place in following and number in records and filled is not planned and filled.problem is None:
            beside = tuple(records[one] for one in needed if one in records and one != number)
            step = filled.step
            steps.append(FollowingStep(method=step.method, params=step.params, made=records[number].kind, slot=planned.slot, beside=beside))
        if place in makers and (record := await _stand_for(ctx, filled, place)) is not None:
            records[place] = record
            targets[place] = f"{record.kind}:{STAND_IN if place == number else record.stand_in}"
    return tuple(steps)


def _find_first_makers(plan: Sequence[PlannedStep], made: Mapping[int, str]) -> Mapping[int, int]:
    """Of each step that may run, the first one for whose record it waits; itself if it waits for none."""
    firsts: dict[int, int] = {}
    for place, planned in enumerate(plan, start=1):
        missing = [one for one in find_created(planned.step.params) if one not in made]
        if planned.problem is None and firsts.keys() >= set(missing):
            firsts[place] = min((firsts[one] for one in missing), default=place)
    return firsts


async def check_following(ctx: TurnContext, plan: Sequence[PlannedStep], provenance: Provenance) -> list[PlannedStep]:
    """Steps that need a new record, with the problem that no approval could mend: it is told before anybody is asked."""
    checked: list[PlannedStep] = []
    for place, planned in enumerate(plan, start=1):
        needed = find_created(planned.step.params) if planned.problem is None else []
        checked.append(await _check_step(ctx, checked, place, planned, provenance) if needed else planned)
    return checked


def find_held(plan: Sequence[PlannedStep]) -> frozenset[int]:
    """Steps that make a record for a step with a problem, by number."""
    held: set[int] = set()
    for number in range(len(plan), 0, -1):
        planned = plan[number - 1]
        if planned.problem is not None or number in held:
            held |= {one for one in find_created(planned.step.params) if 0 < one < number and _makes_record(plan[one - 1])}
    return frozenset(held)


def list_missed(plan: Sequence[PlannedStep], results: Mapping[int, Submitted]) -> tuple[MissedStep, ...]:
    """Of the steps of `plan`, all before the next one, those that did not run and have no card of this turn."""
    fates = ((planned.step, planned.slot, _find_fate(results.get(number))) for number, planned in enumerate(plan, start=1))
    return tuple(MissedStep(method=step.method, params=step.params, slot=slot, why=why) for step, slot, why in fates if why is not None)


def _find_fate(result: Submitted | None) -> Literal["refused", "unknown", "waiting"] | None:
    match result:
        case Outcome(status="unknown"):
            return "unknown"
        case Outcome(status="refused", reason=reason) if not result.already:
            return None if reason is not None and reason.code in WITHDRAWN else "refused"
        case "problem":
            return "refused"
        case Pending() if result.notice is not None and result.notice.code == WAITS_ALREADY:
            return "waiting"
    return None


async def _check_step(
    ctx: TurnContext, earlier: Sequence[PlannedStep], place: int, planned: PlannedStep, provenance: Provenance
) -> PlannedStep:
    records: dict[int, NewRecord] = {}
    for reference, number in _list_references(planned.step.params):
        if number >= place:
            return replace(planned, problem=_build_problem(reference, number, None))
        if not _makes_record(earlier[number - 1]):
            return replace(planned, problem=_build_problem(reference, number, "problem"))
        record = await _stand_for(ctx, earlier[number - 1], number)
        if record is None:
            return planned
        records[number] = record
    filled = await _put_records(ctx, planned, {number: f"{record.kind}:{record.stand_in}" for number, record in records.items()})
    if filled.problem is not None:
        return replace(planned, problem=filled.problem)
    step = filled.step
    effect = Effect(method=step.method, params=step.params, slot=planned.slot, provenance=provenance)
    refused = await ctx.find_refusal(effect, tuple(records.values()))
    if refused is None or refused.reason is None:
        return planned
    return replace(planned, problem=Unresolved(notice=refused.reason, detail=refused.detail))


def _makes_record(planned: PlannedStep) -> bool:
    return planned.step.method.lower().endswith(".add")


async def _stand_for(ctx: TurnContext, planned: PlannedStep, number: int) -> NewRecord | None:
    step, slot = planned.step, planned.slot
    kind = await ctx.query("kind", method=step.method, params=step.params)
    return NewRecord(kind=kind, stand_in=STAND_IN - number, method=step.method, params=step.params, slot=slot) if kind else None


async def _put_records(ctx: TurnContext, planned: PlannedStep, targets: Mapping[int, str]) -> PlannedStep:
    """`targets` are such as "deal:512", by the numbers of their steps."""
    values: dict[str, object] = {}
    step = planned.step
    for reference, number in _list_references(step.params):
        resolution: Resolution = await ctx.query(
            "created", reference=reference, target=targets[number], method=step.method, params=step.params
        )
        if not isinstance(resolution, Resolved):
            problem = resolution if isinstance(resolution, Unresolved) else _build_problem(reference, number, "problem")
            return replace(planned, problem=problem)
        values[reference] = resolution.value
    return replace(planned, step=replace(step, params=replace_references(step.params, values)))


def _build_problem(reference: str, number: int, result: Submitted | None) -> Unresolved:
    if isinstance(result, Outcome) and result.status in _MAY_EXIST and result.method.endswith(".add"):
        detail = f"{reference}: the record of step {number} may be there, but its number is not known, so this step was not begun"
        return Unresolved(notice=_UNNAMED, detail=detail)
    if result is None:
        detail = f"{reference}: a step can only use the record of an earlier step of the same plan, and there is no step {number} before it"
    else:
        detail = f"{reference}: step {number} creates no record, so this step was not begun"
    return Unresolved(notice=_NONE, detail=detail)


def _list_references(value: object) -> Iterator[tuple[str, int]]:
    if isinstance(value, str) and (match := REFERENCE.fullmatch(value)) is not None:
        yield value, int(match[1])
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _list_references(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _list_references(item)
