"""The parts of a standing order get their names found each in its own way, and days that repeat stay words."""

from typing import Any

from engines.crm_agent.core.order_step import list_stages
from orchestrator.engines.crm_agent.blocks import Step
from state.stored import JsonObject


def settle(params: JsonObject, **found: JsonObject) -> tuple[list[Step], JsonObject]:
    """The calls whose names are looked for, and the order with what stands in `found`, by their methods with "_"."""
    step = Step(method="order.add", params=params, comment="")
    calls = []
    for build, take in list_stages(step):
        call = build(step)
        calls.append(call)
        step = take(step, found.get(call.method.replace(".", "_"), call.params))
    return calls, step.params


def test_names_of_a_filter_are_found_as_those_of_a_list_and_its_days_stay() -> None:
    """A period of today would be wrong next week."""
    conditions = {"ASSIGNED_BY_ID": "@user:Анна", "DATE_CREATE": "@date:сегодня"}
    calls, params = settle({"of": "leads", "filter": conditions, "changes": ["STATUS_ID"]}, crm_lead_list={"filter": {"ASSIGNED_BY_ID": 7}})
    assert [call.method for call in calls] == ["order.add", "crm.lead.list"]
    assert calls[1].params["filter"] == {"ASSIGNED_BY_ID": "@user:Анна"}
    assert params["filter"] == {"ASSIGNED_BY_ID": 7, "DATE_CREATE": "@date:сегодня"}


def test_a_report_keeps_its_period_and_gets_its_names() -> None:
    """The rest of the question is as it was."""
    report = {"of": "deals", "period": "@date:прошлая неделя", "group_by": "@field:Площадка"}
    calls, params = settle({"cron": "0 9 * * MON", "report": report}, crm_deal_list={"filter": {}, "select": ["UF_1"]})
    assert calls[1].params["select"] == ["@field:Площадка"]
    assert params["report"] == {"of": "deals", "period": "@date:прошлая неделя", "group_by": ["UF_1"]}


def test_a_proposal_is_settled_as_its_own_step_and_its_days_stay() -> None:
    """The day is that of the moment at which the order works."""
    fields: dict[str, Any] = {"TITLE": "{title}", "RESPONSIBLE_ID": "@user:Анна", "DEADLINE": "@date:завтра в 10"}
    proposal = {"method": "tasks.task.add", "params": {"fields": fields}}
    found = {"fields": {"RESPONSIBLE_ID": 7, "DEADLINE": "2026-11-22T10:00:00+03:00"}}
    _, params = settle({"deal": "481", "changes": ["OPPORTUNITY"], "propose": proposal}, tasks_task_add=found)
    assert params["propose"]["params"]["fields"] == {**fields, "RESPONSIBLE_ID": 7}
    assert params["deal"] == 481


def test_a_place_that_a_firing_fills_is_looked_for_nowhere() -> None:
    """«No employee is called {owner}» would refuse the order; text with a place in it stays what it is."""
    fields = {"TITLE": "Позвонить: {title}", "RESPONSIBLE_ID": "{owner}", "AUDITORS": ["{owner}"], "UF_CRM_TASK": ["D_{record}"]}
    proposal = {"method": "tasks.task.add", "params": {"id": "{record}", "fields": fields}}
    calls, params = settle({"of": "deals", "quiet": 14, "propose": proposal})
    (proposed,) = [call for call in calls if call.method == "tasks.task.add"]
    assert proposed.params == {"fields": {"TITLE": "Позвонить: {title}", "UF_CRM_TASK": ["D_{record}"]}}
    assert params["propose"] == proposal
