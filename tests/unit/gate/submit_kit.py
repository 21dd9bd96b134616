"""Wishes and presses that the tests of the gate share."""

from typing import Any

from orchestrator.domain.actor import Actor
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.approve.run_approved import DecisionResult
from orchestrator.sessions.session import Session
from state.journal.store import StoreUnwritable
from state.model.card import Card
from tests.unit.spine_kit import ANNA, World

Wish = tuple[str, dict[str, Any]]


SUM: Wish = ("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 1_200_000}})


TITLE: Wish = ("crm.deal.update", {"id": 481, "fields": {"TITLE": "Ромашка-2"}})


TASK: Wish = ("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})


def yes(entry: Card, actor: Actor = ANNA, **more: Any) -> Decision:
    return Decision(confirmation_id=entry.confirmation_id, actor=actor, **{"approve": True, "nonce": entry.nonce, "via": "button", **more})


async def decide(world: World, session: Session, decision: Decision, mode: str = "full") -> DecisionResult:
    decided = await world.gate.decide_card(decision, mode=mode, ledger=session)  # type: ignore[arg-type]
    await session.flush()  # as whoever tells the person of it would
    return decided


def full_disk(commit: Any) -> Any:
    raise StoreUnwritable("no space left")
