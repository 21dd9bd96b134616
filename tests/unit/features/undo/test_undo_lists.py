"""Undo of calls that replaced a list, against the sandbox portal: the exact list comes back, or there is no button."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.gate.approve.confirmations import Decision, calculate_second_nonce
from orchestrator.gate.undo import undo_policy
from state.clock import generate_id
from tests.unit.features.undo.test_undo_sandbox import Sandbox
from tests.unit.features.undo.undo_kit import codes, done, pressed, restored
from tests.unit.spine_kit import VERA, World, a_world, effect

DEAL = 410
MONTAGE = {
    "PRODUCT_NAME": "Монтаж",
    "PRICE": 777,
    "QUANTITY": 3,
    "DISCOUNT_TYPE_ID": 2,
    "DISCOUNT_RATE": 10,
    "TAX_RATE": 20,
    "TAX_INCLUDED": "Y",
}
SETUP = {"PRODUCT_NAME": "Настройка", "PRICE": "100.5", "QUANTITY": 2}
OTHER = {"PRODUCT_NAME": "Кабель", "PRICE": 12.5, "QUANTITY": 10}
UNIVERSAL = {"productName": "Кабель", "price": 12.5, "quantity": 10}


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[World]:
    """The product over the sandbox; its deal has two rows and two contacts, and unlinking all contacts is allowed."""
    wired: Any = Sandbox()
    async with a_world(tmp_path, portal=wired, policy={"open_methods": ["crm.deal.contact.items.delete"]}) as world:
        await save(world, "crm.deal.productrows.set", rows=[MONTAGE, SETUP])
        await save(world, "crm.deal.contact.items.set", items=[{"CONTACT_ID": 47, "IS_PRIMARY": "Y"}, {"CONTACT_ID": 43}])
        yield world
    await wired.aclose()


async def save(world: World, method: str, **params: Any) -> None:
    """Somebody writes in the portal, past the gate."""
    await world.client.call(method, {"id": DEAL, **params})


async def look(world: World, method: str) -> Any:
    return (await world.client.call(method, {"id": DEAL}, repeatable=True)).result


async def lists(world: World) -> tuple[Any, Any, Any]:
    """The rows without their numbers, the contacts and the sum of the deal."""
    rows = await look(world, "crm.deal.productrows.get")
    plain = [{name: value for name, value in row.items() if name != "ID" and value not in (None, "0.00")} for row in rows]
    return plain, await look(world, "crm.deal.contact.items.get"), (await look(world, "crm.deal.get"))["OPPORTUNITY"]


def wish(method: str, params: dict[str, Any]) -> Any:
    return effect(method, params, slot=f"t1/1/{generate_id()}")


@pytest.mark.req("S004-31")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("crm.deal.productrows.set", {"id": DEAL, "rows": [OTHER]}),
        ("crm.deal.productrows.set", {"id": DEAL, "rows": []}),
        ("crm.item.productrow.set", {"ownerType": "D", "ownerId": DEAL, "productRows": [UNIVERSAL]}),
        ("crm.deal.contact.items.set", {"id": DEAL, "items": [{"CONTACT_ID": 44}]}),
        ("crm.deal.contact.add", {"id": DEAL, "fields": {"CONTACT_ID": 44}}),
        ("crm.deal.contact.delete", {"id": DEAL, "fields": {"CONTACT_ID": 47}}),
        ("crm.deal.update", {"id": DEAL, "fields": {"CONTACT_IDS": [44]}}),
        ("crm.item.update", {"entityTypeId": 2, "id": DEAL, "fields": {"contactIds": [44, 45]}}),
    ],
)
async def test_the_former_list_comes_back_as_it_was(sandbox: World, method: str, params: dict[str, Any]) -> None:
    """Rows with prices, discounts and taxes, contacts with the primary one, and the sum that follows from the rows."""
    was = await lists(sandbox)
    effect_id = await done(sandbox, wish(method, params), actor=VERA)
    assert await lists(sandbox) != was
    card = await restored(sandbox, effect_id, actor=VERA)
    assert card["status"] == "executed", card
    assert await lists(sandbox) == was


async def test_all_unlinked_contacts_come_back(sandbox: World) -> None:
    """Unlinking all is a deletion with two taps; its undo links them again, the primary one first."""
    was = await lists(sandbox)
    session = await sandbox.session(VERA.key)
    pending = await sandbox.submit(session, wish("crm.deal.contact.items.delete", {"id": DEAL}), actor=VERA)
    entry = session.state.cards[pending.confirmation_id]
    twice = Decision(
        confirmation_id=entry.confirmation_id, nonce=calculate_second_nonce(entry.nonce), approve=True, actor=VERA, via="button"
    )
    decided = await sandbox.gate.decide_card(twice, mode="full", ledger=session)
    await session.flush()
    await session.close()
    assert decided.outcome is not None
    assert (await lists(sandbox))[1] == []
    assert (await restored(sandbox, entry.effect_id, actor=VERA))["status"] == "executed"
    assert await lists(sandbox) == was


async def test_rows_of_somebody_else_are_never_overwritten(sandbox: World) -> None:
    """Who changed the list after the call keeps the change; the person reads what stands there now."""
    effect_id = await done(sandbox, wish("crm.deal.productrows.set", {"id": DEAL, "rows": [OTHER]}), actor=VERA)
    await save(sandbox, "crm.deal.productrows.set", rows=[OTHER, SETUP])
    was = await lists(sandbox)
    said = await pressed(sandbox, effect_id, actor=VERA, key=VERA.key)
    assert "undo-changed" in codes(said)
    args = next(notice for row in said if row.kind == "reply" for notice in row.body["notices"])["args"]
    assert args["field"] == "ROWS"
    assert "Настройка 2 × 100,50" in args["now"].replace("\u00a0", " ")
    assert await lists(sandbox) == was


async def offered(world: World, effect_id: str) -> bool:
    row = await world.store.find_effect(effect_id)
    assert row is not None
    deps = world.gate.deps
    return undo_policy.is_undo_offered(row, now=world.clock.now(), policy=deps.policy, catalogue=deps.catalogue)


async def test_a_sum_that_was_not_computed_from_rows_would_not_come_back(sandbox: World) -> None:
    """The portal would compute the sum from the former rows, and the deal had a typed million: there is no button."""
    store = cast("Any", sandbox.portal)._app.state.portal.store
    store.put("deal", store.get("deal", DEAL) | {"OPPORTUNITY": 1_000_000.0})
    effect_id = await done(sandbox, wish("crm.deal.productrows.set", {"id": DEAL, "rows": [OTHER]}), actor=VERA)
    assert not await offered(sandbox, effect_id)
    assert codes(await pressed(sandbox, effect_id, actor=VERA, key=VERA.key))[-1] == "undo-sum"


async def test_an_empty_list_is_not_promised_back(sandbox: World) -> None:
    """What an empty list does to links and to the sum is nowhere documented, so there is no button."""
    await save(sandbox, "crm.deal.contact.items.delete")
    await save(sandbox, "crm.deal.productrows.set", rows=[])
    await save(sandbox, "crm.deal.update", fields={"OPPORTUNITY": 0})
    for what in (
        wish("crm.deal.contact.items.set", {"id": DEAL, "items": [{"CONTACT_ID": 44}]}),
        wish("crm.deal.productrows.set", {"id": DEAL, "rows": [OTHER]}),
    ):
        assert not await offered(sandbox, await done(sandbox, what, actor=VERA))


ADDED = {"ownerType": "D", "ownerId": DEAL, "productName": "Кабель", "price": 12.5, "quantity": 10}


async def test_a_sum_that_the_first_row_replaced_comes_back_with_it(sandbox: World) -> None:
    """A typed sum is lost with the first product row: the button takes the row away and writes the sum again."""
    await _empty_rows(sandbox, 515_000)
    was = await lists(sandbox)
    effect_id = await done(sandbox, wish("crm.item.productrow.add", {"fields": ADDED}), actor=VERA)
    assert (await lists(sandbox))[2] == "125.00"
    card = await restored(sandbox, effect_id, actor=VERA)
    assert card["status"] == "executed", card
    assert await lists(sandbox) == was
    assert was[2] == "515000.00"


async def test_an_added_row_goes_and_the_sum_follows_the_others(sandbox: World) -> None:
    was = await lists(sandbox)
    effect_id = await done(sandbox, wish("crm.item.productrow.add", {"fields": ADDED}), actor=VERA)
    assert await lists(sandbox) != was
    assert (await restored(sandbox, effect_id, actor=VERA))["status"] == "executed"
    assert await lists(sandbox) == was


async def test_a_sum_typed_since_is_not_overwritten_with_the_row(sandbox: World) -> None:
    await _empty_rows(sandbox, 515_000)
    effect_id = await done(sandbox, wish("crm.item.productrow.add", {"fields": ADDED}), actor=VERA)
    await save(sandbox, "crm.deal.update", fields={"OPPORTUNITY": 700_000, "IS_MANUAL_OPPORTUNITY": "Y"})
    was = await lists(sandbox)
    assert "undo-changed" in codes(await pressed(sandbox, effect_id, actor=VERA, key=VERA.key))
    assert await lists(sandbox) == was


@pytest.mark.parametrize(("amount", "warned"), [(515_000, True), (0, False), (125, False)])
async def test_the_card_warns_that_a_typed_sum_is_lost(sandbox: World, amount: int, warned: bool) -> None:  # noqa: FBT001 - a case of the table
    await _empty_rows(sandbox, amount)
    assert ("gate-sum-by-rows" in await _find_reasons(sandbox)) is warned


async def test_no_sum_is_lost_that_already_follows_the_rows(sandbox: World) -> None:
    assert "gate-sum-by-rows" not in await _find_reasons(sandbox)


async def _empty_rows(world: World, amount: int) -> None:
    await save(world, "crm.deal.productrows.set", rows=[])
    await save(world, "crm.deal.update", fields={"OPPORTUNITY": amount, "IS_MANUAL_OPPORTUNITY": "N"})


async def _find_reasons(world: World) -> list[str]:
    session = await world.session(VERA.key)
    pending = await world.submit(session, wish("crm.item.productrow.add", {"fields": ADDED}), actor=VERA)
    reasons = [reason["code"] for reason in session.state.cards[pending.confirmation_id].reasons]
    await session.close()
    return reasons
