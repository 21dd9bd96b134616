"""The card of a changed payee says whose account it is, what stood there, and asks as for money."""

from typing import Any

import httpx

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import CardView
from tests.unit.gate.sandbox_kit import Desk

UPDATE = "crm.requisite.bankdetail.update"
NEW: dict[str, Any] = {"id": 71, "fields": {"RQ_ACC_NUM": "40702810999999999999"}}


async def show(desk: Desk, method: str = UPDATE, params: dict[str, Any] = NEW) -> str:
    """The card as people read it."""
    return to_plain_text(render_card(CardView.from_card(desk.card(await desk.wish(method, params))), Translator("ru")))


async def test_it_says_whose_account_changes_from_what_to_what_and_warns(desk: Desk) -> None:
    text = await show(desk)
    assert text.startswith("Изменить банковские реквизиты «Основной счёт, ООО „Ромашка“, 7700000016»")
    assert "Счёт: 40702810000000000001 → 40702810999999999999" in text
    assert "🟠" in text


async def test_a_new_account_is_said_to_be_whose_it_will_be(desk: Desk) -> None:
    """An account that is added beside the right one is the same fraud."""
    new = {"fields": {"ENTITY_ID": 62, "NAME": "Второй счёт", "RQ_ACC_NUM": "40702810999999999999"}}
    text = await show(desk, "crm.requisite.bankdetail.add", new)
    assert text.startswith("Создать банковские реквизиты «Второй счёт, ООО „Вектор“, 7800000024»")
    assert "🟠" in text


async def test_after_a_press_the_account_is_the_new_one(desk: Desk) -> None:
    pending = await desk.wish(UPDATE, NEW)
    assert desk.wire.writes() == []
    assert (await desk.approve(pending)).status == "succeeded"
    assert (await desk.ask("crm.requisite.bankdetail.get", id=71))["RQ_ACC_NUM"] == NEW["fields"]["RQ_ACC_NUM"]


async def test_an_account_that_could_not_be_read_is_said_to_be_unknown(desk: Desk) -> None:
    """No plain line with the new account alone: the person reads that the old one and its owner are not known."""
    error = {"error": "ACCESS_DENIED", "error_description": "нет прав"}
    desk.wire.instead["crm.requisite.bankdetail.get"] = httpx.Response(400, json=error)
    text = await show(desk)
    assert "чей счёт — неизвестно" in text
    assert "Счёт: неизвестно → 40702810999999999999" in text
    assert "🟠" in text


async def test_an_owner_that_could_not_be_read_is_said_to_be_unknown(desk: Desk) -> None:
    desk.wire.instead["crm.requisite.get"] = httpx.Response(400, json={"error": "ACCESS_DENIED", "error_description": "нет прав"})
    text = await show(desk)
    assert "«Основной счёт, чей счёт — неизвестно»" in text
    assert "Счёт: 40702810000000000001 → 40702810999999999999" in text
