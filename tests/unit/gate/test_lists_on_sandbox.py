"""Lists that a call replaces, from the request over the card and drift to the undo, against the sandbox portal."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.effect import Outcome, Pending
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.approve.run_approved import DecisionResult
from tests.unit.gate.sandbox_kit import Desk, a_desk
from tests.unit.spine_kit import VERA

DEAL = 410
MONTAGE = {"PRODUCT_NAME": "Монтаж", "PRICE": 777, "QUANTITY": 3}
SETUP = {"PRODUCT_NAME": "Настройка", "PRICE": 100, "QUANTITY": 2}
CABLE = {"PRODUCT_NAME": "Кабель", "PRICE": 12.5, "QUANTITY": 10}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """The product over a fresh sandbox, whose deal has two product rows; unlinking all contacts is allowed."""
    opened = {"open_methods": ["crm.deal.contact.items.delete"]}
    async with a_desk(tmp_path, policy=opened) as made:
        await put(made, MONTAGE, SETUP)
        yield made


async def put(desk: Desk, *rows: dict[str, Any]) -> None:
    """Somebody saves these rows in the portal."""
    await desk.world.client.call("crm.deal.productrows.set", {"id": DEAL, "rows": list(rows)})


async def names(desk: Desk) -> list[str]:
    return [row["PRODUCT_NAME"] for row in await desk.ask("crm.deal.productrows.get", id=DEAL)]


async def decide(desk: Desk, pending: Outcome | Pending) -> DecisionResult:
    entry = desk.card(pending)
    given = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=VERA, via="button")
    decided = await desk.world.gate.decide_card(given, mode="full", ledger=desk.session)
    await desk.session.flush()
    return decided


def replace_rows(*rows: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "crm.deal.productrows.set", {"id": DEAL, "rows": list(rows)}


def first_reason(desk: Desk, decided: DecisionResult) -> str:
    card = desk.session.state.cards[decided.replaced_by.confirmation_id]
    return Translator("ru").translate_notice(Notice.model_validate(card.reasons[0])).replace("\u00a0", " ")


@pytest.mark.req("S004-31", "G2")
async def test_a_row_that_somebody_added_meanwhile_is_not_lost_in_silence(desk: Desk) -> None:
    """The approved list would have removed it unseen: the card is asked again and names the rows."""
    pending = await desk.wish(*replace_rows(MONTAGE))
    await put(desk, MONTAGE, SETUP, CABLE)
    decided = await decide(desk, pending)
    said = first_reason(desk, decided)
    assert "товары изменились" in said
    assert "Кабель 10 × 12,50 ₽" in said
    assert await names(desk) == ["Монтаж", "Настройка", "Кабель"]


async def test_a_list_that_cannot_be_read_is_not_replaced(desk: Desk) -> None:
    """Nobody could see what would be lost, so nothing is asked and nothing is sent."""
    desk.wire.instead["crm.deal.productrows.get"] = httpx.Response(403, json={"error": "insufficient_scope", "error_description": "no"})
    await desk.refused(*replace_rows(MONTAGE))
    desk.wire.instead["crm.deal.productrows.get"] = httpx.Response(200, json={"result": False})
    await desk.refused(*replace_rows(MONTAGE))


async def test_the_lists_of_a_batch_are_read_in_one_request(desk: Desk) -> None:
    """And each command shows what it replaces."""
    cmd = {
        "a": f"crm.deal.productrows.set?id={DEAL}&rows[0][PRODUCT_NAME]=Б&rows[0][PRICE]=5",
        "b": "crm.deal.contact.items.set?id=411&items[0][CONTACT_ID]=43",
    }
    desk.wire.sent.clear()
    card = desk.card(await desk.wish("batch", {"halt": 0, "cmd": cmd}))
    items = card.preview["items"]
    assert [line["name"] for line in items[0]["lines"]][:2] == ["Товары — добавятся", "Товары — исчезнут"]
    assert items[1]["lines"][0]["name"] == "Контакты — добавятся"
    reads = [params["cmd"] for method, params in desk.wire.sent if method == "batch"]
    assert sum("productrows.get" in str(one) and "items.get" in str(one) for one in reads) == 1


async def test_replaced_rows_are_no_drift_for_the_other_steps_of_the_plan(desk: Desk) -> None:
    """The sum that the portal computed from the approved rows, and the contacts, are known; nobody is asked again."""
    contacts = {"id": DEAL, "items": [{"CONTACT_ID": 44}, {"CONTACT_ID": 45}]}
    steps = [
        await desk.wish(*replace_rows(MONTAGE)),
        await desk.wish("crm.deal.contact.items.set", contacts),
        await desk.wish("crm.deal.update", {"id": DEAL, "fields": {"OPPORTUNITY": 5, "IS_MANUAL_OPPORTUNITY": "Y"}}),
        await desk.wish("crm.item.productrow.set", {"ownerType": "D", "ownerId": DEAL, "productRows": []}),
        await desk.wish("crm.deal.contact.add", {"id": DEAL, "fields": {"CONTACT_ID": 46, "IS_PRIMARY": "Y"}}),
    ]
    for step in (steps[0], steps[1], steps[4], steps[2]):
        decided = await decide(desk, step)
        assert decided.outcome is not None, first_reason(desk, decided)
        assert decided.outcome.status == "succeeded"


SINGLE = {
    "dearer": ("crm.item.productrow.update", {"id": 3, "fields": {"price": 5}}),
    "more": ("crm.item.productrow.update", {"id": 4, "fields": {"quantity": 5}}),
    "gone": ("crm.item.productrow.delete", {"id": 5}),
    "new": ("crm.item.productrow.add", {"fields": {"ownerType": "D", "ownerId": DEAL, "productName": "Доставка", "price": 7}}),
    "all": replace_rows(CABLE),
    "sum": ("crm.deal.update", {"id": DEAL, "fields": {"OPPORTUNITY": 5, "IS_MANUAL_OPPORTUNITY": "Y"}}),
}


@pytest.mark.req("S004-31")
@pytest.mark.parametrize("plan", ["dearer new", "gone new", "dearer gone more new all", "dearer all", "gone sum", "dearer more gone sum"])
async def test_single_rows_that_the_plan_changes_are_no_drift(desk: Desk, plan: str) -> None:
    """Failed before: after an approved change of one row the next step about the same deal was asked again."""
    await put(desk, MONTAGE, SETUP, CABLE)
    for step in [await desk.wish(*SINGLE[name]) for name in plan.split()]:
        decided = await decide(desk, step)
        assert decided.outcome is not None, first_reason(desk, decided)
        assert decided.outcome.status == "succeeded"


async def test_what_somebody_does_to_a_row_that_the_plan_changed_is_drift(desk: Desk) -> None:
    """The plan made a row dearer, then a person made it dearer still: the next step is asked again."""
    await put(desk, MONTAGE, SETUP, CABLE)
    first, second = await desk.wish(*SINGLE["dearer"]), await desk.wish(*SINGLE["new"])
    assert (await decide(desk, first)).outcome is not None
    await desk.world.client.call("crm.item.productrow.update", {"id": 3, "fields": {"price": 6}})
    assert "товары изменились" in first_reason(desk, await decide(desk, second))


async def test_what_somebody_else_added_to_the_plans_rows_is_drift(desk: Desk) -> None:
    """One step ran, then a person added a row: the second step is asked again."""
    first = await desk.wish(*replace_rows(MONTAGE))
    second = await desk.wish(*replace_rows(CABLE))
    assert (await decide(desk, first)).outcome is not None
    await put(desk, MONTAGE, {**SETUP, "QUANTITY": 9})
    assert "товары изменились" in first_reason(desk, await decide(desk, second))


async def test_contacts_in_a_field_are_read_before_they_are_replaced(desk: Desk) -> None:
    """crm.deal.get has no CONTACT_IDS: they come from crm.item.get, stand on the card, and drift is seen."""
    was = [item["CONTACT_ID"] for item in await desk.ask("crm.deal.contact.items.get", id=DEAL)]
    for method, params, newcomer in (
        ("crm.deal.update", {"id": DEAL, "fields": {"CONTACT_IDS": [44, 45]}}, 43),
        ("crm.item.update", {"entityTypeId": 2, "id": DEAL, "fields": {"contactIds": [44, 46]}}, 48),
    ):
        pending = await desk.wish(method, params)
        entry = desk.card(pending)
        assert {line["name"] for line in entry.preview["lines"]} == {"Контакты — добавятся", "Контакты — исчезнут"}
        assert was in entry.before[f"deal:{DEAL}"].values()
        await desk.world.client.call("crm.deal.contact.add", {"id": DEAL, "fields": {"CONTACT_ID": newcomer}})
        assert "контакты изменились" in first_reason(desk, await decide(desk, pending))
        was = [item["CONTACT_ID"] for item in await desk.ask("crm.deal.contact.items.get", id=DEAL)]


async def test_a_single_row_is_shown_with_its_deal_and_the_sum(desk: Desk) -> None:
    """The row alone names neither: the card says from which deal it goes, in its currency, and what becomes of the sum."""
    row = (await desk.ask("crm.item.productrow.list", filter={"=ownerType": "D", "=ownerId": DEAL}))["productRows"][0]
    title = (await desk.ask("crm.deal.get", id=DEAL))["TITLE"]
    for method, params, line, left in (
        ("crm.item.productrow.delete", {"id": row["id"]}, ("Товары — исчезнут", "Монтаж 3 × 777 ₽"), "200 ₽"),
        (
            "crm.item.productrow.update",
            {"id": row["id"], "fields": {"price": 5}},
            ("Товары — изменятся", "Монтаж 3 × 777 ₽ → Монтаж 3 × 5 ₽"),
            "215 ₽",
        ),
    ):
        pending = await desk.wish(method, params)
        lines = [(one["name"], one["after"].replace("\u00a0", " ")) for one in desk.card(pending).preview["lines"]]
        assert lines == [("Из записи", title), line, ("Сумма станет по товарам", left)]
        await desk.world.client.call("crm.item.productrow.update", {"id": row["id"], "fields": {"quantity": 3 + len(left)}})
        assert "изменилось" in first_reason(desk, await decide(desk, pending))
        await desk.world.client.call("crm.item.productrow.update", {"id": row["id"], "fields": {"quantity": 3}})


@pytest.mark.parametrize(
    ("params", "lines"),
    [
        (
            {"attendees": [7, 8]},
            [
                ("Участники — добавятся", "Вера Лебедева"),
                ("Участники — исчезнут", "Анна Ковалёва"),
                ("Участники — останутся", "Борис Смирнов"),
            ],
        ),
        ({"attendees": [8]}, [("Участники — добавятся", "Вера Лебедева"), ("Участники — исчезнут", "Анна Ковалёва\nБорис Смирнов")]),
        ({"is_meeting": "Y"}, [("Участники — исчезнут", "Анна Ковалёва\nБорис Смирнов")]),
        ({"name": "Иное"}, []),
    ],
)
async def test_guests_of_an_event_are_read_before_they_are_replaced(desk: Desk, params: dict[str, Any], lines: list[Any]) -> None:
    """Also where the call names none and the portal therefore removes them all; a change of the guests meanwhile is drift."""
    made = {"type": "user", "ownerId": 6, "name": "Встреча", "section": 1, "attendees": [6, 7], "is_meeting": "Y"}
    times = {"from": "2026-12-01T10:00:00+03:00", "to": "2026-12-01T11:00:00+03:00"}
    event = (await desk.world.client.call("calendar.event.add", {**made, **times})).result
    pending = await desk.wish("calendar.event.update", {"id": event, **params})
    shown = [(line["name"], line["after"]) for line in desk.card(pending).preview["lines"]]
    assert [line for line in shown if line[0].startswith("Участники")] == lines
    if lines:
        await desk.world.client.call("calendar.event.update", {"id": event, **made, **times, "attendees": [6, 7, 9]})
        assert "участники изменились" in first_reason(desk, await decide(desk, pending))


async def test_a_list_of_several_pages_is_read_to_its_end(desk: Desk) -> None:
    """Row 51 and those after it are lost as well, alone and in a batch."""
    await put(desk, *({"PRODUCT_NAME": f"Товар {number}", "PRICE": 1} for number in range(1, 121)))
    for method, params in (
        ("crm.item.productrow.set", {"ownerType": "D", "ownerId": DEAL, "productRows": []}),
        (
            "batch",
            {
                "halt": 0,
                "cmd": {
                    "a": "crm.item.productrow.set?ownerType=D&ownerId=410&productRows[0][productName]=А&productRows[0][price]=1",
                    "b": "crm.deal.contact.items.set?id=410&items[0][CONTACT_ID]=44",
                },
            },
        ),
    ):
        preview = desk.card(await desk.wish(method, params)).preview
        lines = (preview["items"] or [preview])[0]["lines"]
        lost = next(line["after"] for line in lines if line["name"] == "Товары — исчезнут")
        assert lost.count("\n") == 119
        assert lost.replace("\u00a0", " ").endswith("Товар 120 1 × 1 ₽")


async def test_guests_that_the_portal_does_not_tell_are_unknown(desk: Desk) -> None:
    """Nobody reads on the card that an event has no guests only because the answer did not name them."""
    desk.wire.instead["calendar.event.getbyid"] = httpx.Response(200, json={"result": {"ID": "1", "NAME": "Встреча"}})
    lines = desk.card(await desk.wish("calendar.event.update", {"id": 1, "attendees": [7]})).preview["lines"]
    assert [(line["before"], line["after"]) for line in lines if line["name"] == "Участники"] == [("неизвестно", "Борис Смирнов")]
    answer = {"ID": "1", "NAME": "Встреча", "ATTENDEES_CODES": ["U6", "DR5"]}
    desk.wire.instead["calendar.event.getbyid"] = httpx.Response(200, json={"result": answer})
    lines = desk.card(await desk.wish("calendar.event.update", {"id": 1, "attendees": [6]})).preview["lines"]
    assert ("Участники — исчезнут", "DR5") in [(line["name"], line["after"]) for line in lines]
