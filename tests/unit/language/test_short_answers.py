"""A short answer carries an order on only if it says nothing but which, when or yes."""

import pytest

from orchestrator.language.request_words import is_new_moment, is_pointing, normalize_words, read_run_words

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


@pytest.mark.parametrize(
    "text",
    ["отмена", "Отмени", "отмени, пожалуйста", "стоп", "Стоп!", "хватит", "всё, хватит", "нет, стоп", "отмени сценарий", "хочу выйти",
     "✖ Отменить", "cancel", "Stop.", "please stop", "cancel it", "stop the scenario"],
)  # fmt: skip
def test_words_that_only_leave_leave(text: str) -> None:
    """In both languages, with courtesies around them."""
    assert read_run_words(text) == "leave"


@pytest.mark.parametrize("text", ["назад", "Назад, пожалуйста", "вернись назад", "шаг назад", "back", "go back", "Previous question"])
def test_words_that_only_go_back_go_back(text: str) -> None:
    """In both languages."""
    assert read_run_words(text) == "back"


@pytest.mark.parametrize(
    "text",
    ["покажи мои сделки", "подними сумму сделки Ромашка до 150 000", "подними сделку 481 на 10%", "найди Ромашку", "что у меня сегодня?",
     "сколько у меня сделок?", "а что по Ромашке?", "какие сделки без задач?", "создай задачу позвонить Ивану завтра", "верни как было",
     "напомни мне завтра в 10", "запиши в 410: клиент перезвонит", "посчитай 15% от 340 тысяч", "ой, а покажи лиды", "отмени сделку 481",
     "Договорились о встрече, закрой задачу", "кому из клиентов не звонили? есть сделки без дел?", "show my deals", "find Romashka",
     "raise deal 481 by 10%", "what is the stage of deal 5", "can you show my tasks?", "привет, покажи мои сделки",
     "Добрый вечер.\nпокажи сделки Веры", "сколько денег по Кедру в этом месяце", "где телефон Лапиной", "what's new in Kedr"],
)  # fmt: skip
def test_what_asks_or_orders_something_of_the_bot_is_no_answer(text: str) -> None:
    """Reading and writing, with a record or without."""
    assert read_run_words(text) == "request"


@pytest.mark.parametrize(
    "text",
    ["ООО Ромашка", "Иван Петров", "Отмена заказа", "не надо", "нет", "позже", "Стоп-кран для цеха", "Пришлите КП на три станка",
     "Позвонить клиенту", "Поставить 3 станка до пятницы", "Перезвоните после обеда", "Обсудили сделку, клиент думает", "Какой-то новый клиент",
     "Добрый день, высылаю КП", "хочет скидку 10% и отсрочку", "Добавить в договор пункт о скидке", "Можно в пятницу", "Как обычно",
     "Сделка с Ромашкой", "Нужно создать сайт", "открытие нового офиса", "«покажи мои сделки»", '"стоп"', "Back office", "Create a website",
     "Set of three machines", "Close to the metro", "change of delivery date", "Lead generation", "Назад в будущее", "", "700 тыс", "?", "Сколько угодно", "Сколько получится", "Где удобно",
     "Как в прошлый раз", "Когда угодно", "Привет! Высылаю счёт"],
)  # fmt: skip
def test_what_may_be_an_answer_is_one(text: str) -> None:
    """Names, facts, what a customer asks for, what is to be done; and whatever stands in quotation marks."""
    assert read_run_words(text) is None


def test_the_words_of_a_button_are_read_without_its_sign() -> None:
    """So that a typed word meets the button of the author."""
    assert normalize_words("✖  Отменить!") == normalize_words("отменить")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("нет, давай в 10:15", True),
        ("лучше завтра в 9", True),
        ("и в понедельник в 11 тоже", True),
        ("ой, в половине одиннадцатого", True),
        ("no, make it 10:15", True),
        ("нет", False),
        ("нет, во вторую", False),
        ("нет, в 410", False),
        ("в 10:15?", False),
        ("не в 10:15", False),
        ("нет, давай в 10:15 скидку 90 %", False),
    ],
)
def test_a_new_moment_says_nothing_else(text: str, *, is_one: bool) -> None:
    """Only a day or hour, with the words of a correction beside it."""
    assert is_new_moment(text) is is_one
