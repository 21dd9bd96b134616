"""The plan of one iteration: its names settled before anything runs, recorded, and gone on with after a restart. Runs no step. Ring 2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never
from uuid import uuid5

from orchestrator.directory.answers import Resolved, Several, Unresolved
from orchestrator.engines.base import TurnContext, TurnEnd
from orchestrator.engines.crm_agent.blocks import Step
from orchestrator.engines.crm_agent.known_people import known_already
from orchestrator.engines.crm_agent.references import find_references, substitute
from orchestrator.engines.crm_agent.work import Work
from orchestrator.messages import Choice, Notice, Reply
from state.clock import UUID_NAMESPACE
from state.events import NameAsked, NameChosen, PlanRecorded


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A step at its place in the turn; with a `problem` it has a name that fits nothing and is not run."""

    slot: str
    step: Step
    problem: Unresolved | None = None


@dataclass(frozen=True, kw_only=True)
class Asking:
    """A reference that only the person can settle."""

    reference: str
    several: Several


async def plan_of(ctx: TurnContext, work: Work, *, iteration: int, steps: Sequence[Step]) -> list[Planned] | Asking:
    """The steps with their names settled, as recorded before a restart or anew; recorded before the first of them runs.

    The first name that needs the person stops the plan before anything was recorded or ran.
    """
    recorded = ctx.recorded_plan(iteration)
    if recorded is not None:
        return _as_recorded(ctx, work, iteration=iteration, steps=steps, recorded=recorded)
    settled: list[Planned] = []
    for number, step in enumerate(steps, start=1):
        found = await _settle_names(ctx, work, step=step, slot=_slot(ctx, iteration, number=number))
        if isinstance(found, Asking):
            return found
        asked = await known_already(ctx, work, found.step) if found.problem is None else None
        if isinstance(asked, tuple):
            return Asking(reference=asked[0], several=asked[1])
        settled.append(replace(found, problem=asked) if asked is not None else found)
    await _record(ctx, work, iteration=iteration, settled=settled)
    return settled


def entry_of(planned: Planned, work: Work) -> dict[str, Any]:
    """A step as the state keeps it; marked when it was written after prose, so that later prompts keep its words out."""
    step = planned.step
    kept = {"slot": planned.slot, "method": step.method, "params": step.params, "comment": step.comment}
    return kept | ({"prose": True} if work.prose else {})


async def ask_person(ctx: TurnContext, work: Work, *, iteration: int, answer: str, asking: Asking) -> TurnEnd:
    """End the turn with buttons; the model's answer is recorded and goes on when one is pressed."""
    turn_id = ctx.turn.turn_id
    question_id = uuid5(UUID_NAMESPACE, f"{turn_id}/{iteration}/{asking.reference}").hex[:12]
    options = [{"value": item.value, "label": item.label, "target": item.target} for item in asking.several.options]
    await ctx.record(
        NameAsked(
            turn_id=turn_id,
            question_id=question_id,
            iteration=max(iteration, question_of(ctx).get("iteration", 1)),
            reference=asking.reference,
            options=options,
            text=work.text,
            answer=answer,
            resolved=work.resolved,
            ask=asking.several.ask.model_dump(mode="json"),
            prose=work.prose,
            labels=work.labels[-100:],
        )
    )
    choices = tuple(Choice(token=f"{question_id}:{index}", label=option["label"]) for index, option in enumerate(options))
    reply = Reply(notices=(*work.notices, asking.several.ask), choices=choices, turn_id=turn_id)
    return TurnEnd(reason="asked", reply=reply, history="", targets=frozenset(work.targets))


def question_of(ctx: TurnContext) -> Mapping[str, Any]:
    """The question that the turn's input answers; empty when it answers none."""
    return ctx.turn.choice.get("question") or {}


async def resume_question(ctx: TurnContext, work: Work) -> str:
    """The recorded answer of the model to go on with, now that the person chose; the choice is recorded."""
    choice, question = ctx.turn.choice, question_of(ctx)
    work.prose = work.prose or question["prose"]
    work.labels.extend(question["labels"])
    work.resolved = dict(question["resolved"]) | {question["reference"]: choice["value"]}
    work.targets |= set(choice.get("targets") or ())
    await ctx.record(
        NameChosen(
            turn_id=ctx.turn.turn_id,
            question_id=question["question_id"],
            reference=question["reference"],
            value=choice["value"],
            label=choice.get("label", ""),
        )
    )
    return str(question["answer"])


async def _settle_names(ctx: TurnContext, work: Work, *, step: Step, slot: str) -> Planned | Asking:
    """Put values for the references of a step."""
    values: dict[str, Any] = {}
    for reference in find_references(step.params):
        if reference in work.resolved:
            values[reference] = work.resolved[reference]
            continue
        found = await ctx.query(
            "resolve",
            reference=reference,
            method=step.method,
            params=substitute(step.params, values),
            actor=ctx.actor,
            state=ctx.state,
            text=work.text,
        )
        match found:
            case Resolved():
                values[reference] = found.value
                if found.target and found.named:
                    work.targets.add(found.target)
            case Several():
                return Asking(reference=reference, several=found)
            case Unresolved():
                return Planned(slot=slot, step=step, problem=found)
            case _:
                assert_never(found)
    return Planned(slot=slot, step=replace(step, params=substitute(step.params, values)))


async def _record(ctx: TurnContext, work: Work, *, iteration: int, settled: Sequence[Planned]) -> None:
    await ctx.record(
        PlanRecorded(
            turn_id=ctx.turn.turn_id,
            iteration=iteration,
            mode=ctx.mode,
            steps=[entry_of(planned, work) | _stored_problem(planned.problem) for planned in settled],
            executed=ctx.mode != "shadow",
            targets=sorted(work.targets)[:200],
        )
    )


def _as_recorded(ctx: TurnContext, work: Work, *, iteration: int, steps: Sequence[Step], recorded: Mapping[str, Any]) -> list[Planned]:
    """The plan as it was settled before a restart: names are not looked up anew, since the plan itself may have changed the answer."""
    work.targets |= set(recorded["targets"])
    pairs = enumerate(zip(steps, recorded["steps"], strict=True), start=1)
    return [
        Planned(slot=_slot(ctx, iteration, number=number), step=replace(step, params=entry["params"]), problem=_problem_in(entry))
        for number, (step, entry) in pairs
    ]


def _slot(ctx: TurnContext, iteration: int, *, number: int) -> str:
    return f"{ctx.turn.turn_id}/{iteration}/{number}"


def _stored_problem(problem: Unresolved | None) -> dict[str, Any]:
    return {"problem": {**problem.notice.model_dump(mode="json"), "detail": problem.detail}} if problem else {}


def _problem_in(entry: Mapping[str, Any]) -> Unresolved | None:
    problem = entry.get("problem")
    if problem is None:
        return None
    return Unresolved(notice=Notice(code=problem["code"], args=problem["args"]), detail=problem["detail"])
