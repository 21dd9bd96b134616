"""A comment or a product row is its record's: whoever may touch the deal may change them, and nobody else."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome, Pending, Provenance
from orchestrator.gate.approve.confirmations import Decision
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import effect

BORIS = Actor(key="tg:1007", name="Борис", bitrix_user_id=7)
VERA_OF_8 = Actor(key="tg:1008", name="Вера", bitrix_user_id=8)
ROW = {"ownerType": "D", "productName": "Монтаж", "price": 777, "quantity": 3}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A sandbox where the deals 423 (of employee 7) and 414 (of 8) have one product row each: 1 and 2."""
    async with a_desk(tmp_path) as made:
        for number in (423, 414):
            await made.world.client.call("crm.item.productrow.add", {"fields": {**ROW, "ownerId": number}}, repeatable=False)
        made.wire.sent.clear()
        yield made


async def wish(desk: Desk, method: str, params: dict[str, Any], *, actor: Actor = BORIS, slot: str = "t1/1/1") -> Outcome | Pending:
    """One effect of a manager who sees the own records only."""
    return await desk.world.submit(
        desk.session, effect(method, params, slot=slot, provenance=Provenance(message=None, person_text="сделай")), actor=actor
    )


async def approve(desk: Desk, pending: Outcome | Pending) -> Outcome:
    """What comes of the manager's own yes."""
    entry = desk.card(pending)
    given = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=BORIS, via="button")
    decided = await desk.world.gate.decide_card(given, mode="full", ledger=desk.session)
    assert decided.outcome is not None
    return decided.outcome


PRICE = ("crm.item.productrow.update", {"id": 1, "fields": {"price": 800}})


@pytest.mark.req("S004-26")
@pytest.mark.parametrize(
    ("method", "params"),
    [PRICE, ("crm.item.productrow.delete", {"id": 1}), ("crm.timeline.comment.update", {"id": 308, "fields": {"COMMENT": "Ответили"}})],
)
async def test_a_manager_changes_parts_of_the_own_deal_after_a_card(desk: Desk, method: str, params: dict[str, Any]) -> None:
    found = await approve(desk, await wish(desk, method, params))
    assert found.status == "succeeded"
    assert [name for name, _ in desk.wire.writes()] == [method]


@pytest.mark.req("S004-26")
@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("crm.item.productrow.update", {"id": 2, "fields": {"price": 1}}, "gate-not-yours"),
        ("crm.item.productrow.delete", {"id": 2}, "gate-not-yours"),
        ("crm.timeline.comment.update", {"id": 306, "fields": {"COMMENT": "x"}}, "gate-not-yours"),
        ("crm.timeline.comment.update", {"id": 9999, "fields": {"COMMENT": "x"}}, "gate-not-found"),
        ("crm.item.productrow.update", {"id": 9999, "fields": {"price": 1}}, "gate-not-found"),
        ("batch", {"cmd": {"a": "crm.item.productrow.update?id=1&fields[price]=1", "b": "crm.item.productrow.update?id=2&fields[price]=1"}}, "gate-not-yours"),
        ("batch", {"cmd": {"a": "crm.item.productrow.update?id=1&fields[price]=1", "b": "crm.item.productrow.update?id=1&fields[ownerId]=414"}}, "gate-unscoped"),
    ],
)  # fmt: skip
async def test_nobody_changes_parts_of_a_deal_of_others(desk: Desk, method: str, params: dict[str, Any], code: str) -> None:
    found = await wish(desk, method, params)
    assert (found.status, found.reason.args.get("reason", found.reason.code)) == ("refused", code)
    assert not any(word in str(desk.wire.sent) for word in (".update", ".delete"))


async def test_a_row_does_not_move_to_a_deal_of_others(desk: Desk) -> None:
    """The owner in the fields counts too; naming the one that it has already moves nothing."""
    moved = await wish(desk, "crm.item.productrow.update", {"id": 1, "fields": {"ownerId": 414, "ownerType": "D", "price": 1}})
    assert moved.status == "refused"
    kept = await wish(
        desk, "crm.item.productrow.update", {"id": 1, "fields": {"ownerId": "423", "ownerType": "d", "price": 1}}, slot="t1/1/2"
    )
    assert isinstance(kept, Pending)


async def test_a_deal_that_was_handed_away_takes_its_parts_along(desk: Desk) -> None:
    """Between the card and the press the deal went to somebody else."""
    pending = await wish(desk, *PRICE)
    await desk.world.client.call("crm.deal.update", {"id": 423, "fields": {"ASSIGNED_BY_ID": 8}}, repeatable=False)
    desk.wire.sent.clear()
    entry = desk.card(pending)
    given = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=BORIS, via="button")
    await desk.world.gate.decide_card(given, mode="full", ledger=desk.session)
    assert desk.wire.writes() == []
    assert isinstance(await wish(desk, *PRICE, actor=VERA_OF_8, slot="t1/1/2"), Pending)


async def test_the_card_of_a_comment_shows_both_texts(desk: Desk) -> None:
    """Words that somebody else may have written are not replaced without a card."""
    pending = await wish(desk, "crm.timeline.comment.update", {"id": 308, "fields": {"COMMENT": "Ответили"}})
    (line,) = desk.card(pending).preview["lines"]
    assert (line["before"], line["after"]) == ("Клиент прислал вопросы по доставке.", "Ответили")
