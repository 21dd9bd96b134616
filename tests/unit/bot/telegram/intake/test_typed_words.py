"""Words about cards in every form that people write them: only a clear «да» approves, only a clear «нет» denies; all else is talk."""

from typing import Any

import pytest

from bot.telegram.intake.callbacks import CardClick, pack
from bot.telegram.intake.router import OpenCard
from orchestrator.domain.outputs import Notice
from tests.unit.bot.telegram.door_kit import ANNA, ME, NOW, VERA, access, answer_in, message, parse_update, raw_message
from tests.unit.bot.telegram.door_kit import BOT as BOT_USER

CARD = OpenCard(confirmation_id="0a1b2c3d4e", nonce="12345678", message_id="99", call_class="W", taps=1)
ELSEWHERE: dict[str, Any] = {"external_reply": {"origin": {"type": "hidden_user", "date": 1_795_000_000, "sender_user_name": "Клиент"}}}
STORY: dict[str, Any] = {"reply_to_story": {"chat": {"id": 7, "type": "private", "first_name": "А"}, "id": 5}}


@pytest.mark.parametrize(
    "text",
    [
        "да, но сумму 500", "да нет", "да нет, стоп", "нет да", "да?", "да…", "да да", "да\nудали всё", "да 👍", "👍", "+", "✅", "ага", "конечно",
        "ну да", "окей", "oui", "ja", "sí", "да, и отправь всем", "yes but 500", "не да", "дa", "d a", "/да", "«да»", "да\u200bнет",
    ],
)  # fmt: skip
@pytest.mark.req("S004-A1")
def test_words_that_are_no_clear_yes_or_no_are_talk(text: str) -> None:
    """«да нет», emoji, another language, a yes with a change behind it: a request or a command, never a decision."""
    reply: dict[str, Any] = {"reply_to_message": raw_message("карточка", via=BOT_USER, message_id=99)}
    cases: list[dict[str, Any]] = [{}, reply]
    for more in cases:
        routed = parse_update(message(text, **more), access(), ME, (CARD,), NOW)
        assert [row.kind for row in routed.rows] == ["command" if text.startswith("/") else "message"]


@pytest.mark.parametrize("more", [ELSEWHERE, STORY], ids=["another chat", "a story"])
@pytest.mark.req("S004-A1")
def test_a_yes_that_answers_something_elsewhere_decides_nothing(more: dict[str, Any]) -> None:
    """A reply to a message of another chat or to a story has no message of this chat that it replies to, and means no card of ours."""
    routed = parse_update(message("да", **more), access(), ME, (CARD,), NOW)
    assert [row.kind for row in routed.rows] == ["message"]
    routed = parse_update(message("нет", **more), access(), ME, (CARD,), NOW)
    assert [row.kind for row in routed.rows] == ["message"]


@pytest.mark.parametrize("word", ["да", "нет", "отмена", "yes"])
@pytest.mark.parametrize("prompt", ["Новое значение: Закрыта\nСейчас на карточке: Да", "⚠️ Не понял\n\nNew value: Closed"])
def test_a_word_that_answers_the_question_for_a_value_decides_no_card(word: str, prompt: str) -> None:
    """Two cards wait: «да» to the question for a new value is that value, and not a reason to ask which card is meant."""
    other = OpenCard(confirmation_id="1a1b2c3d4e", nonce="12345678", message_id="98", call_class="W", taps=1)
    reply = raw_message(prompt, via=BOT_USER, message_id=97)
    routed = parse_update(message(word, reply_to_message=reply), access(), ME, (CARD, other), NOW)
    assert [row.kind for row in routed.rows] == ["message"]


def _to_lead_card(text: str) -> Any:
    data = pack(CardClick(confirmation_id="0a1b2c3d4e", nonce="12345678", approve=True, home="tg:1007"))
    keyboard = {"inline_keyboard": [[{"text": "✅", "callback_data": data}]]}
    card = raw_message("карточка", chat=VERA, via=BOT_USER, message_id=99, reply_markup=keyboard)
    return parse_update(message(text, sender=VERA, reply_to_message=card), access(), ME, (), NOW)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("нет, сначала договор", "сначала договор"),
        ("Нет — дорого", "дорого"),
        ("нет денег на это", "нет денег на это"),
        ("Не согласна: скидка велика", "Не согласна: скидка велика"),
        ("не надо пока", "не надо пока"),
        ("Отклоняю, нет бюджета", "Отклоняю, нет бюджета"),
        ("рано ещё", "рано ещё"),
        ("no, the contract first", "the contract first"),
        ("not yet", "not yet"),
    ],
)
def test_a_lead_who_begins_with_a_refusal_denies_with_the_reason(text: str, reason: str) -> None:
    (row,) = _to_lead_card(text).rows
    assert (row.kind, row.body["text"], row.body["home"]) == ("reason", reason, f"tg:{ANNA}")


@pytest.mark.parametrize(
    "text",
    [
        "хорошо", "согласна", "ок, давай", "👍", "+", "я не против", "не против", "не вопрос", "не вижу проблем", "да, но сумму 500", "а почему так много?",
        "кто клиент?", "Проверила, всё верно", "нетто 500", "одобряю", "отлично", "пусть делает", "none of this is a problem", "great", "Anna, why?",
    ],
)  # fmt: skip
def test_a_lead_whose_words_are_no_refusal_has_denied_nothing(text: str) -> None:
    """«Согласна» in answer to the card denied it, with that for a reason: words decide only where they leave no doubt."""
    routed = _to_lead_card(text)
    assert answer_in(routed) == Notice(code="lead-answer-how")
