"""The step `report`: what a later question changes, and the names in it, are completed before the gate is asked."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from engines.crm_agent.core.planned_steps import PlannedStep, Stage
from orchestrator.analytics.again import merge_question
from orchestrator.directory.answers import Unresolved
from orchestrator.domain.outputs import Notice
from orchestrator.domain.report import RECORDS, ReportTrouble
from orchestrator.engines.base import TurnContext
from orchestrator.engines.crm_agent.blocks import Step
from state.events.reports import find_last_question
from state.model.session_state import SessionState
from state.stored import JsonObject

AGAIN: Final = "again"
_SHOW: Final = "show"
_PER: Final = "per"
_ITEMS: Final = "item:"
_LISTS: Final[Mapping[str, str]] = {
    "leads": "crm.lead.list",
    "calls": "voximplant.statistic.get",
    "activities": "crm.activity.list",
    "tasks": "tasks.task.list",
}
"""What is counted → the list whose fields a filter names; of all others, deals."""
_PERSON: Final = {"leads": "ASSIGNED_BY_ID", "calls": "PORTAL_USER_ID", "activities": "RESPONSIBLE_ID", "tasks": "RESPONSIBLE_ID"}


def complete_question(step: Step, state: SessionState, by: str) -> Step | Unresolved:
    """With `again`, the last question with some keys changed; a key that becomes null is left out."""
    changes = step.params.get(AGAIN)
    if changes is None:
        return step
    last = find_last_question(state, by)
    if not isinstance(changes, Mapping) or len(step.params) > 1:
        return _refuse('again stands alone and holds the keys to change: {"again": {"group_by": "source"}}')
    if last is None:
        return _refuse("no report was shown that could be asked again; write the whole report")
    return replace(step, params=merge_question(last, changes))


def _refuse(detail: str) -> Unresolved:
    return Unresolved(notice=Notice(code="report-again-unclear"), detail=detail)


async def build_records_step(ctx: TurnContext, planned: PlannedStep) -> PlannedStep:
    """The list of the records that are counted, if that is asked for."""
    if planned.problem is not None or planned.step.params.get(_SHOW) != RECORDS:
        return planned
    question = {name: value for name, value in planned.step.params.items() if name != _SHOW}
    found: tuple[str, JsonObject] | ReportTrouble = await ctx.query("report_records", question=question, actor=ctx.actor)
    if isinstance(found, ReportTrouble):
        notice = Notice(code="report-trouble", args={"text": found.text})
        return replace(planned, problem=Unresolved(notice=notice, detail=found.detail))
    method, params = found
    return replace(planned, step=replace(planned.step, method=method, params=params))


def build_list_step(step: Step) -> Step:
    """A list with all names of the question in it, so that they are found as those of a list are."""
    question = step.params
    counted = str(question.get("of") or "deals")
    method = "crm.item.list" if counted.startswith(_ITEMS) else _LISTS.get(counted, "crm.deal.list")
    kind = {"entityTypeId": counted.removeprefix(_ITEMS)} if counted.startswith(_ITEMS) else {}
    plan = question.get("plan")
    people = {_PERSON.get(counted, "ASSIGNED_BY_ID"): list(plan)} if isinstance(plan, Mapping) else {}
    funnel = {"CATEGORY_ID": question["funnel"]} if question.get("funnel") is not None else {}
    params = {"filter": question.get("filter") or {}, "select": _list_groups(question), **people, **funnel, **kind}
    return replace(step, method=method, params=params)


def _list_groups(question: JsonObject) -> list[Any]:
    groups = question.get("group_by")
    return list(groups) if isinstance(groups, list) else [groups] if groups is not None else []


def list_stages(step: Step) -> list[Stage]:
    """Where names of the question stand, also of that by which it is divided."""
    inner: list[Stage] = [(build_inner_list_step, take_inner_names)] if isinstance(step.params.get(_PER), Mapping) else []
    return [(build_list_step, take_names), *inner]


def build_inner_list_step(step: Step) -> Step:
    """That of the report by which this one is divided."""
    return build_list_step(_get_inner(step))


def take_inner_names(step: Step, resolved: JsonObject) -> Step:
    return replace(step, params={**step.params, _PER: take_names(_get_inner(step), resolved).params})


def _get_inner(step: Step) -> Step:
    return replace(step, params=step.params[_PER])


def take_names(step: Step, resolved: JsonObject) -> Step:
    """`resolved` are the parameters of the list with its names found."""
    question = dict(step.params)
    if question.get("filter"):
        question["filter"] = resolved["filter"]
    if question.get("group_by") is not None:
        question["group_by"] = resolved["select"]
    if question.get("funnel") is not None:
        question["funnel"] = resolved["CATEGORY_ID"]
    if isinstance(question.get("plan"), Mapping):
        counted = str(question.get("of") or "deals")
        people = resolved[_PERSON.get(counted, "ASSIGNED_BY_ID")]
        question["plan"] = dict(zip(map(str, people), question["plan"].values(), strict=True))
    return replace(step, params=question)
