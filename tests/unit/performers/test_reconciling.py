"""How two values of the portal are compared when a lost answer is looked for, and marks that no list can find."""

from typing import Any

import pytest

from orchestrator.gate.call.effect import Call
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.performers.reconciliation import is_same_meaning, reconcile
from orchestrator.performers.state_changes import build_changes
from tests.unit.spine_kit import VERA, World, effect
from tests.unit.spine_portal import says


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("120000.00", 120000, True),
        ("481", 481, True),
        ("1.50", "1.5", True),
        (None, "", True),
        ("0", None, True),
        (0, "", True),
        ([], "", True),
        ("0", "5", False),
        (None, "x", False),
        ("a", "b", False),
        ("2026-12-01", "2026-12-01T03:00:00+03:00", True),
        ("2026-12-01T03:00:00+03:00", "2026-12-02", False),
        ("2026-12-01T03:00:00+03:00", "2026-12-01T04:00:00+03:00", False),
        ("C1:NEW", "C1:WON", False),
        ([1], [1], True),
        ([1], [2], False),
    ],
)
def test_values_that_mean_the_same(left: Any, right: Any, *, equal: bool) -> None:
    """Either way round."""
    assert is_same_meaning(left, right) is equal
    assert is_same_meaning(right, left) is equal


def added(world: World, method: str, params: dict[str, Any]) -> Call:
    """An add as it was sent."""
    call = normalize(effect(method, params), catalogue=world.gate.deps.catalogue, portal="p", actor=VERA, effect_id="e1")
    assert isinstance(call, Call), call
    return call


ACTIVITY = {"SUBJECT": "Звонок", "TYPE_ID": 2, "OWNER_ID": 481, "OWNER_TYPE_ID": 2, "RESPONSIBLE_ID": 7, "COMMUNICATIONS": []}
MARK = {"ORIGINATOR_ID": "sdelka", "ORIGIN_ID": "e1"}
ITEM_MARK = {"originatorId": "sdelka", "originId": "e1"}


@pytest.mark.parametrize(
    ("method", "params", "answer", "verdict"),
    [
        ("crm.activity.add", {"fields": ACTIVITY}, [{"ID": "77", **MARK}], "done"),
        ("crm.activity.add", {"fields": ACTIVITY}, [], "not_done"),
        ("crm.activity.add", {"fields": ACTIVITY}, [{"ID": "1", "ORIGINATOR_ID": None, "ORIGIN_ID": None}], "unclear"),
        ("crm.activity.add", {"fields": ACTIVITY}, [{"ID": "1"}, {"ID": "77", **MARK}], "done"),
        ("crm.deal.add", {"fields": {"TITLE": "x"}}, [{"ID": "1", **MARK, "ORIGIN_ID": "e2"}], "unclear"),
        ("crm.lead.add", {"fields": {"TITLE": "x"}}, [{"ID": "77", **MARK}], "done"),
        ("crm.contact.add", {"fields": {"NAME": "x"}}, [{"ID": "77", **MARK}], "done"),
        ("crm.company.add", {"fields": {"TITLE": "x"}}, [{"ID": "77", **MARK}], "done"),
        ("crm.item.add", {"entityTypeId": 3, "fields": {"name": "x"}}, {"items": [{"id": 77, **ITEM_MARK}]}, "done"),
        ("crm.item.add", {"entityTypeId": 3, "fields": {"name": "x"}}, {"items": [{"id": 1}]}, "unclear"),
    ],
)
async def test_an_add_is_found_by_its_mark_and_by_nothing_else(
    world: World, method: str, params: dict[str, Any], answer: Any, verdict: str
) -> None:
    """A list that drops the filter gives records of others: they are never taken for ours."""
    call = added(world, method, params)
    assert call.spec.marked
    listed = "crm.item.list" if method.startswith("crm.item") else method.replace(".add", ".list")
    world.portal.will(listed, says(200, {"result": answer}))
    found = await reconcile(call, {}, world.client, world.gate.deps.records)
    assert (found.verdict, "77" in found.detail) == (verdict, verdict == "done")
    asked = world.portal.requests[-1][1]
    assert set(call.params["fields"]) & set(asked["select"]) == (set(ITEM_MARK) if "entityTypeId" in params else set(MARK))


async def test_each_command_of_a_batch_is_looked_at(world: World) -> None:
    """What is found of one is told beside the other."""
    cmd = {"a": "crm.deal.add?fields[TITLE]=A", "b": "crm.deal.update?id=481&fields[TITLE]=B"}
    call = added(world, "batch", {"cmd": cmd})
    mark = {"ORIGINATOR_ID": "sdelka", "ORIGIN_ID": "e1:a"}
    world.portal.will("crm.deal.list", says(200, {"result": [{"ID": "77", **mark}]}))
    found = await reconcile(call, {"deal:481": {"TITLE": "Ромашка"}}, world.client, world.gate.deps.records)
    assert found.verdict == "unclear"
    assert found.detail == "a crm.deal.add: done; b crm.deal.update: not_done"
    assert [(report.key, report.status) for report in found.commands] == [("a", "success"), ("b", "not_run")]


async def test_a_list_in_a_box_is_counted(world: World) -> None:
    """tasks.task.list answers {"tasks": […]}; an odd answer counts as none."""
    call = normalize(effect("tasks.task.list", {}), catalogue=world.gate.deps.catalogue, portal="p", actor=VERA, effect_id="e1")
    assert isinstance(call, Call)
    assert build_changes(call, {"tasks": [1, 2]}).done == "tasks.task.list: 2"
    assert build_changes(call, "?").done == "tasks.task.list: 0"
