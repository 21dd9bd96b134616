"""The silent answers of the portal, one by one, from the wish to what the person reads (test vectors 14 to 16 and 19)."""

import httpx

from tests.unit.gate.sandbox_kit import Desk


async def test_a_stage_of_another_funnel_is_told(desk: Desk) -> None:
    """Vector 14, where the stages cannot be read and so nothing is refused: true, and the stage is as it was."""
    denied = {"error": "ACCESS_DENIED", "error_description": "Access denied"}
    desk.wire.instead["crm.status.list"] = httpx.Response(400, json=denied)
    done = await desk.done("crm.deal.update", {"id": 410, "fields": {"STAGE_ID": "C1:NEW"}})
    assert (done.status, done.unchanged) == ("succeeded", ("STAGE_ID",))
    assert (await desk.ask("crm.deal.get", id=410))["STAGE_ID"] == "PREPARATION"


async def test_another_funnel_is_refused_with_the_way_that_works(desk: Desk) -> None:
    """Vector 15: the hint is followed, and the deal moves."""
    refused = await desk.refused("crm.deal.update", {"id": 410, "fields": {"CATEGORY_ID": 1, "STAGE_ID": "C1:NEW"}})
    assert "use crm.item.update with entityTypeId 2, categoryId and stageId" in refused.detail
    done = await desk.done("crm.item.update", {"entityTypeId": 2, "id": 410, "fields": {"categoryId": 1, "stageId": "C1:NEW"}})
    assert (done.status, done.unchanged) == ("succeeded", ())
    assert (await desk.ask("crm.deal.get", id=410))["STAGE_ID"] == "C1:NEW"


async def test_values_that_hold_are_not_sent(desk: Desk) -> None:
    """Vector 16, in both families."""
    for method, params in (
        ("crm.item.update", {"entityTypeId": 2, "id": 410, "fields": {"opportunity": 1000000, "stageId": "PREPARATION"}}),
        ("crm.deal.update", {"id": 410, "fields": {"OPPORTUNITY": "1000000"}}),
    ):
        refused = await desk.refused(method, params)
        assert refused.reason.code == "gate-already-so"


async def test_a_phone_without_its_kind_is_sent_with_it(desk: Desk) -> None:
    """Vector 19: as it was written it would do nothing; the kind of a known element is known."""
    phones = await desk.phones()
    done = await desk.done(
        "crm.item.update", {"entityTypeId": 3, "id": 43, "fields": {"fm": {"157": {"valueType": "WORK", "value": "+7999"}}}}
    )
    assert (done.status, done.unchanged) == ("succeeded", ())
    assert sorted(await desk.phones()) == sorted([phones[0], "+7999"])
