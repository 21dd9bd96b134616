"""What an order proposes is a card for each record: it never writes by itself, and text of records marks it as foreign."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from bot.i18n.translate import Translator
from bot.rendering.cards import render_following
from bot.rendering.spans import to_plain_text
from orchestrator.domain.effect import Pending, Provenance
from orchestrator.features.orders import firing
from tests.unit.features.orders.orders_kit import Bench, a_bench
from tests.unit.spine_kit import CHAT, card, effect, press

CALL = {"method": "tasks.task.add", "params": {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7, "UF_CRM_TASK": ["D_{record}"]}}}
TASK = {"TITLE": "Позвонить: {title}", "RESPONSIBLE_ID": "{owner}", "DEADLINE": "@date:послезавтра", "UF_CRM_TASK": ["D_{record}"]}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as made:
        yield made


async def give(bench: Bench, proposal: dict[str, Any]) -> None:
    await bench.give({"deal": 481, "changes": "OPPORTUNITY", "propose": proposal})
    await bench.look()
    bench.told()


async def change(bench: Bench, amount: int) -> None:
    await bench.change_portal("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": amount}})
    await bench.look()


async def test_a_change_leads_to_a_card_and_to_no_write(bench: Bench) -> None:
    """Even a task, which the person could have made without a card."""
    await give(bench, CALL)
    before = len(bench.writes())
    await change(bench, 777_000)
    told = bench.told()
    assert "card:requested:tasks.task.add" in told
    assert len(bench.writes()) == before + 1
    (card,) = [one for one in (await bench.world.session()).state.cards.values() if one.method == "tasks.task.add"]
    assert card.params["fields"]["UF_CRM_TASK"] == ["D_481"]


async def test_a_title_in_a_proposal_marks_it_as_foreign(bench: Bench) -> None:
    """A customer may have written it; what names only the record is not marked."""
    titled = {"method": "tasks.task.add", "params": {"fields": {"TITLE": "Позвонить: {title}", "RESPONSIBLE_ID": 7}}}
    await give(bench, titled)
    await change(bench, 777_000)
    (card,) = [one for one in (await bench.world.session()).state.cards.values() if one.method == "tasks.task.add"]
    assert Provenance.model_validate({"message": None, **(card.provenance or {})}).prose


async def test_a_day_in_a_proposal_is_that_of_the_firing(bench: Bench) -> None:
    """Not that of the day on which the order was given."""
    dated = {"method": "tasks.task.add", "params": {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7, "DEADLINE": "@date:завтра в 10"}}}
    await give(bench, dated)
    await bench.until(3)
    await change(bench, 777_000)
    (card,) = [one for one in (await bench.world.session()).state.cards.values() if one.method == "tasks.task.add"]
    assert card.params["fields"]["DEADLINE"].startswith("2026-11-25T10:00")


async def test_what_the_gate_refuses_is_told_and_not_proposed(bench: Bench) -> None:
    """A method that is closed stays closed for orders, too."""
    await give(bench, {"method": "crm.deal.delete", "params": {"id": "{record}"}})
    await change(bench, 777_000)
    told = bench.told(CHAT)
    assert any("не предлагаю" in text for text in told)
    assert not any(text.startswith("card:") for text in told)


async def test_the_card_shows_what_would_be_proposed_in_words(bench: Bench) -> None:
    """Labels, names and days as on the card of such a step; the order's card covers no such step."""
    params = {"of": "deals", "where": "open", "quiet": 14}
    assert await draw(bench, {**params, "propose": {"method": "tasks.task.add", "params": {"fields": TASK}}}) == (
        "Предложу: Поставить задачу «Позвонить: „название записи“» — Исполнитель: ответственный за запись; "
        "Крайний срок: послезавтра; Связано с CRM: сделка из найденных"
    )
    move = {"method": "crm.deal.update", "params": {"id": "{record}", "fields": {"STAGE_ID": "LOSE", "ASSIGNED_BY_ID": 7}}}
    assert await draw(bench, {**params, "propose": move}, slot="t/1/2") == (
        "Предложу: Изменить сделку — Стадия: Сделка провалена; Ответственный: Борис Смирнов"
    )
    assert await draw(bench, {"deal": 481, "changes": ["OPPORTUNITY"], "propose": move}, slot="t/1/3") == (
        "Предложу: Изменить сделку «Ромашка» — Стадия: Сделка провалена; Ответственный: Борис Смирнов"
    )


async def test_what_cannot_be_put_in_words_is_shown_as_it_stands(bench: Bench) -> None:
    """Nothing that would be proposed is left out of the card."""
    odd = {"method": "crm.deal.update", "params": {"id": "{title}", "fields": {"TITLE": "x"}}}
    shown = await draw(bench, {"deal": 481, "changes": ["OPPORTUNITY"], "propose": odd})
    assert "crm.deal.update" in shown
    assert '{"fields":{"TITLE":"x"},"id":"{title}"}' in shown


async def draw(bench: Bench, params: dict[str, Any], *, slot: str = "t/1/1") -> str:
    session = await bench.world.session()
    result = await bench.world.submit(session, effect("order.add", params, slot=slot))
    await session.close()
    shown = card(session, cast("Pending", result).confirmation_id)
    assert shown.covers == ()
    return to_plain_text(render_following(shown, Translator("ru")))


async def test_two_orders_that_fire_each_other_end_and_the_person_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though every card is pressed: the first that comes too often in a day is paused, and so neither fires any more."""
    monkeypatch.setattr(firing, "MOST_FIRINGS", 3)
    for mine, other in ((1_000, 2_000), (2_000, 1_000)):
        proposal = {"method": "crm.deal.update", "params": {"id": "{record}", "fields": {"OPPORTUNITY": other}}}
        await bench.give({"deal": 481, "changes": "OPPORTUNITY", "if": f"now.OPPORTUNITY == {mine}", "propose": proposal})
    await bench.look()
    bench.outbox()
    await change(bench, 1_000)
    pressed, paused = 0, 0
    for _ in range(10):
        rows = bench.outbox()
        paused += sum("order-was-paused" in str(row.body) for row in rows)
        cards = [row.body for row in rows if row.kind == "card" and row.body["status"] == "requested"]
        await bench.world.work(*[press(one) for one in cards])
        pressed += len(cards)
        await bench.look()
    assert (pressed, paused) == (6, 1)
    assert sorted(entry.why for entry in bench.orders().values()) == ["", "often"]
