"""A card shows every value of an element of a list that will be sent, or the call is refused."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.card_view import Preview
from tests.unit.gate.sandbox_kit import Desk, a_desk

DEAL = 410
ROW = {"PRODUCT_NAME": "Монтаж", "PRICE": 1, "QUANTITY": 1}


@pytest.mark.req("S004-26")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.deal.productrows.set", {"id": DEAL, "rows": [{"price": 1, **ROW, "PRICE": 987654}]}),
        ("crm.deal.productrows.set", {"id": DEAL, "rows": {"0": {**ROW, "P_RICE": 987654}}}),
        ("crm.deal.productrows.set", {"id": DEAL, "rows": [{**ROW, "quantity": 987654}]}),
        (
            "crm.item.productrow.set",
            {"ownerId": DEAL, "ownerType": "D", "productRows": [{"productName": "a", "price": 1, "PRICE": 987654}]},
        ),
        ("crm.deal.contact.items.set", {"id": DEAL, "items": [{"CONTACT_ID": 43, "contactId": 987654}]}),
        ("batch", {"cmd": {"a": f"crm.deal.productrows.set?id={DEAL}&rows[0][PRICE]=1&rows[0][price]=987654"}}),
    ],
)
async def test_a_field_of_an_element_is_named_once(tmp_path: Path, method: str, params: dict[str, Any]) -> None:
    """The card would show one of the two values, and the portal might write the other."""
    async with a_desk(tmp_path) as desk:
        refused = await desk.refused(method, params)
    assert refused.reason.code == "gate-param-twice"


async def test_goods_that_a_row_reserves_are_a_change_of_it(tmp_path: Path) -> None:
    """Seen: the row was called one that stays, and the reservation stood nowhere."""
    async with a_desk(tmp_path) as desk:
        await desk.world.client.call("crm.deal.productrows.set", {"id": DEAL, "rows": [ROW]})
        found = await desk.wish("crm.deal.productrows.set", {"id": DEAL, "rows": [{**ROW, "STORE_ID": 77, "RESERVE_QUANTITY": 12}]})
        lines = Preview.model_validate(desk.card(found).preview).lines
    (changed,) = (line for line in lines if line.name == "Товары — изменятся")
    assert "77" in changed.after
    assert "12" in changed.after


async def test_a_field_of_other_lists_is_shown_too(desk: Desk) -> None:
    """A product row has no contact: whatever such a field does, it is sent, so it can be read."""
    found = await desk.wish("crm.deal.productrows.set", {"id": DEAL, "rows": [{**ROW, "CONTACT_ID": 987654}]})
    assert any("987654" in line.after for line in Preview.model_validate(desk.card(found).preview).lines)


async def test_a_batch_that_creates_the_same_record_twice_asks(tmp_path: Path) -> None:
    """Seen: a batch with the same new lead twice made both, without a card."""
    same = "crm.lead.add?fields[TITLE]=X"
    async with a_desk(tmp_path) as desk:
        waits = desk.card(await desk.wish("batch", {"cmd": {"a": same, "b": same}}))
        assert [reason["code"] for reason in waits.reasons] == ["gate-batch-twice"]
        assert (await desk.done("batch", {"cmd": {"a": same, "b": "crm.lead.add?fields[TITLE]=Y"}})).status == "succeeded"
