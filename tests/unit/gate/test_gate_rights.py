"""Which records are read before judging, and whose a record is."""

from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.gate.call.permissions import find_needed_records, find_visible_users, may_touch
from tests.unit.gate.gate_kit import ANNA, BORIS, DEAL, LEAD, LOST, TASK, TEAM, TOKEN, call, catalogue

ENTITIES = catalogue().entities


@pytest.mark.parametrize(
    ("actor", "users"),
    [(ANNA, {7}), (TEAM, {6, 7, 8}), (LEAD, None), (TOKEN, None), (LOST, set()), (Actor(key="x", name="X", sees=(8,)), {8})],
)
def test_whose_records_an_actor_sees(actor: Actor, users: set[int] | None) -> None:
    """own, a list, all; oneself always."""
    assert find_visible_users(actor) == users


@pytest.mark.parametrize(
    ("method", "params", "actor", "targets"),
    [
        ("crm.deal.get", {"id": 481}, ANNA, [("deal", 481)]),
        ("crm.deal.get", {"id": 481}, LEAD, []),
        ("crm.deal.update", {"id": 481, "fields": {"TITLE": "x"}}, LEAD, [("deal", 481)]),
        ("crm.item.update", {"entityTypeId": 177, "id": 5, "fields": {"title": "x"}}, LEAD, [("item:177", 5)]),
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, ANNA, []),
        ("crm.deal.list", {}, ANNA, []),
        ("calendar.event.add", {"type": "user", "ownerId": 7, "name": "x", "from": "a", "to": "b"}, ANNA, []),
        ("crm.timeline.comment.get", {"id": 3}, ANNA, []),
        ("crm.timeline.comment.update", {"id": 3, "fields": {"COMMENT": "x"}}, LEAD, [("comment", 3)]),
        (
            "batch",
            {"cmd": {"a": "crm.deal.get?id=481", "b": "crm.deal.update?id=481&fields[TITLE]=x", "c": "crm.contact.get?id=43"}},
            ANNA,
            [("deal", 481), ("contact", 43)],
        ),
        ("batch", {"cmd": {"a": "crm.deal.get?id=481", "b": "crm.deal.update?id=500&fields[TITLE]=x"}}, LEAD, [("deal", 500)]),
    ],
)
def test_what_must_be_read_before_judging(method: str, params: dict[str, Any], actor: Actor, targets: list[Any]) -> None:
    """Writes for their before-image, reads only to check whose it is; each record once."""
    assert list(find_needed_records(call(method, params, actor=actor), actor)) == targets


@pytest.mark.parametrize(
    ("actor", "entity", "record", "may"),
    [
        (ANNA, "deal", DEAL, True),
        (BORIS, "deal", DEAL, False),
        (BORIS, "deal", {"assignedById": 8}, True),
        (TEAM, "deal", DEAL, True),
        (LEAD, "deal", {}, True),
        (ANNA, "deal", {}, False),
        (ANNA, "deal", {"ASSIGNED_BY_ID": None}, False),
        (ANNA, "deal", {"ASSIGNED_BY_ID": "77"}, False),
        (ANNA, "task", TASK, True),
        (Actor(key="v", name="В", bitrix_user_id=6), "task", TASK, True),
        (BORIS, "task", TASK, False),
        (LOST, "deal", DEAL, False),
        (ANNA, None, DEAL, False),
        (ANNA, "deal", None, False),
        (TOKEN, None, None, True),
    ],
)
def test_who_may_touch_a_record(actor: Actor, entity: str | None, record: Any, *, may: bool) -> None:
    """Its responsible person decides, in either spelling; a task is also its author's."""
    assert may_touch(actor, ENTITIES[entity] if entity else None, record) is may
