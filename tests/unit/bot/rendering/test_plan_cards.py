"""The card of a plan as people read it: waiting, running, partly done, drifted, with a lead; also with hostile titles."""

from typing import Any

import pytest

from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from orchestrator.gate.approve.card_groups import find_group
from state.model.card import Card
from tests.unit.bot.rendering.card_kit import AT, EN, RU, a_card, a_preview, an_item


def a_step(number: int, **more: Any) -> dict[str, Any]:
    """The card of one step of a plan."""
    title = f"Сделка-{number}"
    values = {"confirmation_id": f"{number:010x}", "nonce": f"{number:08x}", "slot": f"t1/1/{number}", "effect_id": f"{number:032x}"}
    return a_card(**values, preview=a_preview(title=title), requested_at=AT, told=[], told_names=[]) | more


def a_plan(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The body of the message that shows these steps."""
    cards = [Card.from_stored(one) for one in steps]
    group = find_group(cards[0], {card.confirmation_id: card for card in cards})
    assert group is not None
    return {**group.merge().to_stored(), "stage": 1, "members": [card.to_stored() for card in group.members]} | more


def shown(body: dict[str, Any], tr: Any = RU, kind: str = "card") -> str:
    return to_plain_text(render_message(kind, body, tr))


def test_a_waiting_plan_lists_its_steps_with_old_and_new_values() -> None:
    """A numbered line each, why it asks once, and until when."""
    text = shown(a_plan(a_step(1), a_step(2)))
    assert text.startswith("План: 2 действия\n\n1. Изменить сделку «Сделка-1»")
    assert "Сумма: 1 000 000 ₽ → 1 200 000 ₽" in text
    assert text.count("Просит") == 1
    assert text.count("меняются") + text.count("меняется") <= 1


def test_the_same_in_english() -> None:
    done = {"status": "executed", "approved_by_name": "Anna"}
    assert shown(a_plan(a_step(1), a_step(2), a_step(3)), EN).startswith("Plan: 3 actions")
    assert "2 of 2 done · decided by Anna" in shown(a_plan(a_step(1, **done), a_step(2, **done)), EN)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"status": "executed", "approved_by_name": "Анна"}, "✅"),
        ({"status": "refused", "code": "ACCESS_DENIED", "detail": "нет прав"}, "⚠️ "),
        ({"status": "refused", "code": "E_NEW", "detail": "E_NEW: Odd (HTTP 400)"}, "Битрикс24 отказал: это не прошло. Код"),
        ({"status": "refused", "code": "INVALID_CREDENTIALS", "detail": "INVALID_CREDENTIALS: no (HTTP 401)"}, "он не принимает ключ бота"),
        ({"status": "denied", "denied_by_name": "Вера", "reason": "не сейчас"}, "отклонено: Вера. Причина: не сейчас"),
        ({"status": "denied", "denied_by": "tg:1", "requested_by": "tg:1", "denied_by_name": "Анна"}, "убрано из плана"),
        ({"status": "unknown"}, "неизвестно, выполнено ли"),
        ({"status": "expired"}, "время вышло"),
        ({"status": "superseded", "why": "no-access"}, "больше не ждёт решения"),
        ({"status": "executed", "undone_at": AT, "undone_by": "Анна"}, "Отменено"),
    ],
)
def test_each_step_says_what_came_of_it(more: dict[str, Any], words: str) -> None:
    """Beside one that still waits."""
    text = shown(a_plan(a_step(1, **more), a_step(2)))
    assert words in text
    assert "Просит" in text


def test_a_finished_plan_says_how_much_was_done_and_who_decided() -> None:
    done = {"status": "executed", "approved_by_name": "Анна"}
    refused = {"status": "refused", "approved_by_name": "Анна", "detail": "нет прав", "code": "ACCESS_DENIED"}
    assert "Выполнено 1 из 2 · решение: Анна" in shown(a_plan(a_step(1, **done), a_step(2, **refused)))


def test_a_finished_plan_says_until_when_it_can_be_undone() -> None:
    """Once if it is the same for all steps that ran; else at the steps that have a button for it."""
    done = {"status": "executed", "approved_by_name": "Анна", "undo_until": "2026-11-21T10:30:00+00:00"}
    words = "Отменить можно до"
    assert shown(a_plan(a_step(1, **done), a_step(2, **done))).count(words) == 1
    text = shown(a_plan(a_step(1, **done), a_step(2, **done | {"undo_until": ""})))
    assert text.index(words) < text.index("Сделка-2")
    assert words in shown(a_plan(a_step(1, **done), a_step(2)))
    assert words not in shown(a_plan(a_step(1, **done), a_step(2, **done)) | {"home": "tg:1007"})
    assert words not in shown(a_plan(*(a_step(number, **done, undone_at=AT, undone_by="Анна") for number in (1, 2))))


def test_a_running_plan_says_that_it_runs() -> None:
    """And not how much of it is done, as if it were over."""
    running = {"status": "approved", "approved_by_name": "Анна"}
    text = shown(a_plan(a_step(1, **running), a_step(2, **running)))
    assert "Выполняется · решение: Анна" in text
    assert "из 2" not in text


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"status": "denied", "denied_by_name": "Вера", "denied_at": AT, "reason": "не сейчас"}, "не сейчас"),
        ({"status": "expired", "expired_at": AT}, "Срок истёк"),
    ],
)
def test_what_came_of_all_steps_is_said_once(more: dict[str, Any], words: str) -> None:
    assert shown(a_plan(a_step(1, **more), a_step(2, **more), a_step(3, **more))).count(words) == 1


def test_who_decides_is_named_and_a_second_tap_is_asked_for() -> None:
    led = {"lead": True, "told": ["tg:6"], "told_names": ["Вера"]}
    assert "Вера" in shown(a_plan(a_step(1), a_step(2, **led)))
    assert "Вера" not in shown(a_plan(a_step(1), a_step(2, **led, status="denied", denied_by_name="Анна")))
    twice = a_plan(a_step(1), a_step(2, taps=2, call_class="D"), stage=2)
    assert "необратимо" in shown(twice).lower() or "точно" in shown(twice).lower()


def test_a_copy_that_others_decide_now_says_so() -> None:
    body = a_plan(a_step(1, told_names=["Глеб"], told=["tg:5"]), a_step(2))
    assert "Теперь решает Глеб" in shown({**body, "status": "elsewhere", "home": "tg:1007"})


def test_a_batch_among_the_steps_lists_its_commands() -> None:
    batch = {"verb": "batch", "lines": [], "items": [an_item(7), an_item(8)], "count": 2, "title": "", "entity": ""}
    text = shown(a_plan(a_step(1), a_step(2, method="batch", preview=batch)))
    assert [("Сделка-7" in text), ("Сделка-8" in text)] == [True, True]


def test_long_fates_do_not_outgrow_the_message() -> None:
    """Fifteen refusals with long reasons fit into the 4,096 units of one message."""
    refused = {"status": "refused", "code": "X", "detail": "очень " * 200, "approved_by_name": "Анна"}
    steps = [a_step(number, **refused) for number in range(1, 16)]
    assert len(shown(a_plan(*steps))) <= 4096


def test_details_describe_every_step() -> None:
    text = shown(a_plan(a_step(1), a_step(2)), kind="details")
    assert ("1. Изменить сделку «Сделка-1»" in text, "2. Изменить сделку «Сделка-2»" in text) == (True, True)
    assert text.count("Просит") <= 1


def test_the_fields_that_change_are_named_together() -> None:
    """Not «Меняется сумма и ещё 1»."""
    reasons = [{"code": "gate-critical", "args": {"field": field}} for field in ("STAGE_ID", "OPPORTUNITY")]
    text = shown(a_plan(a_step(1, reasons=reasons[:1]), a_step(2, reasons=reasons[1:])))
    assert "Меняются: стадия, сумма" in text
    assert "ещё 1" not in text


def test_a_following_step_says_its_title_once() -> None:
    lines = [
        {"field": "TITLE", "name": "Название", "before": "", "after": "Позвонить"},
        {"field": "X", "name": "Срок", "before": "", "after": "завтра"},
    ]
    following = {"verb": "add", "entity": "task", "method": "tasks.task.add", "title": "Позвонить", "lines": lines}
    assert "«Позвонить» — Срок: завтра" in to_plain_text(render_message("card", a_card(next_steps=[following], stage=1), RU))
