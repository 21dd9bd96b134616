"""What a manager may do beyond the own records: own comments, customers of own open deals, calls that took place, own calendar."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Provenance
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.decide.decide import evaluate
from state.card import Card
from tests.unit.gate.gate_kit import ANNA, catalogue, made
from tests.unit.gate.gate_kit import effect as plain
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import effect

BORIS = Actor(key="tg:1007", name="Борис", bitrix_user_id=7)
OTHER = Actor(key="tg:1008", name="Вера", bitrix_user_id=8)
OTHER_ACCOUNT = Actor(key="tg:2007", name="Борис", bitrix_user_id=7)
DEAL, CONTACT, COMPANY = 423, 46, 24
"""An open deal of employee 7, its contact and its company."""
FOREIGN_DEAL = 414
SECOND = 47
"""A contact that no deal of employee 7 is linked to."""


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A sandbox with the shipped policy, where the customers of the deal belong to employee 8."""
    async with a_desk(tmp_path) as made_desk:
        await _hand_over(made_desk)
        yield made_desk


async def _hand_over(desk: Desk) -> None:
    for method, number in (("crm.contact.update", CONTACT), ("crm.company.update", COMPANY), ("crm.contact.update", SECOND)):
        await desk.world.client.call(method, {"id": number, "fields": {"ASSIGNED_BY_ID": 8}}, repeatable=False)
    for row in await desk.ask("crm.deal.list", filter={"CONTACT_ID": SECOND}):
        await change(desk, "crm.deal.update", int(row["ID"]), ASSIGNED_BY_ID=8)
    desk.wire.sent.clear()


async def change(desk: Desk, method: str, number: int, **fields: Any) -> None:
    """Somebody changes a record in the portal."""
    await desk.world.client.call(method, {"id": number, "fields": fields}, repeatable=False)


async def wish(desk: Desk, method: str, params: dict[str, Any], *, actor: Actor = BORIS, mode: Mode = "full") -> Outcome | Pending:
    """One effect of somebody who sees the own records only; the person named the records."""
    desk.count += 1
    named = frozenset(f"{kind}:{number}" for kind in ("deal", "contact", "company", "comment") for number in range(500))
    given = effect(method, params, slot=f"t1/1/{desk.count}", provenance=Provenance(targets=named, person_text="сделай"))
    return await desk.world.gate.submit(given, actor=actor, mode=mode, turn_id="t1", ledger=desk.session)


def code(found: Outcome | Pending) -> str:
    """The code of a refusal, of the command where it is one of a batch."""
    assert isinstance(found, Outcome), found
    assert found.status == "refused", found
    assert found.reason is not None
    return str(found.reason.args.get("reason", found.reason.code))


async def press(desk: Desk, entry: Card, actor: Actor = BORIS) -> Any:
    """One press of the button to approve."""
    now = desk.session.state.cards[entry.confirmation_id]
    given = Decision(confirmation_id=now.confirmation_id, nonce=now.nonce, approve=True, actor=actor, via="button", tap=2)
    return await desk.world.gate.decide_card(given, mode="full", ledger=desk.session)


async def add_comment(desk: Desk, number: int = DEAL, *, actor: Actor = BORIS) -> int:
    """The id of a comment that somebody let the bot write."""
    found = await wish(desk, "crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": number, "COMMENT": "Звонил"}}, actor=actor)
    assert isinstance(found, Outcome)
    return int(found.created.partition(":")[2])
