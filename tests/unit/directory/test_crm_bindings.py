"""A task or an event is tied to records by references of every kind, alone and in lists; what cannot be tied is said."""

from typing import Any

import pytest

from orchestrator.directory.current_records import find_bound_references, replace_bound_references, strip_letters, to_binding


@pytest.mark.parametrize(
    ("kind", "binding"), [("deal", "D_481"), ("lead", "L_481"), ("contact", "C_481"), ("company", "CO_481"), ("task", ""), ("", "")]
)
def test_a_record_is_written_with_the_letter_of_its_kind(kind: str, binding: str) -> None:
    """Kinds without a letter cannot be tied."""
    assert to_binding(kind, 481) == binding


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"fields": {"UF_CRM_TASK": ["@shown:2", "@deal:Ромашка"], "TITLE": "@me"}}, ["@shown:2", "@deal:Ромашка"]),
        ({"fields": {"ufCrmTask": "@current"}}, ["@current"]),
        ({"filter": {"=UF_CRM_TASK": "@deal:Ромашка"}}, ["@deal:Ромашка"]),
        ({"crm_fields": ["@deal:Ромашка", "C_43"]}, ["@deal:Ромашка"]),
        ({"crmFields": "@current"}, ["@current"]),
        ({"UF_CRM_CAL_EVENT": ["@shown:1"]}, ["@shown:1"]),
        ({"fields": {"UF_CRM_TASK": ["D_481", "@created:1"]}}, []),
        ({"taskId": "@current"}, []),
    ],
)
def test_only_references_where_tasks_are_tied_are_found(params: dict[str, Any], found: list[str]) -> None:
    """Not those to records that are yet to be made, which get their number later."""
    assert find_bound_references(params) == found


def test_a_reference_has_another_value_where_a_task_is_tied() -> None:
    """The same reference stays a number's reference elsewhere in the call."""
    params = {"id": "@shown:2", "fields": {"UF_CRM_TASK": ["D_5", "@shown:2"], "TITLE": "@shown:2"}}
    assert replace_bound_references(params, {"@shown:2": "L_161"}) == {
        "id": "@shown:2",
        "fields": {"UF_CRM_TASK": ["D_5", "L_161"], "TITLE": "@shown:2"},
    }


def test_a_letter_that_the_model_wrote_itself_is_dropped() -> None:
    """The letter follows from the record; other texts with such a beginning stay."""
    written = {"fields": {"UF_CRM_TASK": ["D_@shown:2", "co_@company:Вектор", "D_481"], "TITLE": "D_@shown:2"}}
    assert strip_letters(written) == {"fields": {"UF_CRM_TASK": ["@shown:2", "@company:Вектор", "D_481"], "TITLE": "D_@shown:2"}}
