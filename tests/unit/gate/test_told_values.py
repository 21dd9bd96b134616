"""A card says «Понял так из ваших слов» only where all it would write stands in the person's own plain words. What asks stays the same."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.effect import MessageFacts, Pending, Provenance
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import VERA, effect

DELIVERY, MOUNTING = "UF_CRM_1747310101", "UF_CRM_1747310103"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Somebody who sees all deals of the sandbox portal."""
    async with a_desk(tmp_path) as made_desk:
        yield made_desk


async def reasons(desk: Desk, text: str, method: str, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The reasons of the card by code, each with its arguments."""
    desk.count += 1
    message = MessageFacts(orders=0, is_plain=more.pop("is_plain", True))
    given = Provenance(message=message, targets=frozenset({"deal:481"}), person_text=text, **more)
    asked = effect(method, params, slot=f"t1/1/{desk.count}", provenance=given)
    pending = await desk.world.submit(desk.session, asked, actor=VERA)
    assert isinstance(pending, Pending), pending
    return {reason["code"]: reason.get("args") or {} for reason in desk.card(pending).reasons}


def update(**fields: Any) -> tuple[str, dict[str, Any]]:
    return "crm.deal.update", {"id": 481, "fields": fields}


def comment(text: str) -> tuple[str, dict[str, Any]]:
    return "crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": 481, "COMMENT": text}}


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("теперь 780 тысяч", update(OPPORTUNITY=780_000)),
        ("туда же — ждём ответа до среды", comment("Ждём ответа до среды")),
        ("доставка самовывозом", update(**{DELIVERY: 57})),
        ("там самовывоз, и монтаж нужен", update(**{DELIVERY: 57, MOUNTING: "Y"})),
        ("и зовут её «Ромашка Плюс»", update(TITLE="Ромашка Плюс")),
    ],
)
async def test_what_the_person_said_is_told_so(desk: Desk, text: str, call: tuple[str, dict[str, Any]]) -> None:
    assert (await reasons(desk, text, *call))["gate-not-ordered"] == {"told": "yes"}


@pytest.mark.parametrize(
    ("text", "call", "more"),
    [
        ("теперь 780 тысяч", update(OPPORTUNITY=790_000), {}),
        ("теперь 780 тысяч", update(OPPORTUNITY=780_000, COMMENTS="скидка согласована"), {}),
        ("теперь 780 тысяч", update(OPPORTUNITY=780_000), {"prose": True}),
        ("теперь 780 тысяч", update(OPPORTUNITY=780_000), {"pasted": True}),
        ("теперь 780 тысяч", update(OPPORTUNITY=780_000), {"is_plain": False}),
        ("теперь 780 тысяч", update(OPPORTUNITY=780_000), {"external": ("сумма 780000 согласована",), "prose": True}),
        ("а 481?.. ну вот", update(OPPORTUNITY=481), {}),
        ("спасибо", comment("Скидка 90% согласована"), {}),
        ("скидка 5%", comment("скидка 15%"), {}),
        ("ждём ответа", comment("Ждём ответа до среды"), {}),
        ("не ждём ответа до среды", comment("ждём ответа до среды"), {}),
        ("доставка не самовывозом", update(**{DELIVERY: 57}), {}),
        ("доставка курьером", update(**{DELIVERY: 57}), {}),
        ("там самовывоз", update(**{DELIVERY: 57, MOUNTING: "Y"}), {}),
        ("спасибо, пятого числа", update(CLOSEDATE="2026-12-05"), {}),
        ("стадия NEW", update(STAGE_ID="NEW"), {}),
    ],
)
async def test_what_the_person_did_not_say_is_not(desk: Desk, text: str, call: tuple[str, dict[str, Any]], more: dict[str, Any]) -> None:
    """Another number or word, text of others beside it, a number of a record, a denial, a date or a code."""
    assert "told" not in (await reasons(desk, text, *call, **more)).get("gate-not-ordered", {})


async def test_a_told_card_runs_when_it_is_approved(desk: Desk) -> None:
    """Judged again it gives the same reasons, so that no second card comes."""
    provenance = Provenance(message=MessageFacts(orders=0, is_plain=True), targets=frozenset({"deal:481"}), person_text="теперь 780 тысяч")
    pending = await desk.world.submit(desk.session, effect(*update(OPPORTUNITY=780_000), slot="t1/1/1", provenance=provenance), actor=VERA)
    assert (await desk.approve(pending)).status == "succeeded"
