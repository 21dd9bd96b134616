"""What one turn of the CRM agent has learned so far: named records, labels and prose that entered the prompt. Pure data.

What the outcome of a step teaches: its line for the model, sentences for the person, taint, records. Judges nothing. Ring 2.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from orchestrator.directory.answers import OutcomeView, Unresolved
from orchestrator.domain.effect import Provenance
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice, Table
from orchestrator.engines.base import TurnContext

_NUMBER = re.compile(r"(?<![\d.,])\d{1,10}(?![\d.,]*\d)")
_ENTITIES = ("deal", "lead", "contact", "company", "task", "activity", "user")
_OBJECTS = {"current_deal_id": "deal", "current_contact_id": "contact", "current_company_id": "company", "current_task_id": "task"}


@dataclass(kw_only=True)
class TurnWork:
    """Grows while the turn goes on. `prose` never goes back to False within a turn (DESIGN §3, taint)."""

    text: str
    prose: bool = False
    targets: set[str] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    planned: list[Outcome] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)
    """Steps that did not run: they stay in next_planned_actions (S004-X7)."""
    rest: list[dict[str, Any]] = field(default_factory=list)
    """Steps that a stopped plan did not come to: they stay there too, and the person is told."""
    tables: dict[int, Table] = field(default_factory=dict)
    resolved: dict[str, Any] = field(default_factory=dict)

    def begin_iteration(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """A new iteration begins: [[list N]] means its tables, and what it proposes again is no longer the rest of a stopped plan."""
        self.tables.clear()
        self.rest = [entry for entry in self.rest if (entry["method"], entry["params"]) not in steps]

    def build_provenance(self) -> Provenance:
        """What the gate is told about the next step."""
        return Provenance(prose=self.prose, targets=frozenset(self.targets), external=tuple(self.labels[-200:]), person_text=self.text)


def start_work(text: str, quoted: str, state: Mapping[str, Any]) -> TurnWork:
    """The work at the beginning of a turn: numbers the person wrote, and the trusted current objects."""
    work = TurnWork(text=text, prose=bool(quoted))
    for number in _NUMBER.findall(text):
        work.targets |= {f"{entity}:{int(number)}" for entity in _ENTITIES}
    trusted = set(state["trusted"])
    for key, entity in _OBJECTS.items():
        current = f"{entity}:{state['agent']['objects'].get(key)}"
        if current in trusted:
            work.targets.add(current)
    return work


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
