"""A short answer carries an order on only if it says nothing but which, when or yes."""

import pytest

from orchestrator.language.short_answers import is_pointing

QUESTION = "В какую сделку: «Вектор: склад» или «Вектор: офис»? Или не записывать?"


@pytest.mark.parametrize(
    "text",
    [
        "завтра в 10",
        "15.03",
        "15 марта",
        "в пятницу в 10:30",
        "через час",
        "yes",
        "the second one",
        "tomorrow at noon",
        "во вторую",
        "410",
        "№2",
        "2-ю",
        "в 410-ю",
        "да",
        "да, во вторую",
        "в склад",
        "Вектор: офис",
        "в офисе",
        "в последнюю",
        "обе",
    ],
)
def test_what_points_out_is_an_answer(text: str) -> None:
    """A number, an ordinal, a name that the bot has quoted, a day, a yes."""
    assert is_pointing(text, QUESTION)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "…",
        "погоди",
        "нет",
        "да нет",
        "да, но потом",
        "я сам запишу",
        "не записывать",
        "не надо",
        "отменить",
        "спасибо",
        "в другую",
        "покажи вторую",
        "что во второй",
        "во вторую?",
        "Ромашка",
        "no",
        "wait",
        "not the first",
        "I will do it",
        "да " * 50,
    ],
)
def test_what_says_anything_else_is_none(text: str) -> None:
    """Doubts, other wishes, refusals and questions, also in words of the bot's own question."""
    assert not is_pointing(text, QUESTION)


def test_words_of_the_question_are_an_answer_but_for_verbs_and_refusals() -> None:
    question = "Какое перенести: про Вектор во вторник или про счёт Ромашке? Или отменить? Skip or move?"
    assert is_pointing("про счёт", question)
    assert not any(is_pointing(text, question) for text in ("отменить", "перенести нет", "skip", "про договор"))


def test_titles_of_records_shown_beside_the_question_are_names() -> None:
    assert is_pointing("в Ромашку", "В какую?", ["Ромашка: доставка"])
    assert not is_pointing("в Ромашку", "В какую?", ["Роман"])


@pytest.mark.parametrize("text", ["потом", "попозже", "сам", "отказ", "никакую", "отклоняю", "отложим", "отбой", "later", "declined"])
def test_words_that_put_off_or_turn_down_are_no_answer_though_the_bot_asked_in_them(text: str) -> None:
    assert not is_pointing(text, f"Записать в 410 или {text}?")


@pytest.mark.parametrize(
    ("text", "answers"), [("👎 410", False), ("🚫 в 410", False), ("❌ 410", False), ("👍 410", True), ("✅ во вторую", True)]
)
def test_a_picture_may_turn_down_what_the_words_point_out(text: str, *, answers: bool) -> None:
    assert is_pointing(text, QUESTION) is answers
