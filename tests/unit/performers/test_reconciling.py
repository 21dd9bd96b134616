"""How two values of the portal are compared when a lost answer is looked for, and marks that no list can find."""

from typing import Any

import pytest
from spine_kit import VERA, World, effect

from orchestrator.gate.effects import Call
from orchestrator.gate.normalise import normalise
from orchestrator.performers.reconciling import reconcile, same
from orchestrator.performers.state_changes import changes_of


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
    assert same(left, right) is equal
    assert same(right, left) is equal


async def test_a_marked_add_without_a_list_is_unclear(world: World) -> None:
    """An activity carries the mark, but no list of ours finds it: a person looks."""
    params = {"fields": {"SUBJECT": "Звонок", "TYPE_ID": 2, "OWNER_ID": 481, "OWNER_TYPE_ID": 2, "RESPONSIBLE_ID": 7, "COMMUNICATIONS": []}}
    call = normalise(effect("crm.activity.add", params), catalogue=world.gate._catalogue, portal="p", actor=VERA, effect_id="e1")
    assert isinstance(call, Call), call
    assert call.spec.marked
    found = await reconcile(call, {}, world.client, world.gate._records)
    assert found.verdict == "unclear"
    assert world.portal.requests == []


async def test_a_list_in_a_box_is_counted(world: World) -> None:
    """tasks.task.list answers {"tasks": […]}; an odd answer counts as none."""
    call = normalise(effect("tasks.task.list", {}), catalogue=world.gate._catalogue, portal="p", actor=VERA, effect_id="e1")
    assert isinstance(call, Call)
    assert changes_of(call, {"tasks": [1, 2]}).done == "tasks.task.list: 2"
    assert changes_of(call, "?").done == "tasks.task.list: 0"
