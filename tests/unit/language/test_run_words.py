"""What a person types in answer to a question of a run is an answer, unless it can hardly be one."""

import pytest

from orchestrator.language.run_words import normalize_words, read_run_words


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
