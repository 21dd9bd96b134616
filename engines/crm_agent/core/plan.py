"""Builds the plan of one iteration and records it; runs no step. A reference replaces a whole value and is never inserted into a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, assert_never
from uuid import uuid5
from zoneinfo import ZoneInfo

from engines.crm_agent.core import bulk_step, order_step
from engines.crm_agent.core.created_records import check_following
from engines.crm_agent.core.lead_conversion import convert_lead
from engines.crm_agent.core.lists import find_misuse, find_next_page, split_limit
from engines.crm_agent.core.planned_steps import (
    REFERENCE_SIGN,
    PlannedStep,
    Stage,
    find_references,
    list_namesakes,
    means_all,
    replace_references,
)
from engines.crm_agent.core.prompt import build_marker
from engines.crm_agent.core.report_step import build_records_step, complete_question, list_stages
from engines.crm_agent.core.turn_work import Page, TurnWork
from engines.crm_agent.core.undo_step import SINCE, build_since_step, take_since
from engines.crm_agent.core.waiting_steps import build_changed, build_withdrawal, find_waiting, take_up_card
from orchestrator.directory.answers import Ambiguous, AskedDate, DatedParams, Resolved, Unresolved
from orchestrator.directory.current_records import find_bound_references, replace_bound_references, strip_letters, to_binding
from orchestrator.directory.duplicates import CREATE, extract_contact_points
from orchestrator.directory.field_references import find_doubled_keys
from orchestrator.directory.value_references import find_field
from orchestrator.domain.bulk import CHANGE_ALL, HAND_OVER
from orchestrator.domain.effect import MessageFacts
from orchestrator.domain.outputs import Choice, Notice, Reply
from orchestrator.domain.own_reads import NEXT, REPORT
from orchestrator.domain.undo_request import FIND_UNDO, PROPOSE_UNDO
from orchestrator.engines.base import ChosenOption, PlanStep, TurnContext, TurnEnd
from orchestrator.engines.crm_agent.blocks import CHANGE, WITHDRAW, Step
from orchestrator.language.time_zones import parse_moment
from state.canonical import dumps, hash_text
from state.clock import UUID_NAMESPACE
from state.events.conversation import NameAsked, NameChosen, PlanRecorded
from state.model.shown_lists import QUESTION, ShownList, ShownRow
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class NameQuestion:
    reference: str
    several: Ambiguous


async def plan_steps(ctx: TurnContext, work: TurnWork, *, iteration: int, steps: Sequence[Step]) -> list[PlannedStep] | NameQuestion:
    """Resolve and record the plan; return it, or the question to ask first, with nothing recorded."""
    recorded = ctx.find_recorded_plan(iteration)
    if recorded is not None:
        return _restore_plan(ctx, work, iteration=iteration, steps=steps, recorded=recorded)
    settled: list[PlannedStep] = []
    for number, model_step in enumerate(steps, start=1):
        if model_step.method == NEXT:
            settled.append(_settle_next(ctx, work, model_step, slot=_build_slot(ctx, iteration, number=number)))
            continue
        if (settle := _SETTLED_APART.get(model_step.method)) is not None:
            apart = await settle(ctx, work, model_step, slot=_build_slot(ctx, iteration, number=number))
            if isinstance(apart, NameQuestion):
                return apart
            settled.append(apart)
            continue
        waiting = find_waiting(ctx, work, model_step) if model_step.method in {WITHDRAW, CHANGE} else None
        slot = _build_slot(ctx, iteration, number=number)
        if isinstance(waiting, Unresolved):
            settled.append(PlannedStep(slot=slot, step=model_step, problem=waiting))
            continue
        if waiting is not None and model_step.method == WITHDRAW:
            settled.append(PlannedStep(slot=slot, step=build_withdrawal(waiting), replaces=waiting.confirmation_id))
            continue
        step, limit = split_limit(model_step if waiting is None else await build_changed(ctx, waiting, model_step, work))
        settled_step = await _settle_step(ctx, work, step=step, slot=slot)
        if not isinstance(settled_step, NameQuestion):
            settled_step = await _settle_customers(ctx, work, settled_step)
        if isinstance(settled_step, NameQuestion):
            return settled_step
        replaces = waiting.confirmation_id if waiting is not None else ""
        settled.append(replace(settled_step, replaces=replaces, limit=limit))
    checked = await check_following(ctx, settled, work.build_provenance())
    await _record_plan(ctx, work, iteration=iteration, settled=checked)
    return checked


async def _settle_customers(ctx: TurnContext, work: TurnWork, planned: PlannedStep) -> PlannedStep | NameQuestion:
    """A lead to convert becomes its batch. A known customer is asked about before one is made."""
    if planned.problem is not None:
        return planned
    step = await convert_lead(ctx, work, planned.step)
    if isinstance(step, Unresolved):
        return replace(planned, problem=step)
    if isinstance(step, tuple):
        return NameQuestion(reference=step[0], several=step[1])
    duplicate = await check_known_person(ctx, work, step)
    if isinstance(duplicate, tuple):
        return NameQuestion(reference=duplicate[0], several=duplicate[1])
    return replace(planned, step=step, problem=duplicate)


def build_state_entry(planned: PlannedStep, work: TurnWork) -> PlanStep:
    """The step as the state stores it.

    `prose`: the model had read text of others, so that later prompts leave out the parameters.
    """
    step = planned.step
    entry = PlanStep.create(slot=planned.slot, method=step.method, params=step.params, comment=step.comment)
    if planned.page is not None:
        entry = entry.with_values(page={"first": planned.page.first, "hidden": planned.page.hidden, "seen": list(planned.page.seen)})
    kept = {"replaces": planned.replaces, "namesakes": dict(planned.namesakes), "dates": list(planned.dates)}
    entry = entry.with_values(**{name: value for name, value in kept.items() if value})
    return entry.with_values(prose=True) if work.answer_prose else entry


async def ask_person(
    ctx: TurnContext, work: TurnWork, *, iteration: int, answer: str, asking: NameQuestion, dialogue: JsonObject
) -> TurnEnd:
    """End the turn with the question `asking`; `resume_question` continues with `answer`, after what `dialogue` keeps."""
    turn_id = ctx.turn.turn_id
    choice = ctx.turn.choice
    question_id = uuid5(UUID_NAMESPACE, f"{turn_id}/{iteration}/{asking.reference}").hex[:12]
    await ctx.record(
        NameAsked(
            turn_id=turn_id,
            question_id=question_id,
            iteration=max(iteration, choice.question.iteration if choice else 1),
            reference=asking.reference,
            options=[{"value": item.value, "label": item.label, "target": item.target} for item in asking.several.options],
            text=work.text,
            answer=answer,
            resolved=work.resolved,
            ask=asking.several.ask.model_dump(mode="json"),
            prose=work.prose,
            message=work.message.model_copy(update={"changes": work.made + work.made_now}).model_dump(mode="json"),
            labels=work.labels[-100:],
            waiting_steps=dict(work.waiting),
            dialogue=dict(dialogue),
        )
    )
    choices = tuple(Choice(token=f"{question_id}:{index}", label=item.label) for index, item in enumerate(asking.several.options))
    reply = Reply(notices=(*work.notices, asking.several.ask), choices=choices, turn_id=turn_id)
    rows = tuple(ShownRow(item.target, item.label) for item in asking.several.options)
    options = ShownList(place=QUESTION, total=len(asking.several.fitting), rows=rows)
    history = f"[question: {asking.several.ask.code}]\n{build_marker(QUESTION)}"
    return TurnEnd(reason="asked", reply=reply, history=history, targets=frozenset(work.targets), lists=(options,), acted=work.acted)


async def resume_question(ctx: TurnContext, work: TurnWork, choice: ChosenOption) -> str:
    question = choice.question
    work.prose = work.pasted = work.prose or question.prose  # where the text stood is not kept with the question
    work.message = MessageFacts.model_validate(question.message)
    work.made = work.message.changes
    work.labels.extend(question.labels)
    work.resolved = {**question.resolved, question.reference: choice.value}
    work.targets |= set(choice.targets)
    await ctx.record(
        NameChosen(
            turn_id=ctx.turn.turn_id,
            question_id=question.question_id,
            reference=question.reference,
            value=choice.value,
            label=choice.label,
        )
    )
    return question.answer


def _settle_next(ctx: TurnContext, work: TurnWork, step: Step, *, slot: str) -> PlannedStep:
    next_page = find_next_page(ctx, work, step)
    if isinstance(next_page, Unresolved):
        return PlannedStep(slot=slot, step=step, problem=next_page)
    return PlannedStep(slot=slot, step=next_page.step, page=next_page.page)


async def _settle_report(ctx: TurnContext, work: TurnWork, step: Step, *, slot: str) -> PlannedStep | NameQuestion:
    whole = complete_question(step, ctx.state, ctx.actor.key)
    if isinstance(whole, Unresolved):
        return PlannedStep(slot=slot, step=step, problem=whole)
    settled = await _settle_stages(ctx, work, whole, list_stages(whole), slot=slot)
    return settled if isinstance(settled, NameQuestion) else await build_records_step(ctx, settled)


async def _settle_parts(ctx: TurnContext, work: TurnWork, step: Step, *, slot: str) -> PlannedStep | NameQuestion:
    return await _settle_stages(ctx, work, step, _PARTED[step.method](step), slot=slot)


async def _settle_stages(ctx: TurnContext, work: TurnWork, step: Step, stages: Sequence[Stage], *, slot: str) -> PlannedStep | NameQuestion:
    """Of each stage the names are found where a call has them, and put back."""
    namesakes: JsonObject = {}
    dates: tuple[str, ...] = ()
    for build, take in stages:
        settled = await _settle_names(ctx, work, step=build(step), slot=slot)
        if isinstance(settled, NameQuestion):
            return settled
        if settled.problem is not None:
            return PlannedStep(slot=slot, step=step, problem=settled.problem)
        namesakes = {**namesakes, **settled.namesakes}
        dates += settled.dates
        step = take(step, settled.step.params)
    return PlannedStep(slot=slot, step=step, namesakes=namesakes, dates=dates)


async def _settle_undo(ctx: TurnContext, work: TurnWork, step: Step, *, slot: str) -> PlannedStep | NameQuestion:
    """`since` is read as in a filter: a day is from its beginning."""
    others = {name: value for name, value in step.params.items() if name != SINCE}
    settled = await _settle_names(ctx, work, step=replace(step, params=others), slot=slot)
    if isinstance(settled, NameQuestion) or SINCE not in step.params or settled.problem is not None:
        return settled
    dated = await _settle_dates(ctx, work, step=build_since_step(step), slot=slot)
    return dated if isinstance(dated, NameQuestion) else take_since(settled, dated)


_PARTED: Final = {
    **dict.fromkeys((CHANGE_ALL, HAND_OVER), bulk_step.list_stages),
    **dict.fromkeys(order_step.ORDER_STEPS, order_step.list_stages),
}
_SETTLED_APART: Final = {
    REPORT: _settle_report,
    FIND_UNDO: _settle_undo,
    PROPOSE_UNDO: _settle_undo,
    **dict.fromkeys(_PARTED, _settle_parts),
}
"""Steps whose names stand elsewhere than those of a call of the portal."""


async def _settle_step(ctx: TurnContext, work: TurnWork, *, step: Step, slot: str) -> PlannedStep | NameQuestion:
    misuse = find_misuse(step)
    return PlannedStep(slot=slot, step=step, problem=misuse) if misuse is not None else await _settle_names(ctx, work, step=step, slot=slot)


async def _settle_names(ctx: TurnContext, work: TurnWork, *, step: Step, slot: str) -> PlannedStep | NameQuestion:
    if REFERENCE_SIGN not in str(step.params):
        return await _settle_dates(ctx, work, step=step, slot=slot)
    step = replace(step, params=strip_letters(step.params))
    values: dict[str, object] = {}
    kinds: dict[str, str] = {}
    namesakes: dict[str, str] = {}
    for reference in find_references(step.params):
        kinds[reference] = reference[1:].partition(":")[0]
        key = _build_choice_key(reference, step, values)
        if key in work.resolved:
            values[reference] = work.resolved[key]
            continue
        resolution = await ctx.query(
            "resolve",
            reference=reference,
            method=step.method,
            params=replace_references(step.params, values),
            actor=ctx.actor,
            state=ctx.state,
            text=work.text,
        )
        match resolution:
            case Resolved():
                values[reference] = resolution.value
                kinds[reference] = resolution.target.rpartition(":")[0] or kinds[reference]
                if resolution.target and resolution.named_by_person:
                    work.targets.add(resolution.target)
            case Ambiguous() if means_all(reference, resolution, step):
                values[reference] = [option.value for option in resolution.fitting]
                namesakes[reference.partition(":")[2].strip()] = list_namesakes(resolution)
            case Ambiguous():
                return NameQuestion(reference=key, several=resolution)
            case Unresolved():
                return PlannedStep(slot=slot, step=step, problem=resolution)
            case _:
                assert_never(resolution)
    filled = _fill_references(step, values, kinds)
    if isinstance(filled, Unresolved):
        return PlannedStep(slot=slot, step=step, problem=filled)
    dated = await _settle_dates(ctx, work, step=filled, slot=slot)
    return replace(dated, namesakes=namesakes) if isinstance(dated, PlannedStep) else dated


def _fill_references(step: Step, values: Mapping[str, object], kinds: Mapping[str, str]) -> Step | Unresolved:
    if doubled := find_doubled_keys(step.params, values):
        return Unresolved(notice=Notice(code="field-named-twice", args={"name": doubled}), detail=f"{doubled} stands twice")
    bindings = {reference: to_binding(kinds[reference], value) for reference, value in values.items()}
    if wrong := next((bound_reference for bound_reference in find_bound_references(step.params) if not bindings.get(bound_reference)), ""):
        detail = f"{wrong} cannot stand where records are tied: a deal, lead, contact or company is needed"
        return Unresolved(notice=Notice(code="link-unclear"), detail=detail)
    return replace(step, params=replace_references(replace_bound_references(step.params, bindings), values))


def _build_choice_key(reference: str, step: Step, values: Mapping[str, object]) -> str:
    """A field or option may be another one elsewhere, so its call or field belongs to the key."""
    if not reference.startswith(("@field:", "@option:")):
        return reference
    return f"{reference} in {step.method} {find_field(reference, replace_references(step.params, values))}".strip()


def _find_said_at(ctx: TurnContext, work: TurnWork) -> datetime | None:
    """When the days were said, if before the answer to a question or on an earlier day."""
    choice, said_at = ctx.turn.choice, ctx.turn.said_at
    if choice is not None:
        return parse_moment(choice.question.ts, zone="UTC") if work.iteration <= 1 else None
    zone = ZoneInfo(ctx.actor.time_zone)
    return said_at if said_at is not None and said_at.astimezone(zone).date() < ctx.now.astimezone(zone).date() else None


async def _settle_dates(ctx: TurnContext, work: TurnWork, *, step: Step, slot: str) -> PlannedStep | NameQuestion:
    """The other references are replaced before: the stage of a call may say that what it writes is over."""
    said_at = _find_said_at(ctx, work)
    resolved_dates = await ctx.query(
        "dates", method=step.method, params=step.params, actor=ctx.actor, chosen=work.resolved, said_at=said_at
    )
    match resolved_dates:
        case AskedDate():
            return NameQuestion(reference=resolved_dates.reference, several=resolved_dates.several)
        case Unresolved():
            return PlannedStep(slot=slot, step=step, problem=resolved_dates)
        case DatedParams():
            dated = step if resolved_dates.params == step.params else replace(step, params=resolved_dates.params)
            return PlannedStep(slot=slot, step=dated, dates=resolved_dates.bounds)
        case _:
            assert_never(resolved_dates)


async def _record_plan(ctx: TurnContext, work: TurnWork, *, iteration: int, settled: Sequence[PlannedStep]) -> None:
    await ctx.record(
        PlanRecorded(
            turn_id=ctx.turn.turn_id,
            iteration=iteration,
            mode=ctx.mode,
            steps=[_add_problem(build_state_entry(planned, work), planned.problem).to_stored() for planned in settled],
            executed=ctx.mode != "shadow",
            targets=sorted(work.targets)[:200],
            message=work.message.model_copy(update={"changes": work.made + work.made_now}).model_dump(mode="json"),
        )
    )


def _restore_plan(ctx: TurnContext, work: TurnWork, *, iteration: int, steps: Sequence[Step], recorded: PlanRecorded) -> list[PlannedStep]:
    """Names are not resolved again: the plan's own changes may give another result now."""
    work.targets |= set(recorded.targets)
    pairs = list(enumerate(zip(steps, map(PlanStep.from_stored, recorded.steps), strict=True), start=1))
    for _, (step, entry) in pairs:
        if step.method == CHANGE and entry.replaces:
            take_up_card(ctx.state.cards.get(entry.replaces), work)
    return [
        PlannedStep(
            slot=_build_slot(ctx, iteration, number=number),
            step=replace(step, method=entry.method or step.method, params=_keep_order(entry.params, step.params)),
            problem=entry.name_problem,
            page=Page(**{**entry.page, "seen": tuple(entry.page["seen"])}) if entry.page else None,
            replaces=entry.replaces,
            namesakes=entry.namesakes,
            dates=tuple(entry.dates),
            limit=split_limit(step)[1],
        )
        for number, (step, entry) in pairs
    ]


def _keep_order(recorded: JsonObject, model_params: JsonObject) -> JsonObject:
    """Order the commands of a batch as the model wrote them; they are stored sorted."""
    return {
        name: {key: value[key] for key in model_params[name]}
        if isinstance(value, Mapping) and isinstance(model_params.get(name), Mapping) and set(model_params[name]) == set(value)
        else value
        for name, value in recorded.items()
    }


def _build_slot(ctx: TurnContext, iteration: int, *, number: int) -> str:
    return f"{ctx.turn.turn_id}/{iteration}/{number}"


def _add_problem(entry: PlanStep, problem: Unresolved | None) -> PlanStep:
    return entry.with_values(problem={**problem.notice.model_dump(mode="json"), "detail": problem.detail}) if problem else entry


_OF_LEADS = frozenset({"crm.contact.add", "crm.company.add"})
_ADDS = frozenset({"crm.lead.add", *_OF_LEADS})


async def check_known_person(ctx: TurnContext, work: TurnWork, step: Step) -> tuple[str, Ambiguous] | Unresolved | None:
    """Return None if `step` may run, (key, question) if records have the same phone or e-mail, Unresolved if an existing one was chosen."""
    points = extract_contact_points(step.params) if step.method.lower() in _ADDS else {}
    if not points:
        return None
    reference = f"@same:{step.method.lower()}:{hash_text(dumps(points))[:12]}"
    chosen = str(work.resolved.get(reference, ""))
    if chosen == CREATE:
        return None
    if chosen:
        target, _, label = chosen.partition(" ")
        detail = f"nothing was added: the person takes {target}, which is there already; go on with that record"
        return Unresolved(notice=Notice(code="duplicate-taken", args={"label": label}), detail=detail)
    # A lead that the person speaks of is what becomes of the record: it is no duplicate to take instead.
    besides = {target for target in work.targets if target.startswith("lead:")} if step.method.lower() in _OF_LEADS else set()
    several: Ambiguous | None = await ctx.query("same", points=points, actor=ctx.actor, besides=besides)
    return (reference, several) if several is not None else None
