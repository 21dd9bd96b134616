"""Builds the plan of one iteration from the model's steps: resolves references such as "@deal:Ромашка", and records the plan.

If a name is unclear or a new record may be a duplicate, the plan becomes a question to the person. After a restart, the recorded plan is
restored. This module runs no step. A reference replaces a whole value and is never inserted into a text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, assert_never
from uuid import uuid5
from zoneinfo import ZoneInfo

from engines.crm_agent.core.list_steps import split_group, split_limit
from engines.crm_agent.core.next_page import NEXT, find_next_page
from engines.crm_agent.core.shown_text import build_marker
from engines.crm_agent.core.turn_work import Page, TurnWork
from orchestrator.directory.answers import Ambiguous, AskedDate, DatedParams, Resolved, Unresolved
from orchestrator.directory.crm_bindings import find_bound_references, replace_bound_references, strip_letters, to_binding
from orchestrator.directory.duplicates import CREATE, extract_contact_points
from orchestrator.directory.field_references import find_doubled_keys, find_key_reference, replace_key
from orchestrator.directory.value_references import find_field
from orchestrator.domain.effect import MessageFacts
from orchestrator.domain.outputs import Choice, Notice, Reply
from orchestrator.engines.base import ChosenOption, PlanStep, TurnContext, TurnEnd
from orchestrator.engines.crm_agent.blocks import Step
from orchestrator.language.time_zones import parse_moment
from state.canonical import dumps, hash_text
from state.clock import UUID_NAMESPACE
from state.events.conversation import NameAsked, NameChosen, PlanRecorded
from state.model.shown_lists import QUESTION, ShownList, ShownRow
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """A step of the plan with resolved references. If `problem` is set, a reference could not be resolved, and the step is not run.

    `slot` is the place of the step in the turn, "<turn>/<iteration>/<step>". `dates` says what the periods in its filter were taken for.
    """

    slot: str
    step: Step
    problem: Unresolved | None = None
    dates: tuple[str, ...] = ()
    group_by: str = ""
    """The field by which code counts the list that the step reads; "" for none."""
    limit: int = 0
    """How many rows of the list are wanted, from its beginning; 0 for all."""
    page: Page | None = None
    """Which rows are wanted of a list that goes on."""


@dataclass(frozen=True, kw_only=True)
class NameQuestion:
    """A question to the person, which of several possible values a reference in the plan means."""

    reference: str
    several: Ambiguous


async def plan_steps(ctx: TurnContext, work: TurnWork, *, iteration: int, steps: Sequence[Step]) -> list[PlannedStep] | NameQuestion:
    """Resolve the references of `steps` and record the plan; return the plan, or the question that the person must answer first.

    A plan that was recorded before a restart is returned as it was. The first reference that only the person can resolve stops the
    planning, and nothing is recorded.
    """
    recorded = ctx.find_recorded_plan(iteration)
    if recorded is not None:
        return _restore_plan(ctx, work, iteration=iteration, steps=steps, recorded=recorded)
    settled: list[PlannedStep] = []
    for number, written in enumerate(steps, start=1):
        if written.method == NEXT:
            settled.append(_settle_next(ctx, work, written, slot=_build_slot(ctx, iteration, number=number)))
            continue
        step, group_by = split_group(written)
        step, limit = split_limit(step)
        found = await _settle_names(ctx, work, step=step, slot=_build_slot(ctx, iteration, number=number))
        if isinstance(found, NameQuestion):
            return found
        asked = await check_known_person(ctx, work, found.step) if found.problem is None else None
        if isinstance(asked, tuple):
            return NameQuestion(reference=asked[0], several=asked[1])
        settled.append(
            replace(found, problem=asked or found.problem, group_by=group_by, limit=limit) if asked or group_by or limit else found
        )
    await _record_plan(ctx, work, iteration=iteration, settled=settled)
    return settled


def build_state_entry(planned: PlannedStep, work: TurnWork) -> PlanStep:
    """Return a step in the form that the session's state stores.

    If the model had read free text of other people before it wrote the step, this gets the flag `prose`, so that later prompts leave out
    its parameters.
    """
    step = planned.step
    entry = PlanStep.create(slot=planned.slot, method=step.method, params=step.params, comment=step.comment)
    if planned.page is not None:
        entry = entry.with_values(page={"first": planned.page.first, "hidden": planned.page.hidden, "seen": list(planned.page.seen)})
    return entry.with_values(prose=True) if work.answer_prose else entry


async def ask_person(ctx: TurnContext, work: TurnWork, *, iteration: int, answer: str, asking: NameQuestion) -> TurnEnd:
    """End the turn with the question `asking` and its answer buttons, and record the model's answer.

    When the person presses a button, `resume_question` continues with that answer.
    """
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
        )
    )
    choices = tuple(Choice(token=f"{question_id}:{index}", label=item.label) for index, item in enumerate(asking.several.options))
    reply = Reply(notices=(*work.notices, asking.several.ask), choices=choices, turn_id=turn_id)
    rows = tuple(ShownRow(item.target, item.label) for item in asking.several.options)
    options = ShownList(place=QUESTION, total=len(rows), rows=rows)
    history = f"[question: {asking.several.ask.code}]\n{build_marker(QUESTION)}"
    return TurnEnd(reason="asked", reply=reply, history=history, targets=frozenset(work.targets), lists=(options,), acted=work.acted)


async def resume_question(ctx: TurnContext, work: TurnWork, choice: ChosenOption) -> str:
    """Record the option that the person chose, and return the model's recorded answer, which the turn then continues."""
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
    """Return the step that goes on with a list; its names and days were resolved when the list was read first."""
    found = find_next_page(ctx, work, step)
    if isinstance(found, Unresolved):
        return PlannedStep(slot=slot, step=step, problem=found)
    return PlannedStep(slot=slot, step=found.step, page=found.page)


async def _settle_names(ctx: TurnContext, work: TurnWork, *, step: Step, slot: str) -> PlannedStep | NameQuestion:
    """Replace the references of `step` by their values, and return the planned step; or return the question if the person must choose."""
    if REFERENCE_SIGN not in str(step.params):
        return await _settle_dates(ctx, work, step=step, slot=slot)
    step = replace(step, params=strip_letters(step.params))
    values: dict[str, object] = {}
    kinds: dict[str, str] = {}
    for reference in find_references(step.params):
        kinds[reference] = reference[1:].partition(":")[0]
        key = _build_choice_key(reference, step, values)
        if key in work.resolved:
            values[reference] = work.resolved[key]
            continue
        found = await ctx.query(
            "resolve",
            reference=reference,
            method=step.method,
            params=replace_references(step.params, values),
            actor=ctx.actor,
            state=ctx.state,
            text=work.text,
        )
        match found:
            case Resolved():
                values[reference] = found.value
                kinds[reference] = found.target.rpartition(":")[0] or kinds[reference]
                if found.target and found.named_by_person:
                    work.targets.add(found.target)
            case Ambiguous():
                return NameQuestion(reference=key, several=found)
            case Unresolved():
                return PlannedStep(slot=slot, step=step, problem=found)
            case _:
                assert_never(found)
    if doubled := find_doubled_keys(step.params, values):
        problem = Unresolved(notice=Notice(code="field-named-twice", args={"name": doubled}), detail=f"{doubled} stands twice")
        return PlannedStep(slot=slot, step=step, problem=problem)
    bindings = {reference: to_binding(kinds[reference], value) for reference, value in values.items()}
    if wrong := next((bound_reference for bound_reference in find_bound_references(step.params) if not bindings.get(bound_reference)), ""):
        detail = f"{wrong} cannot stand where a task is tied to records: a deal, lead, contact or company is needed"
        return PlannedStep(slot=slot, step=step, problem=Unresolved(notice=Notice(code="link-unclear"), detail=detail))
    params = replace_references(replace_bound_references(step.params, bindings), values)
    return await _settle_dates(ctx, work, step=replace(step, params=params), slot=slot)


def _build_choice_key(reference: str, step: Step, values: Mapping[str, object]) -> str:
    """Return the key under which the person's choice for a reference is kept.

    A field or option of the same name may be another one in another call or field, so these belong to the key.
    """
    if not reference.startswith(("@field:", "@option:")):
        return reference
    return f"{reference} in {step.method} {find_field(reference, replace_references(step.params, values))}".strip()


def _find_said_at(ctx: TurnContext, work: TurnWork) -> datetime | None:
    """Return when the words for days were said, if that was before the person answered a question, or on an earlier day; otherwise None."""
    choice, said_at = ctx.turn.choice, ctx.turn.said_at
    if choice is not None:
        return parse_moment(choice.question.ts, zone="UTC") if work.iteration <= 1 else None
    zone = ZoneInfo(ctx.actor.time_zone)
    return said_at if said_at is not None and said_at.astimezone(zone).date() < ctx.now.astimezone(zone).date() else None


async def _settle_dates(ctx: TurnContext, work: TurnWork, *, step: Step, slot: str) -> PlannedStep | NameQuestion:
    """Replace the days and periods of `step`, each by what its place needs, and return the planned step, or the question to the person.

    The other references are replaced already: the stage of a call may say that what it writes is over.
    """
    said_at = _find_said_at(ctx, work)
    found = await ctx.query("dates", method=step.method, params=step.params, actor=ctx.actor, chosen=work.resolved, said_at=said_at)
    match found:
        case AskedDate():
            return NameQuestion(reference=found.reference, several=found.several)
        case Unresolved():
            return PlannedStep(slot=slot, step=step, problem=found)
        case DatedParams():
            dated = step if found.params == step.params else replace(step, params=found.params)
            return PlannedStep(slot=slot, step=dated, dates=found.bounds)
        case _:
            assert_never(found)


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
    """Return the plan as it was recorded before a restart.

    Names are not resolved again, since the plan's own changes in the portal may give another result now.
    """
    work.targets |= set(recorded.targets)
    pairs = enumerate(zip(steps, map(PlanStep.from_stored, recorded.steps), strict=True), start=1)
    return [
        PlannedStep(
            slot=_build_slot(ctx, iteration, number=number),
            step=replace(step, method=entry.method or step.method, params=_keep_order(entry.params, step.params)),
            problem=entry.name_problem,
            page=Page(**{**entry.page, "seen": tuple(entry.page["seen"])}) if entry.page else None,
            group_by=split_group(step)[1],
            limit=split_limit(step)[1],
        )
        for number, (step, entry) in pairs
    ]


def _keep_order(recorded: JsonObject, written: JsonObject) -> JsonObject:
    """Return the recorded parameters with the commands of a batch in the order in which the model wrote them; they are stored sorted."""
    return {
        name: {key: value[key] for key in written[name]}
        if isinstance(value, Mapping) and isinstance(written.get(name), Mapping) and set(written[name]) == set(value)
        else value
        for name, value in recorded.items()
    }


def _build_slot(ctx: TurnContext, iteration: int, *, number: int) -> str:
    return f"{ctx.turn.turn_id}/{iteration}/{number}"


def _add_problem(entry: PlanStep, problem: Unresolved | None) -> PlanStep:
    return entry.with_values(problem={**problem.notice.model_dump(mode="json"), "detail": problem.detail}) if problem else entry


_ADDS = frozenset({"crm.lead.add", "crm.contact.add", "crm.company.add"})


async def check_known_person(ctx: TurnContext, work: TurnWork, step: Step) -> tuple[str, Ambiguous] | Unresolved | None:
    """Check whether the lead, contact or company that `step` would create is already in the portal.

    Returns None if the step may run. If records with the same phone or e-mail exist, returns the question which of them to use, together
    with a key ("@same:…") under which the user's answer will be stored in `work.resolved`. Returns an Unresolved (the step is not run) if
    the user has already chosen an existing record.
    """
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
    several: Ambiguous | None = await ctx.query("same", points=points, actor=ctx.actor)
    return (reference, several) if several is not None else None


REFERENCE_SIGN: Final = "@"
"""The sign with which all references begin, those in keys too: most steps have none."""
_REFERENCE = re.compile(
    r"@(?:(?:deal|lead|contact|company|task|user|reminder|stage|category|sum|shown|field|option):\S.*|me|current)", re.DOTALL
)


def find_references(value: object) -> list[str]:
    """Return the references among the strings in `value`, in order and without duplicates; those to days are resolved by their places.

    A string counts if the whole of it is a reference, such as "@deal:Ромашка", a key if it is one to a field. Those to fields come first.
    """
    found: list[str] = []
    _collect(value, found)
    # What an option means depends on its field, so the fields come first.
    return sorted(dict.fromkeys(found), key=lambda one: not one.startswith("@field:"))


def replace_references(value: object, values: Mapping[str, object]) -> Any:
    """Return `value` with each reference in it replaced by its value from `values`; the values keep their types."""
    if isinstance(value, str):
        return values.get(value, value)
    if isinstance(value, Mapping):
        return {replace_key(key, values): replace_references(item, values) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_references(item, values) for item in value]
    return value


def _collect(value: object, found: list[str]) -> None:
    if isinstance(value, str):
        if _REFERENCE.fullmatch(value):
            found.append(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if reference := find_key_reference(key):
                found.append(reference)
            _collect(item, found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, found)
