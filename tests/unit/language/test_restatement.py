"""A sentence of the model is left out only if code says all of it; one that tells, asks or warns of anything more stays."""

import pytest

from orchestrator.replies.one_message import drop_restatements, sounds_done

REQUEST = "поставь задачу Позвонить Смирнову на понедельник 15:00 и подними сумму сделки Ромашка до 150 000"
LINES = ("«Позвонить Смирнову» №9001", "Крайний срок: пн, 23 ноября, 15:00; Исполнитель: вы", "Сумма", "120 000 ₽", "150 000 ₽", "Ромашка")


@pytest.mark.parametrize(
    "text",
    [
        "Готово.",
        "Готово!",
        "✅ Готово, задача создана.",
        "Сделано: поставил задачу «Позвонить Смирнову» на понедельник, 15:00.",
        "Поднимаю сумму сделки «Ромашка» до 150 000 ₽. Подтвердите, пожалуйста.",
        "Подготовил изменение суммы сделки «Ромашка»: 120 000 → 150 000 ₽.\nПодтвердите на карточке ниже.",
        "**Готово.** Задача «Позвонить Смирнову» создана, срок — 23 ноября, 15:00, исполнитель вы.",
        "Хорошо, меняю сумму.",
        "Прошу подтвердить изменение.",
        "Ждёт решения.",
        "Done. I've created the task.",
        "I have prepared the change, please confirm it on the card below.",
        "Задачу поставил, сумму подниму, когда вы одобрите карточку.",
        "",
    ],
)
def test_a_sentence_that_code_says_too_is_left_out(text: str) -> None:
    assert drop_restatements(text, (REQUEST, *LINES)) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Задачу поставил, но сумму не поднял.",
        "Не удалось поднять сумму.",
        "Готово? Или нужно ещё что-то?",
        "Сумма сделки сейчас 110 000 ₽.",
        "У клиента просрочен счёт.",
        "Создал задачу для Бориса.",
        "Поставил задачу на вторник.",
        "Сделано без изменения суммы.",
        "Поднял сумму только до 150 000.",
        "Подробности: https://portal.example/crm/deal/481",
        "Done, but not the amount.",
        "Сумма: 1,5 млн.",
        "Скидка 10 %.",
        "Спросите у @boris.",
    ],
)
def test_a_sentence_that_says_anything_more_stays(text: str) -> None:
    assert drop_restatements(text, (REQUEST, *LINES)) == text


ODD = ("поставь задачу Когда оплата? и запиши почту i@k.ru", "«Когда оплата?» №7", "Почта: i@k.ru", "Иван Котов")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Готово, поставил задачу «Когда оплата?».", ""),
        ("Готово: контакт **Иван Котов** (i@k.ru).", ""),
        ("Всё сделано! Задача «Когда оплата?» создана.", ""),
        ("Готово. Поставить задачу «Когда оплата?» ещё и Борису?", "Поставить задачу «Когда оплата?» ещё и Борису?"),
        ("Готово. Когда оплата?", "Когда оплата?"),
        ("Готово, записал почту other@k.ru.", "Готово, записал почту other@k.ru."),
        ("Готово: «Другая задача».", "Готово: «Другая задача»."),
    ],
)
def test_signs_within_a_known_value_are_no_news(text: str, left: str) -> None:
    """A title that ends in a question mark, or a known address, made each «Готово» stand twice; a question of the model stays."""
    assert drop_restatements(text, ODD) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Готово. Кстати, у Смирнова завтра день рождения.", "Кстати, у Смирнова завтра день рождения."),
        ("У клиента просрочен счёт. Меняю сумму. Проверьте карточку.", "У клиента просрочен счёт."),
        ("Просрочен счёт.\n\nМеняю сумму.\n\nАдрес устарел.", "Просрочен счёт.\n\nМеняю сумму.\n\nАдрес устарел."),
    ],
)
def test_only_the_beginning_and_the_end_are_shortened(text: str, left: str) -> None:
    assert drop_restatements(text, (REQUEST, *LINES)) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Удалю сделку «Ромашка». Восстановить будет нельзя.", "Удалю сделку «Ромашка». Восстановить будет нельзя."),
        ("Готово. Удалю сделку «Ромашка». Восстановить будет нельзя.", "Удалю сделку «Ромашка». Восстановить будет нельзя."),
        ("Меняю сумму сделки «Ромашка».\n\nКстати, адрес устарел.", "Кстати, адрес устарел."),
    ],
)
def test_a_new_sentence_keeps_the_one_that_names_what_it_speaks_of(text: str, left: str) -> None:
    """«Восстановить будет нельзя.» stood alone, and nobody could read what of."""
    assert drop_restatements(text, (REQUEST, *LINES)) == left


def test_a_denial_in_the_request_makes_no_denial_known() -> None:
    """«Не» always says something, whoever wrote it first."""
    assert drop_restatements("Не поднял сумму.", ("не забудь поднять сумму",)) == "Не поднял сумму."


@pytest.mark.parametrize(
    "text",
    [
        "Добавляю в «Стройинвест: фасад» 7 шт. «Светильник» по 1000 ₽.",
        "Добавляю в «Стройинвест: фасад» 7 упак. «Светильник» по 1000 ₽.",
        "Встреча на ул. Мира, 7.",
    ],
)
def test_a_sentence_is_not_cut_at_a_shortened_word_or_a_known_name(text: str) -> None:
    """«… 20 шт. «Светильник»» stood without its price."""
    known = ("впиши в фасад светильники по 1000 рублей, встреча мира 5", "Стройинвест: фасад", "Светильник", "1 000 ₽")
    assert drop_restatements(text, known) == text


def test_what_is_left_out_is_a_whole_sentence() -> None:
    text = "Клиент хочет семь. «Светильник» по 1000 ₽."
    assert drop_restatements(text, ("светильники по 1000 рублей", "Светильник", "1 000 ₽")) == "Клиент хочет семь."


SALES_DAY = (
    "корпус 1 двигаем на следующий этап, впиши двадцать светильников по 1000 рублей, закрыть хотим десятого декабря; передай: жду протокол",
    "Стройинвест: корпус 1", "Стадия", "Новая", "Подготовка документов", "Светильник светодиодный 36 Вт 20 × 1 000 ₽", "Дата завершения",
    "чт, 10 декабря", "Глеб Орлов", "Анна: Жду протокол к вечеру понедельника", "Заявка с сайта 146",
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Перевожу «Стройинвест: корпус 1» из «Новой» в «Подготовку документов».",
        "Добавляю в «Стройинвест: корпус 1» 20 шт. «Светильник светодиодный 36 Вт» по 1000 ₽.",
        "Ставлю дату завершения 10 декабря.",
        "Пишу Глебу, что вы ждёте протокол к вечеру понедельника.",
        "Беру лид №146 «Заявка с сайта» и меняю ему стадию, как вы хотели.",
    ],
)
def test_an_announcement_is_left_out_unless_it_names_something_else(text: str) -> None:
    """Names, numbers and days stand in other cases and with other spaces on the card; the words around them say nothing."""
    assert drop_restatements(text, SALES_DAY, ("Пишу Глебу про протокол",)) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Пишу Глебу и Вере про протокол.",
        "Перевожу «Стройинвест: корпус 2» в «Подготовку документов».",
        "Добавляю 30 шт. по 1 000 ₽.",
        "Пишу Глебу, что протокол нужен завтра.",
        "Пишу Глебу не сразу.",
        "Клиент недоволен.",
    ],
)
def test_an_announcement_that_names_something_else_stays(text: str) -> None:
    assert drop_restatements(text, SALES_DAY, ("Пишу Глебу про протокол", "Клиент ждёт")) == text


@pytest.mark.parametrize(
    ("text", "is_claim"),
    [
        ("Пишу Вере про протокол.", True),
        ("Done: moved to Friday.", True),
        ("Кровли среди ваших сделок нет. Беру её из общих.", True),
        ("Поставить и Борису задачу?", False),
        ("Учтите: у клиента просрочен счёт.", False),
        ("Кровли среди ваших сделок нет.", False),
    ],
)
def test_only_a_statement_with_a_word_of_doing_sounds_done(text: str, *, is_claim: bool) -> None:
    assert sounds_done(text, ("Пишу Вере",)) is is_claim
