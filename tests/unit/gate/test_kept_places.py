"""Of the record on which a to-do stands the portal wants to be told again; only the to-do itself says it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.effect import Pending
from orchestrator.gate.call.effect import Call
from orchestrator.gate.decide.part_owners import load_places
from orchestrator.gate.normalize.normalize import normalize
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import ANNA, BORIS, effect

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


async def test_the_card_names_the_record_on_which_the_activity_stands(desk: Desk) -> None:
    """Two to-dos may have one name; the place is what the portal says."""
    preview = desk.card(await desk.wish("crm.activity.todo.updateDeadline", MOVED)).preview
    assert preview["place"] == "deal:412"
    assert preview["lines"][-1]["after"] == "сделка «Вектор: поставка станков»"


async def test_an_activity_that_is_put_elsewhere_has_no_place_yet(desk: Desk) -> None:
    """Its new owner is what the call says, not what the portal says."""
    fields = {"OWNER_TYPE_ID": 2, "OWNER_ID": 481, "SUBJECT": "x"}
    preview = desk.card(await desk.wish("crm.activity.update", {"id": 1503, "fields": fields})).preview
    assert not preview.get("place")


async def test_a_record_that_the_person_may_not_see_is_no_place(desk: Desk) -> None:
    """Their to-do on another's deal: neither is the deal named, nor may they go on with it."""
    deps = desk.world.gate.deps
    call = normalize(effect("crm.activity.todo.updateDeadline", MOVED), catalogue=deps.catalogue, portal="p", actor=ANNA, effect_id="e")
    assert isinstance(call, Call)
    read = await deps.records.load_records([("activity", 1503)])
    assert [place.target for place in (await load_places(call, read, ANNA, deps)).values()] == [("deal", 412)]
    assert await load_places(call, read, BORIS, deps) == {}
