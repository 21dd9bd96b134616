"""What the outcome of a step teaches: its line for the model, sentences for the person, taint, records. Judges nothing. Ring 2."""

from collections.abc import Mapping
from typing import Any, assert_never

from orchestrator.directory.answers import OutcomeView, Unresolved
from orchestrator.engines.base import TurnContext
from orchestrator.engines.crm_agent.work import TurnWork
from orchestrator.messages import Outcome, Pending

ObservationLine = dict[str, Any]


def build_unresolved_line(work: TurnWork, problem: Unresolved) -> ObservationLine:
    """The line of a step whose name fits nothing."""
    work.notices.append(problem.notice)
    return {"status": "refused", "text": problem.detail}


def build_skipped_line() -> ObservationLine:
    """The line of a step that the plan did not come to."""
    return {"status": "not_begun", "text": "the plan stopped before this step"}


async def observe(ctx: TurnContext, work: TurnWork, *, number: int, result: Outcome | Pending) -> ObservationLine:
    """The line of step `number`, which was submitted; `work` has taken in what it showed."""
    if isinstance(result, Pending):
        work.pending.append(result)
        if result.notice is not None:
            work.notices.append(result.notice)
        return {"status": "waiting", "text": "a person was asked"}
    if result.foreign_text:
        work.prose = True
    match result.status:
        case "planned":
            work.planned.append(result)
            return {"status": result.status}
        case "refused" | "unknown":
            if result.reason is not None:
                work.notices.append(result.reason)
            return {"status": result.status, "text": result.detail}
        case "succeeded":
            if result.reason is not None:  # the portal said yes and changed nothing: the person hears it from code
                work.notices.append(result.reason)
            return {"status": "ok", **await _learn(ctx, work, number=number, outcome=result)}
        case _:
            assert_never(result.status)


async def _learn(ctx: TurnContext, work: TurnWork, *, number: int, outcome: Outcome) -> Mapping[str, Any]:
    """Take in what a successful call showed: labels, prose, created and named records."""
    if outcome.created:
        work.targets.add(outcome.created)
    seen: OutcomeView = await ctx.query("present", outcome=outcome, actor=ctx.actor)
    work.labels.extend(seen.labels)
    work.prose = work.prose or seen.prose
    if seen.table is not None:
        work.tables[number] = seen.table
    work.targets |= await ctx.query("named", titles=seen.titles, text=work.text, actor=ctx.actor)
    shown: dict[str, Any] = {"rows": list(seen.rows)} if seen.rows else {}
    extra = {"total": seen.total, "sum": seen.sum_text, "text": seen.text, "created": outcome.created}
    return shown | {key: value for key, value in extra.items() if value not in (None, "")}
