"""The working state of one turn of the CRM agent: what it has learned so far, and what the result of each step adds.

It makes no safety decision.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from orchestrator.directory.answers import OutcomeView, Unresolved
from orchestrator.domain.effect import Provenance
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice, Table
from orchestrator.engines.base import PlanStep, TurnContext
from state.session_state import SessionState
from state.stored import JsonObject

_NUMBER = re.compile(r"(?<![\d.,])\d{1,10}(?![\d.,]*\d)")
_ENTITIES = ("deal", "lead", "contact", "company", "task", "activity", "user")
_REPAIRABLE = frozenset({"date-in-filter"})
"""Codes of notices about words in a filter that the code could not read: the model may write them in another form."""
_OBJECTS = {"current_deal_id": "deal", "current_contact_id": "contact", "current_company_id": "company", "current_task_id": "task"}


@dataclass(kw_only=True)
class TurnWork:
    """What one turn has learned and done so far, and the steps that ran, wait or did not run.

    `targets` are the records that a person named or a turn created, `labels` names and titles that the portal returned, and `notices`
    sentences for the person. `prose` is True once the model has read free text of other people; within the turn it never becomes False
    again.
    """

    text: str
    prose: bool = False
    pasted: bool = False
    """Whether text of others came with the person's message."""
    targets: set[str] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    planned: list[Outcome] = field(default_factory=list)
    left: list[PlanStep] = field(default_factory=list)
    """Steps that did not run: they stay in next_planned_actions (S004-X7)."""
    rest: list[PlanStep] = field(default_factory=list)
    """Steps that a halted plan did not reach: they stay in next_planned_actions too, and the person is told."""
    tables: dict[int, Table] = field(default_factory=dict)
    resolved: dict[str, object] = field(default_factory=dict)

    def begin_iteration(self, steps: Sequence[tuple[str, JsonObject]]) -> None:
        """Start a new iteration with `steps`, each given as (method, params).

        The tables that the reads of the last iteration gave are dropped, and so are notices of the model's own mistakes, which it is
        about to repair. Steps that the model proposes again are removed from `rest`, the steps that a stopped plan did not reach.
        """
        self.tables.clear()
        self.notices = [notice for notice in self.notices if notice.code not in _REPAIRABLE]
        self.rest = [entry for entry in self.rest if (entry.method, entry.params) not in steps]

    def forget_told(self) -> None:
        """Drop what the person has been told before the turn waited for its cards: it is not said again."""
        self.notices.clear()
        self.pending.clear()
        self.planned.clear()
        self.left.clear()

    def build_provenance(self) -> Provenance:
        """Return where the words of the next step may come from (person, portal, text of others); the gate judges the step by it."""
        return Provenance(
            prose=self.prose,
            pasted=self.pasted,
            targets=frozenset(self.targets),
            external=tuple(self.labels[-200:]),
            person_text=self.text,
        )


def start_work(text: str, quoted: str, state: SessionState) -> TurnWork:
    """Return the state at the start of a turn.

    Its `targets` are the records whose numbers stand in the person's text, and the current records of the conversation, if these are
    trusted (named by a person or created by a turn).
    """
    work = TurnWork(text=text, prose=bool(quoted), pasted=bool(quoted))
    for number in _NUMBER.findall(text):
        work.targets |= {f"{entity}:{int(number)}" for entity in _ENTITIES}
    trusted = set(state.trusted)
    for key, entity in _OBJECTS.items():
        current = f"{entity}:{state.agent.objects.get(key)}"
        if current in trusted:
            work.targets.add(current)
    return work


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationLine:
    """What the model is told about the result of one step: a status, and in `told` further details such as the `rows` read."""

    status: str
    told: JsonObject = field(default_factory=dict)


def format_line(number: int, method: str, line: ObservationLine, dates: Sequence[str]) -> JsonObject:
    """Return the line of the step `number` for the model, with what its days were taken for, so that the answer can name the period."""
    told = {**line.told, "dates": list(dates)} if dates else line.told
    return {"step": number, "method": method, "status": line.status, **told}


def build_unresolved_line(work: TurnWork, problem: Unresolved) -> ObservationLine:
    """Build the line for a step with an unresolved reference, and add the notice for the person to `work`."""
    work.notices.append(problem.notice)
    return ObservationLine(status="refused", told={"text": problem.detail})


def build_skipped_line() -> ObservationLine:
    """Build the line for a step that was not begun, because the plan was stopped before it."""
    return ObservationLine(status="not_begun", told={"text": "the plan stopped before this step"})


async def observe(ctx: TurnContext, work: TurnWork, *, number: int, result: Outcome | Pending) -> ObservationLine:
    """Build the line for the submitted step `number` from its result, and add the result to `work`."""
    if isinstance(result, Pending):
        work.pending.append(result)
        if result.notice is not None:
            work.notices.append(result.notice)
        return ObservationLine(status="waiting", told={"text": "a person was asked"})
    if result.foreign_text:
        work.prose = True
    match result.status:
        case "planned":
            work.planned.append(result)
            return ObservationLine(status=result.status)
        case "refused" | "unknown":
            if result.reason is not None:
                work.notices.append(result.reason)
            return ObservationLine(status=result.status, told={"text": result.detail})
        case "succeeded":
            if result.reason is not None:  # the portal reported success and changed nothing: code tells the person, not the model
                work.notices.append(result.reason)
            told = await _learn(ctx, work, number=number, outcome=result)
            return ObservationLine(status="ok", told={**told, "decided": result.decided} if result.decided else told)
        case _:
            assert_never(result.status)


async def _learn(ctx: TurnContext, work: TurnWork, *, number: int, outcome: Outcome) -> JsonObject:
    """Add to `work` what a successful call returned, and return the details of it that the model is told.

    Added are the names and titles in the answer, whether it holds free text of others, the table for the person, and the records that the
    call created or that the person's message names.
    """
    if outcome.created:
        work.targets.add(outcome.created)
    seen: OutcomeView = await ctx.query("present", outcome=outcome, actor=ctx.actor)
    work.labels.extend(seen.labels)
    work.prose = work.prose or seen.prose
    if seen.table is not None:
        work.tables[number] = seen.table
    work.targets |= await ctx.query("named", titles=seen.titles, text=work.text, actor=ctx.actor)
    told = {"rows": list(seen.rows), "total": seen.total, "sum": seen.sum_text, "text": seen.text, "created": outcome.created}
    return {key: value for key, value in told.items() if value not in (None, "", [])}
