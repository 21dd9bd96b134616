"""Of the record on which a to-do stands the portal wants to be told again; only the to-do itself says it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.effect import Pending
from tests.unit.gate.sandbox_kit import Desk, a_desk

MOVED = {"id": 1503, "value": "2026-11-24T15:00:00+03:00"}
STANDS_ON = {"ownerTypeId": 2, "ownerId": 412}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Somebody who sees all the to-dos of the sandbox portal."""
    async with a_desk(tmp_path) as made_desk:
        yield made_desk


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.activity.todo.updateDeadline", MOVED),
        ("crm.activity.todo.updateDeadline", {**MOVED, **STANDS_ON}),
        ("crm.activity.todo.updateDeadline", {**MOVED, "ownerTypeId": "deal"}),
        ("crm.activity.todo.updateResponsibleUser", {"id": 1503, "responsibleId": 8}),
        ("crm.activity.todo.updateDescription", {"id": 1503, "value": "Уточнить цену"}),
        ("crm.activity.todo.updateColor", {"id": 1503, "colorId": 2}),
        ("crm.activity.todo.update", {"id": 1503, "deadline": MOVED["value"], "title": "Уточнить цену"}),
    ],
)
async def test_a_to_do_is_changed_without_saying_where_it_stands(desk: Desk, method: str, params: dict[str, Any]) -> None:
    """That cost a refusal and one more call of the model."""
    outcome = await desk.done(method, params)
    assert outcome.status == "succeeded", outcome
    assert desk.wire.writes()[-1][1] == {**params, **STANDS_ON}


async def test_a_command_of_a_batch_is_told_too(desk: Desk) -> None:
    """Each command is judged as it would be alone."""
    outcome = await desk.done("batch", {"cmd": {"a": "crm.activity.todo.updateDescription?id=1503&value=x"}})
    assert outcome.status == "succeeded", outcome
    assert "ownerId=412" in desk.wire.writes()[-1][1]["cmd"]["a"]


@pytest.mark.parametrize("given", [{"ownerId": 481}, {"ownerTypeId": 1}, {"ownerTypeId": 2, "ownerId": 481}])
async def test_another_record_than_that_of_the_to_do_is_refused_before_the_card(desk: Desk, given: dict[str, Any]) -> None:
    """Whoever names another record means another to-do."""
    refused = await desk.refused("crm.activity.todo.updateDeadline", {**MOVED, **given})
    assert refused.is_form
    assert "the record's own" in refused.detail


async def test_a_to_do_that_is_not_there_is_not_found(desk: Desk) -> None:
    """Nothing is said of where it might stand."""
    refused = await desk.refused("crm.activity.todo.updateDeadline", {**MOVED, "id": 99999})
    assert refused.reason is not None
    assert refused.reason.code == "gate-not-found"


async def test_a_to_do_that_was_put_elsewhere_meanwhile_is_asked_about_again(desk: Desk) -> None:
    """What was approved stood on another deal."""
    pending = await desk.wish("crm.activity.todo.updateDeadline", MOVED)
    assert isinstance(pending, Pending)
    await desk.world.client.call("crm.activity.update", {"id": 1503, "fields": {"OWNER_TYPE_ID": 2, "OWNER_ID": 481}}, repeatable=False)
    desk.wire.sent.clear()
    entry = desk.card(pending)
    decided = await desk.decide(entry)
    assert decided.outcome is None
    assert decided.replaced_by is not None
    assert not desk.wire.writes()
