"""The before-image holds what the card shows and the consent is bound to: neither less nor a customer's whole record."""

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.gate.call.before_image import build_before_image
from orchestrator.gate.call.effect import Facts
from tests.unit.gate.gate_kit import ACTIVITY, CONTACT, DEAL, TASK, call

ITEM = {"id": 5, "title": "Договор", "assignedById": 7, "opportunity": 100, "stageId": "DT177_1:NEW", "sourceDescription": "текст клиента"}
FACTS = Facts(
    records={
        ("deal", 481): DEAL,
        ("deal", 482): {**DEAL, "ID": "482"},
        ("contact", 43): CONTACT,
        ("task", 8017): TASK,
        ("activity", 55): ACTIVITY,
        ("item:177", 5): ITEM,
        ("deal", 999): None,
    }
)


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    ("method", "params", "image"),
    [
        (
            "crm.deal.update",
            {"id": 481, "fields": {"OPPORTUNITY": 5}},
            {"deal:481": {"OPPORTUNITY", "CURRENCY_ID", "TITLE", "ASSIGNED_BY_ID"}},
        ),
        (
            "crm.item.update",
            {"entityTypeId": 2, "id": 481, "fields": {"opportunity": 5}},
            {"deal:481": {"OPPORTUNITY", "CURRENCY_ID", "TITLE", "ASSIGNED_BY_ID"}},
        ),
        (
            "crm.item.update",
            {"entityTypeId": 177, "id": 5, "fields": {"opportunity": 5}},
            {"item:177:5": {"opportunity", "title", "assignedById"}},
        ),
        (
            "tasks.task.update",
            {"taskId": 8017, "fields": {"DEADLINE": "2026-12-01"}},
            {"task:8017": {"deadline", "title", "responsibleId"}},
        ),
        ("tasks.task.delegate", {"taskId": 8017, "userId": 8}, {"task:8017": {"title", "responsibleId"}}),
        ("crm.contact.update", {"id": 43, "fields": {"NAME": "И"}}, {"contact:43": {"NAME", "LAST_NAME", "ASSIGNED_BY_ID"}}),
        (
            "crm.deal.delete",
            {"id": 481},
            {"deal:481": {"OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "CATEGORY_ID", "TITLE", "ASSIGNED_BY_ID", "CONTACT_ID"}},
        ),
        ("crm.deal.update", {"id": 999, "fields": {"TITLE": "x"}}, {"deal:999": None}),
        ("crm.deal.update", {"id": 7, "fields": {"TITLE": "x"}}, {"deal:7": None}),
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, {}),
    ],
)
def test_an_image_holds_what_is_touched_and_whose_it_is(method: str, params: dict[str, Any], image: dict[str, set[str] | None]) -> None:
    """In either family of field names; comments and the like stay out."""
    found = build_before_image(call(method, params), FACTS)
    assert {name: shown if shown is None else set(shown) for name, shown in found.items()} == image


def test_a_batch_shows_every_record_once_with_all_that_is_touched() -> None:
    """Two commands on one record add up."""
    cmd = {
        "a": "crm.deal.update?id=481&fields[OPPORTUNITY]=5",
        "b": "crm.deal.update?id=481&fields[STAGE_ID]=WON",
        "c": "crm.deal.update?id=482&fields[TITLE]=x",
    }
    found = build_before_image(call("batch", {"cmd": cmd}), FACTS)
    assert set(found) == {"deal:481", "deal:482"}
    assert {"OPPORTUNITY", "STAGE_ID", "TITLE"} <= set(found["deal:481"])
    assert "OPPORTUNITY" not in found["deal:482"]


def test_a_change_of_a_shown_value_changes_the_image() -> None:
    """Which is how drift is seen; a value that is not shown does not."""
    made = call("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5}})
    first = build_before_image(made, FACTS)
    for name, differs in (
        ("OPPORTUNITY", True),
        ("ASSIGNED_BY_ID", True),
        ("TITLE", True),
        ("COMMENTS", False),
        ("CLOSEDATE", False),
        ("CURRENCY_ID", True),
    ):
        changed = Facts(records={("deal", 481): {**DEAL, name: "другое"}})
        assert (build_before_image(made, changed) != first) is differs, name


def test_a_record_of_an_undescribed_kind_shows_what_the_call_names() -> None:
    """Without an entity there is no owner or title field to add."""
    made = replace(call("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 5}}), entities={})
    assert build_before_image(made, FACTS) == {"deal:481": {"OPPORTUNITY": DEAL["OPPORTUNITY"]}}


@pytest.mark.parametrize(
    ("facts", "tied"),
    [
        (FACTS, {"TITLE", "ASSIGNED_BY_ID"}),
        (Facts(records={("activity", 55): ACTIVITY, ("deal", 481): None}), None),
        (Facts(records={("activity", 55): ACTIVITY}), None),
    ],
)
def test_a_record_that_something_is_hung_on_shows_whose_it_is(facts: Facts, tied: set[str] | None) -> None:
    """So that who approves is checked against it too; nothing else of it is kept."""
    found = build_before_image(call("crm.activity.update", {"id": 55, "fields": {"OWNER_TYPE_ID": 2, "OWNER_ID": 481}}), facts)
    assert set(found) == {"activity:55", "deal:481"}
    assert (found["deal:481"] if tied is None else set(found["deal:481"])) == tied
