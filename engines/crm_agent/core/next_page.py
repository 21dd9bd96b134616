"""Goes on with a list that a person saw only in part: the same call again, without the rows shown."""

from dataclasses import dataclass
from typing import Final

from engines.crm_agent.core.turn_work import Page, TurnWork
from orchestrator.directory.answers import Unresolved
from orchestrator.directory.outcome_view import OWN_RECORDS
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import TurnContext
from orchestrator.engines.crm_agent.blocks import Step

NEXT: Final = "list.next"
"""The method for the rows below those that the person saw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPage:
    step: Step
    page: Page


def find_next_page(ctx: TurnContext, work: TurnWork, proposed_step: Step) -> NextPage | Unresolved:
    """Unresolved if no list of this person was cut."""
    cut_list = ctx.state.last_shown
    if work.lists:
        detail = "list.next goes on with the list of an earlier answer; a list of this turn is shown with its marker"
        return Unresolved(notice=_NONE, detail=detail)
    if cut_list is None or not cut_list.method:
        return Unresolved(notice=_NONE, detail="no list of records was shown that could go on; read the list that is meant")
    if cut_list.by != ctx.actor.key:
        return Unresolved(notice=_NONE, detail="the list shown last was read for somebody else; read it anew for this person")
    last = cut_list.first + len(cut_list.rows) - 1
    if last >= cut_list.total:
        return Unresolved(
            notice=Notice(code="list-is-whole", args={"total": cut_list.total}), detail=f"all {cut_list.total} rows were shown"
        )
    seen = tuple(row.record for row in cut_list.rows if row.record)
    step = Step(method=cut_list.method, params=dict(cut_list.params), comment=proposed_step.comment)
    return NextPage(step=step, page=Page(first=last + 1, hidden=cut_list.first - 1, seen=seen))


def is_listable(method: str, group_by: str) -> bool:
    return not group_by and method.lower().endswith(".list") and OWN_RECORDS.fullmatch(method) is not None


_NONE: Final = Notice(code="no-next-page")
