"""The decision about values: which changes and which new records ask, whatever way they take."""

from typing import Any

import pytest

from orchestrator.gate.call.effect import Facts
from tests.unit.gate.gate_kit import DEAL, TOKEN, effect, judged, said

UPDATE = ("crm.deal.update", {"id": 481, "fields": {"TITLE": "Новое"}})


@pytest.mark.req("S004-29", "S004-X2")
@pytest.mark.parametrize(
    ("method", "fields", "codes"),
    [
        ("crm.deal.update", {"OPPORTUNITY": 1200000}, ["gate-critical"]),
        ("crm.deal.update", {"opportunity": 1200000}, ["gate-critical"]),
        ("crm.deal.update", {"OPPORTUNITY": 1000000}, []),
        ("crm.deal.update", {"OPPORTUNITY": "1000000.00"}, []),
        ("crm.deal.update", {"OPPORTUNITY": "1 000 000"}, ["gate-critical"]),
        ("crm.deal.update", {"OPPORTUNITY": "１００００００"}, ["gate-critical"]),
        ("crm.deal.update", {"OPPORTUNITY": ""}, ["gate-critical"]),
        ("crm.deal.update", {"ASSIGNED_BY_ID": 7}, []),
        ("crm.deal.update", {"ASSIGNED_BY_ID": "8"}, ["gate-critical"]),
        ("crm.deal.update", {"STAGE_ID": "NEW"}, []),
        ("crm.deal.update", {"STAGE_ID": "WON"}, ["gate-critical"]),
        ("crm.deal.update", {"CATEGORY_ID": 0}, []),
        ("crm.deal.update", {"CLOSEDATE": "2026-12-25"}, []),
        ("crm.deal.update", {"CLOSEDATE": "2026-12-26"}, ["gate-critical"]),
        ("crm.deal.update", {"CLOSEDATE": "скоро"}, ["gate-critical"]),
        ("crm.deal.update", {"OPENED": True}, []),
        ("crm.deal.update", {"OPENED": "0"}, ["gate-critical"]),
        ("crm.deal.update", {"CONTACT_ID": 0}, []),
        ("crm.deal.update", {"CONTACT_ID": ""}, []),
        ("crm.deal.update", {"CONTACT_IDS": [43]}, ["gate-critical"]),
        ("crm.deal.update", {"PROBABILITY": None}, []),
        ("crm.deal.update", {"COMMENTS": "x", "TITLE": "y"}, []),
        ("crm.deal.update", {"OPPORTUNITY": {"a": 1}}, ["gate-critical"]),
        ("crm.deal.update", {"OPPORTUNITY": 5, "STAGE_ID": "WON"}, ["gate-critical", "gate-critical"]),
        ("crm.item.update", {"opportunity": 1200000}, ["gate-critical"]),
        ("crm.item.update", {"stageId": "WON", "title": "x"}, ["gate-critical"]),
        ("crm.item.update", {"opportunity": 1000000, "assignedById": 7, "closedate": "2026-12-25T03:00:00+03:00"}, []),
        ("crm.contact.update", {"PHONE": [{"ID": "156", "VALUE": "+7900", "VALUE_TYPE": "WORK"}]}, []),
        ("crm.contact.update", {"PHONE": [{"ID": 156, "VALUE": "+7901"}]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": [{"ID": 156}]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": [{"ID": 156, "VALUE": "+7900", "DELETE": "Y"}]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": [{"VALUE": "+7900"}]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": ["+7900"]}, ["gate-critical"]),
        ("crm.contact.update", {"PHONE": "+7900"}, ["gate-critical"]),
        ("crm.contact.update", {"EMAIL": [{"VALUE": "a@b.c"}]}, ["gate-critical"]),
        ("tasks.task.update", {"DEADLINE": "2026-12-01T07:00:00+00:00"}, []),
        ("tasks.task.update", {"DEADLINE": "2026-12-01T10:00:00"}, []),
        ("tasks.task.update", {"DEADLINE": "2026-12-01T11:00:00"}, ["gate-critical"]),
        ("tasks.task.update", {"deadline": "2026-12-02T10:00:00+03:00"}, ["gate-critical"]),
        ("tasks.task.update", {"responsibleId": 8}, ["gate-critical"]),
        ("tasks.task.update", {"STATUS": 2}, []),
        ("tasks.task.update", {"DESCRIPTION": "x"}, []),
        ("crm.activity.update", {"COMPLETED": "Y"}, ["gate-critical"]),
        ("crm.activity.update", {"COMPLETED": "N", "SUBJECT": "x"}, []),
    ],
)
def test_a_critical_field_asks_when_its_value_really_changes(method: str, fields: dict[str, Any], codes: list[str]) -> None:
    """Both spellings, and a value that holds already asks nobody."""
    number = {"crm.contact.update": 43, "tasks.task.update": 8017, "crm.activity.update": 55}.get(method, 481)
    params = {"taskId" if method.startswith("tasks") else "id": number, "fields": fields}
    if method == "crm.item.update":
        params["entityTypeId"] = 2
    assert said(judged(effect(method, params))) == codes


@pytest.mark.req("S004-29")
@pytest.mark.parametrize(
    ("method", "params", "codes"),
    [
        ("tasks.task.delegate", {"taskId": 8017, "userId": 8}, ["gate-critical"]),
        ("tasks.task.delegate", {"taskId": 8017, "userId": 7}, []),
        ("tasks.task.complete", {"taskId": 8017}, ["gate-critical-action"]),
        ("tasks.task.start", {"taskId": 8017}, []),
        ("crm.activity.todo.updateDeadline", {"id": 55, "ownerTypeId": 2, "ownerId": 481, "value": "2026-12-02T10:00:00+03:00"},
         ["gate-critical"]),
        ("crm.activity.todo.updateDeadline", {"id": 55, "ownerTypeId": 2, "ownerId": 481, "value": "2026-12-01T10:00:00+03:00"}, []),
        ("crm.activity.todo.updateResponsibleUser", {"id": 55, "ownerTypeId": 2, "ownerId": 481, "responsibleId": 8}, ["gate-critical"]),
        ("crm.deal.contact.items.set", {"id": 481, "items": [{"CONTACT_ID": 43}]}, ["gate-critical-action", "gate-critical"]),
        ("crm.deal.productrows.set", {"id": 481, "rows": [{"PRICE": 5}]}, ["gate-class-money", "gate-critical"]),
        ("crm.item.payment.pay", {"id": 5}, ["gate-class-money"]),
        ("im.notify", {"USER_ID": 7, "MESSAGE": "x"}, ["gate-class-outward"]),
        ("user.add", {"EMAIL": "a@b.c"}, ["gate-class-outward", "gate-class-config"]),
        ("crm.status.add", {"fields": {"NAME": "x"}}, ["gate-class-config"]),
        ("bizproc.workflow.start", {"TEMPLATE_ID": 1, "DOCUMENT_ID": ["crm"]}, ["gate-critical-action"]),
    ],
)  # fmt: skip
def test_other_ways_to_the_same_change_ask_too(method: str, params: dict[str, Any], codes: list[str]) -> None:
    """Delegating, moving a deadline, replacing rows, writing to people: each asks by its own rule."""
    assert said(judged(effect(method, params))) == codes


@pytest.mark.req("S004-X13")
@pytest.mark.parametrize(
    ("method", "params", "codes"),
    [
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, []),
        ("crm.deal.add", {"fields": {"OPPORTUNITY": 0}}, []),
        ("crm.deal.add", {"fields": {"OPPORTUNITY": "100"}}, ["gate-add-sum"]),
        ("crm.deal.add", {"fields": {"opportunity": "сто"}}, ["gate-add-sum"]),
        ("crm.deal.add", {"fields": {"ASSIGNED_BY_ID": 6}}, []),
        ("crm.deal.add", {"fields": {"ASSIGNED_BY_ID": 8}}, ["gate-add-person"]),
        ("crm.deal.add", {"fields": {"STAGE_ID": "NEW"}}, []),
        ("crm.deal.add", {"fields": {"STAGE_ID": "WON"}}, ["gate-add-stage"]),
        ("crm.deal.add", {"fields": {"CATEGORY_ID": 1, "STAGE_ID": "C1:NEW"}}, []),
        ("crm.deal.add", {"fields": {"CATEGORY_ID": 1, "STAGE_ID": "NEW"}}, ["gate-add-stage"]),
        ("crm.deal.add", {"fields": {"CATEGORY_ID": 9, "STAGE_ID": "C9:NEW"}}, ["gate-add-stage"]),
        ("crm.deal.add", {"fields": {"CLOSEDATE": "2026-12-25", "STAGE_ID": "", "PROBABILITY": 50}}, []),
        ("crm.lead.add", {"fields": {"STATUS_ID": "NEW", "PHONE": [{"VALUE": "+7"}]}}, []),
        ("crm.lead.add", {"fields": {"STATUS_ID": "CONVERTED"}}, ["gate-add-stage"]),
        (
            "crm.item.add",
            {"entityTypeId": 2, "fields": {"opportunity": 5, "assignedById": 8, "stageId": "WON"}},
            ["gate-add-sum", "gate-add-person", "gate-add-stage"],
        ),
        ("tasks.task.add", {"fields": {"TITLE": "x", "DEADLINE": "2026-12-01T10:00:00+03:00"}}, []),
        ("tasks.task.add", {"fields": {"TITLE": "x", "RESPONSIBLE_ID": 8}}, ["gate-add-person"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "AUDITORS": [6, 8]}}, ["gate-add-person"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "ACCOMPLICES": {"0": 6}}}, []),
        ("tasks.task.add", {"fields": {"TITLE": "x", "CREATED_BY": 1}}, ["gate-add-person"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "STATUS": 5}}, ["gate-add-stage"]),
        ("tasks.task.add", {"fields": {"TITLE": "x", "STATUS": "2"}}, []),
        ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 481, "deadline": "x"}, []),
        ("crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 481, "deadline": "x", "responsibleId": 8}, ["gate-add-person"]),
        ("crm.item.productrow.add", {"fields": {"ownerId": 481, "ownerType": "D", "price": 5}}, ["gate-class-money", "gate-add-sum"]),
    ],
)
def test_a_new_record_asks_for_a_sum_a_person_or_a_stage(method: str, params: dict[str, Any], codes: list[str]) -> None:
    """And for nothing else: a task for oneself with a deadline just runs."""
    assert said(judged(effect(method, params))) == codes


def test_a_token_that_names_a_person_asks() -> None:
    """Without a speaker every person is another person."""
    assert said(judged(effect("crm.deal.add", {"fields": {"ASSIGNED_BY_ID": 7}}), actor=TOKEN)) == ["gate-add-person"]


@pytest.mark.req("S004-11", "S004-31", "S004-A1")
def test_the_models_own_word_never_confirms() -> None:
    """`confirmed: true` changes nothing; asking for a confirmation adds one; only a denial is honoured."""
    change = {"id": 481, "fields": {"OPPORTUNITY": 5}}
    assert said(judged(effect("crm.deal.update", change, confirmed=True, confirmation_decision="approve"))) == ["gate-critical"]
    assert said(judged(effect("crm.deal.get", {"id": 481}, requires_confirmation=True))) == ["gate-model-asks"]
    assert said(judged(effect("crm.deal.get", {"id": 481}, requires_confirmation=True, proposed_by="undo"))) == ["gate-undo"]
    assert said(judged(effect(*UPDATE, requires_confirmation=False))) == []
    assert said(judged(effect(*UPDATE, confirmation_decision=" Deny "))) == ["gate-withdrawn"]


def test_a_record_that_was_not_read_counts_as_changed() -> None:
    """Without its present state every critical field asks."""
    what = effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1000000}})
    assert said(judged(what, facts=Facts())) == ["gate-critical"]


def test_new_members_of_a_checklist_are_people() -> None:
    """An item that names a colleague asks, a plain one does not."""
    params: dict[str, Any] = {"TASKID": 8017, "FIELDS": {"TITLE": "x"}}
    assert said(judged(effect("task.checklistitem.add", params))) == []
    params["FIELDS"]["MEMBERS"] = {"13": {"TYPE": "A"}}
    assert said(judged(effect("task.checklistitem.add", params))) == ["gate-add-person"]


def test_the_same_reason_is_given_once() -> None:
    """Two fields that are one to the person make one reason."""
    verdict = judged(effect("crm.activity.todo.update", {"id": 55, "ownerTypeId": 2, "ownerId": 481, "deadline": "x", "responsibleId": 7}))
    assert said(verdict) == ["gate-critical"]
    assert verdict.reasons[0].args == {"field": "DEADLINE"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("written", "codes"),
    [
        (["ТН-7"], ["gate-critical"]),
        ("ТН-7", ["gate-critical"]),
        ([], ["gate-critical"]),
        ("", ["gate-critical"]),
        (["ТН-1"], ["gate-critical"]),
        (["ТН-1", "ТН-2"], []),
        (["ТН-2", "ТН-1", "ТН-7"], []),
        ({"0": "ТН-1", "1": "ТН-2", "2": "ТН-7"}, []),
    ],
)
@pytest.mark.parametrize(
    ("method", "name"), [("crm.deal.update", "UF_CRM_1747310105"), ("crm.item.update", "ufCrm_1747310105")], ids=["classic", "item"]
)
def test_who_adds_to_a_list_loses_none_of_it_without_a_card(method: str, name: str, written: object, codes: list[str]) -> None:
    """A custom field of several values is replaced as a whole: a model that names only the new one would take the others away."""
    kind = {"entityTypeId": 2} if method == "crm.item.update" else {}
    here = Facts(records={("deal", 481): {**DEAL, name: ["ТН-1", "ТН-2"]}})
    assert said(judged(effect(method, {**kind, "id": 481, "fields": {name: written}}), facts=here)) == codes
