"""Goes on with the list that a person saw only in part: the same call again, and of its rows those that were not shown yet.

The model writes the step "list.next" and no filter: what it would write anew may differ, and the person would get the rest of another list.
"""

from dataclasses import dataclass
from typing import Final

from engines.crm_agent.core.turn_work import Page, TurnWork
from orchestrator.directory.answers import Unresolved
from orchestrator.directory.outcome_view import OWN_RECORDS
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import TurnContext
from orchestrator.engines.crm_agent.blocks import Step

NEXT: Final = "list.next"
"""The method with which the model asks for the rows below those that the person saw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPage:
    """The step that reads the list again, and which of its rows come next."""

    step: Step
    page: Page


def find_next_page(ctx: TurnContext, work: TurnWork, written: Step) -> NextPage | Unresolved:
    """Return what to read for the step "list.next"; Unresolved if there is no list of this person that was cut."""
    shown = ctx.state.last_shown
    if work.lists:
        detail = "list.next goes on with the list of an earlier answer; a list of this turn is shown with its marker"
        return Unresolved(notice=_NONE, detail=detail)
    if shown is None or not shown.method:
        return Unresolved(notice=_NONE, detail="no list of records was shown that could go on; read the list that is meant")
    if shown.by != ctx.actor.key:
        return Unresolved(notice=_NONE, detail="the list shown last was read for somebody else; read it anew for this person")
    last = shown.first + len(shown.rows) - 1
    if last >= shown.total:
        return Unresolved(notice=Notice(code="list-is-whole", args={"total": shown.total}), detail=f"all {shown.total} rows were shown")
    seen = tuple(row.record for row in shown.rows if row.record)
    step = Step(method=shown.method, params=dict(shown.params), comment=written.comment)
    return NextPage(step=step, page=Page(first=last + 1, hidden=shown.first - 1, seen=seen))


def is_listable(method: str, group_by: str) -> bool:
    """Return whether the list that the method reads can go on: its rows are records, and it is not counted by the field `group_by`."""
    return not group_by and method.lower().endswith(".list") and OWN_RECORDS.fullmatch(method) is not None


_NONE: Final = Notice(code="no-next-page")
