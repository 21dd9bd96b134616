"""The buttons of a plan's card: one for all, some for single steps, and none that leads where it must not."""

from typing import Any

import pytest

from bot.telegram.intake.callbacks import ActionClick, CardClick, CheckClick, DetailsClick, unpack
from bot.telegram.view.keyboards import build_card_keyboard
from orchestrator.domain.card_view import CardView
from tests.unit.bot.rendering.card_kit import AT, EN, RU, a_preview, an_item
from tests.unit.bot.rendering.test_plan_cards import a_plan, a_step

LED: dict[str, Any] = {"lead": True, "told": ["tg:6"], "told_names": ["Вера"]}


def labels(body: dict[str, Any], tr: Any = RU) -> list[list[str]]:
    markup = build_card_keyboard(CardView.from_body(body), tr)
    return [[button.text for button in row] for row in markup.inline_keyboard] if markup else []


def clicks(body: dict[str, Any]) -> list[Any]:
    markup = build_card_keyboard(CardView.from_body(body), RU)
    data = [str(button.callback_data) for row in markup.inline_keyboard for button in row] if markup else []
    assert all(len(one.encode()) <= 64 for one in data)
    return [unpack(one) for one in data]


def test_one_button_for_all_and_two_for_each_step() -> None:
    assert labels(a_plan(a_step(1), a_step(2))) == [
        ["✅ Выполнить всё (2)", "✖ Отклонить всё"],
        ["Подробнее"],
        ["✏ Изменить 1", "✖ Убрать 1"],
        ["✏ Изменить 2", "✖ Убрать 2"],
    ]


def test_the_same_in_english() -> None:
    flat = [text for row in labels(a_plan(a_step(1), a_step(2)), EN) for text in row]
    assert {"✅ Do all (2)", "✖ Deny all", "✖ Leave out 1"} <= set(flat)


def test_what_the_buttons_send() -> None:
    """For all: the plan's id and nonce; for a step its own."""
    body = a_plan(a_step(1), a_step(2))
    yes, no, details, *steps = clicks(body)
    assert yes == CardClick(confirmation_id=body["confirmation_id"], nonce=body["nonce"], approve=True)
    assert no == CardClick(confirmation_id=body["confirmation_id"], nonce=body["nonce"], approve=False)
    assert details == DetailsClick(confirmation_id=body["confirmation_id"])
    assert steps[0] == ActionClick(words=("edit", f"{1:010x}"))
    assert steps[1] == CardClick(confirmation_id=f"{1:010x}", nonce=f"{1:08x}", approve=False)
    assert not [one for one in steps if isinstance(one, CardClick) and one.approve]


def test_the_last_waiting_step_is_simply_done_or_declined() -> None:
    """Nothing is left to leave out, and the button does not say «all»."""
    flat = [text for row in labels(a_plan(a_step(1, status="denied"), a_step(2))) for text in row]
    assert not [text for text in flat if "Убрать" in text or "всё" in text]
    assert "✏ Изменить 2" in flat


def test_the_second_tap_stands_elsewhere() -> None:
    """As on other dangerous cards: a double click on one place denies."""
    steps = [a_step(1), a_step(2, taps=2, call_class="D")]
    first, second = labels(a_plan(*steps)), labels(a_plan(*steps, stage=2))
    assert first[0][0] == "✖ Отклонить всё"
    assert [len(row) for row in second[:2]] == [1, 1]


def test_the_requester_of_what_a_lead_decides_may_withdraw_and_leave_out() -> None:
    """But neither approve nor edit."""
    found = clicks(a_plan(a_step(1), a_step(2, **LED)))
    assert not [one for one in found if isinstance(one, CardClick) and one.approve]
    assert not [one for one in found if isinstance(one, ActionClick) and one.words[0] == "edit"]
    assert len([one for one in found if isinstance(one, CardClick)]) == 3


@pytest.mark.parametrize("home", ["tg:1007", "tg:-1001234567890:123456"])
def test_a_copy_leads_to_the_chat_of_the_card(home: str) -> None:
    """Each of its decisions names that chat, and fits into 64 bytes."""
    found = clicks(a_plan(a_step(1), a_step(2, **LED), home=home))
    presses = [one for one in found if isinstance(one, CardClick)]
    assert {one.home for one in presses} == {home}
    assert len(presses) == 4


@pytest.mark.parametrize("status", ["elsewhere", "executed", "expired"])
def test_a_copy_of_what_is_over_has_no_buttons(status: str) -> None:
    steps = [a_step(1, **LED, status="requested" if status == "elsewhere" else status), a_step(2, status="executed", undo_until=AT)]
    assert labels({**a_plan(*steps, home="tg:1007"), "status": status}) == []


def test_afterwards_each_step_has_what_is_left_to_do() -> None:
    """Take back, check, request again; nothing for what is done for good."""
    body = a_plan(
        a_step(1, status="executed", undo_until=AT),
        a_step(2, status="unknown"),
        a_step(3, status="expired"),
        a_step(4, status="executed"),
        a_step(5, status="denied"),
    )
    assert clicks(body) == [
        ActionClick(words=("undo", f"{1:032x}")),
        CheckClick(confirmation_id=f"{2:010x}"),
        ActionClick(words=("again", f"{3:010x}")),
    ]


def test_a_running_plan_has_no_buttons() -> None:
    assert labels(a_plan(a_step(1, status="executed"), a_step(2, status="approved"))) == []


def test_a_batch_step_cannot_be_edited() -> None:
    batch = {"verb": "batch", "lines": [], "items": [an_item(7)], "count": 1}
    flat = [text for row in labels(a_plan(a_step(1, preview=a_preview()), a_step(2, preview=batch))) for text in row]
    assert ("✏ Изменить 1" in flat, "✏ Изменить 2" in flat) == (True, False)


def test_the_longest_plan_has_a_place_for_every_button() -> None:
    """Fifteen steps, at most a hundred buttons."""
    rows = labels(a_plan(*(a_step(number) for number in range(1, 16))))
    assert sum(map(len, rows)) == 33
    assert rows[2] == ["✏ 1", "✖ 1", "✏ 2", "✖ 2"]


def test_a_plan_of_twenty_steps_can_be_done_at_once_and_each_step_left_out() -> None:
    """Its buttons stay far below the hundred that Telegram shows."""
    flat = [text for row in labels(a_plan(*[a_step(number) for number in range(1, 21)])) for text in row]
    assert flat[:3] == ["✅ Выполнить всё (20)", "✖ Отклонить всё", "Подробнее"]
    assert len(flat) == 3 + 20
