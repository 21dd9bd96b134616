"""The step `report`: its question is completed from the last one, and its names are found as those of a list are."""

from collections.abc import Mapping
from typing import Any

import pytest

from engines.crm_agent.core.report_step import build_list_step, complete_question, take_names
from orchestrator.directory.answers import Unresolved
from orchestrator.engines.crm_agent.blocks import Step
from state.events.fold import create_state, fold_events
from state.events.reports import ReportShown
from state.model.session_state import SessionState

LAST = {"of": "deals", "where": "won", "period": "@date:этот месяц", "group_by": ["person"], "compare": "previous"}


def _step(params: Mapping[str, Any]) -> Step:
    return Step(method="report", params=params, comment="")


def _shown(question: Mapping[str, Any]) -> SessionState:
    shown = [ReportShown(report_id=name, by="tg:7", question=asked) for name, asked in (("a", {"of": "calls"}), ("b", dict(question)))]
    return fold_events(create_state(), [("ReportShown", report.model_dump(), "") for report in shown])


def test_a_question_is_asked_again_with_what_changes() -> None:
    """Other keys stay, and null takes one away; the report shown last is meant."""
    step = complete_question(_step({"again": {"group_by": "source", "compare": None}}), _shown(LAST), "tg:7")
    assert isinstance(step, Step)
    assert step.params == {"of": "deals", "where": "won", "period": "@date:этот месяц", "group_by": "source"}


@pytest.mark.parametrize(
    ("params", "state", "words"),
    [
        ({"again": {"group_by": "source"}}, SessionState(), "no report was shown"),
        ({"again": "source"}, _shown(LAST), "again stands alone"),
        ({"again": {"group_by": "source"}, "of": "leads"}, _shown(LAST), "again stands alone"),
    ],
)
def test_what_cannot_be_asked_again_is_said(params: Mapping[str, Any], state: SessionState, words: str) -> None:
    """Nothing is guessed."""
    refused = complete_question(_step(params), state, "tg:7")
    assert isinstance(refused, Unresolved)
    assert words in refused.detail


def test_the_last_report_of_somebody_else_in_the_chat_is_not_meant() -> None:
    """In a group everybody goes on with their own question."""
    assert isinstance(complete_question(_step({"again": {"group_by": "source"}}), _shown(LAST), "tg:8"), Unresolved)


def test_a_whole_question_stays_as_it_is() -> None:
    """The last one plays no part."""
    assert complete_question(_step({"of": "leads"}), _shown(LAST), "tg:7") == _step({"of": "leads"})


def test_the_names_of_a_question_stand_where_a_list_would_have_them() -> None:
    """In the filter, the groups, the funnel and the plan; what is found there goes back to its place."""
    question = {
        "of": "deals",
        "filter": {"SOURCE_ID": "@option:Звонок", "@field:Договор": "x"},
        "group_by": ["person", "@field:Тип оплаты"],
        "funnel": "@category:Продажи",
        "plan": {"@user:Борис": 2_000_000, "@user:Вера": 1},
    }
    asked = build_list_step(_step(question))
    assert asked.method == "crm.deal.list"
    assert asked.params == {
        "filter": question["filter"],
        "select": ["person", "@field:Тип оплаты"],
        "ASSIGNED_BY_ID": ["@user:Борис", "@user:Вера"],
        "CATEGORY_ID": "@category:Продажи",
    }
    found = {
        "filter": {"SOURCE_ID": "CALL", "UF_CRM_2": "x"},
        "select": ["person", "UF_CRM_1"],
        "ASSIGNED_BY_ID": [7, 8],
        "CATEGORY_ID": 0,
    }
    assert take_names(_step(question), found).params == {
        "of": "deals",
        "filter": {"SOURCE_ID": "CALL", "UF_CRM_2": "x"},
        "group_by": ["person", "UF_CRM_1"],
        "funnel": 0,
        "plan": {"7": 2_000_000, "8": 1},
    }


@pytest.mark.parametrize(
    ("of", "method"),
    [
        ("leads", "crm.lead.list"),
        ("calls", "voximplant.statistic.get"),
        ("activities", "crm.activity.list"),
        ("tasks", "tasks.task.list"),
        ("moves", "crm.deal.list"),
        ("nonsense", "crm.deal.list"),
    ],
)
def test_names_are_looked_up_among_the_records_that_are_counted(of: str, method: str) -> None:
    """What is no subject at all is refused later, with what is possible."""
    assert build_list_step(_step({"of": of})).method == method


def test_names_of_a_smart_process_are_those_of_its_own() -> None:
    """The number of the process goes along."""
    asked = build_list_step(_step({"of": "item:31", "filter": {}}))
    assert (asked.method, asked.params["entityTypeId"]) == ("crm.item.list", "31")
