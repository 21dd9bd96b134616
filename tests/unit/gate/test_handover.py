"""What a person loses by a call is found for every spelling of the owner, and nothing else counts as lost."""

from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.call.permissions import find_lost_records
from tests.unit.gate.gate_kit import FIRST, call, effect, judged

ANNA = Actor(key="tg:7", name="Анна", bitrix_user_id=7)
RECORDS: dict[tuple[str, int], dict[str, Any]] = {
    ("deal", 481): {"ID": "481", "TITLE": "Ромашка", "ASSIGNED_BY_ID": "7"},
    ("deal", 482): {"ID": "482", "TITLE": "Вектор", "ASSIGNED_BY_ID": "7"},
    ("deal", 500): {"ID": "500", "TITLE": "Чужая", "ASSIGNED_BY_ID": "8"},
    ("item:177", 5): {"id": 5, "title": "Заявка", "assignedById": 7},
    ("task", 8017): {"id": "8017", "title": "Счёт", "responsibleId": "7", "createdBy": "8"},
    ("task", 8018): {"id": "8018", "title": "Акт", "responsibleId": "7", "createdBy": "7"},
}


@pytest.mark.parametrize(
    ("method", "params", "lost"),
    [
        ("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 8}}, [("deal", 481)]),
        ("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"assignedById": 8}}, [("deal", 481)]),
        ("crm.item.update", {"entityTypeId": 177, "id": 5, "fields": {"assignedById": 8}}, [("item:177", 5)]),
        ("tasks.task.delegate", {"taskId": 8017, "userId": 8}, [("task", 8017)]),
        ("tasks.task.update", {"taskId": 8017, "fields": {"RESPONSIBLE_ID": 8}}, [("task", 8017)]),
        ("tasks.task.update", {"taskId": 8018, "fields": {"RESPONSIBLE_ID": 8}}, []),
        ("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 7}}, []),
        ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 8}}, []),
        ("crm.deal.update", {"id": 500, "fields": {"ASSIGNED_BY_ID": 9}}, []),
        ("crm.deal.add", {"fields": {"TITLE": "Новая", "ASSIGNED_BY_ID": 8}}, []),
        ("crm.deal.get", {"id": 481}, []),
    ],
)
def test_a_record_is_lost_if_its_owner_was_the_person_and_is_no_more(method: str, params: dict[str, Any], lost: list[Any]) -> None:
    assert list(find_lost_records(call(method, params, actor=ANNA), RECORDS, ANNA)) == lost


def test_of_a_batch_the_last_word_about_a_record_counts() -> None:
    """Handed over and taken back within one batch is not lost."""
    commands = {
        "a": "crm.deal.update?id=481&fields[ASSIGNED_BY_ID]=8",
        "b": "crm.deal.update?id=482&fields[ASSIGNED_BY_ID]=8",
        "c": "crm.deal.update?id=482&fields[ASSIGNED_BY_ID]=7",
    }
    assert list(find_lost_records(call("batch", {"cmd": commands}, actor=ANNA), RECORDS, ANNA)) == [("deal", 481)]


def test_who_sees_all_loses_nothing() -> None:
    given = call("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 8}}, actor=ANNA)
    assert find_lost_records(given, RECORDS, ANNA.model_copy(update={"sees": "all"})) == []
    assert find_lost_records(given, RECORDS, ANNA.model_copy(update={"sees": (7, 8)})) == []


def test_a_record_that_was_not_read_is_not_called_lost() -> None:
    assert find_lost_records(call("crm.deal.update", {"id": 481, "fields": {"ASSIGNED_BY_ID": 8}}, actor=ANNA), {}, ANNA) == []


@pytest.mark.parametrize(
    ("second", "args"),
    [
        ("", {"entity": "deal", "id": 481, "many": "no"}),
        ("crm.deal.update?id=482&fields[ASSIGNED_BY_ID]=8", {"entity": "deal", "id": 481, "many": "yes"}),
        ("crm.item.update?entityTypeId=177&id=5&fields[assignedById]=8", {"entity": "", "id": 481, "many": "yes"}),
    ],
)
def test_a_card_says_of_which_kind_the_lost_records_are_if_all_are_of_one(second: str, args: dict[str, Any]) -> None:
    """A deal and a request are two records, not two deals."""
    commands = {"a": "crm.deal.update?id=481&fields[ASSIGNED_BY_ID]=8", **({"b": second} if second else {})}
    verdict = judged(effect("batch", {"cmd": commands}), actor=ANNA, facts=Facts(records=RECORDS, first_stages=FIRST))
    (told,) = [reason for reason in getattr(verdict, "reasons", ()) if reason.code == "gate-hands-away"]
    assert told.args == {"who": "Анна", **args}
