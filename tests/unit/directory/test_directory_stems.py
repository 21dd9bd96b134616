"""Names in any case are the same name, and different names are not."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.language.text import normalize_text
from orchestrator.language.title_matching import (
    EXACT,
    WHOLE,
    WHOLE_BACKWARDS,
    extract_words,
    find_stem,
    is_match,
    is_mentioned,
    is_same_word,
    measure_match,
)

FORMS = """
Ромашка Ромашки Ромашке Ромашку Ромашкой Ромашек
Ковалёва Ковалёвой Ковалеву Ковалевой
Ковалёв Ковалева Ковалёву Ковалёвым Ковалеве
Борис Бориса Борису Борисом Борисе
Анна Анны Анне Анну Анной
Оля Оли Оле Олю Олей
Илья Ильи Илье Илью Ильёй
Игорь Игоря Игорю Игорем
Павел Павла Павлу Павлом
Лев Льва Льву
Алексей Алексея Алексею Алексеем
Евгений Евгения Евгению Евгением Евгении
Мария Марии Марию Марией
Наталья Натальи Наталье Наталью Натальей
Достоевский Достоевского Достоевскому Достоевским
Достоевская Достоевской Достоевскую
Вектор Вектора Вектору Вектором Векторе
Ветер Ветра Ветру Ветром
Северный Северного Северному Северным
Рынок Рынка Рынку Рынком
Огонёк Огонька Огоньку
Купец Купца Купцом
Ремстрой Ремстроя Ремстрою Ремстроем
Сталь Стали Сталью
Предприятие Предприятия Предприятию
Технологии Технологий Технологиям
Продукты Продуктов Продуктам
Системы Систем Системам
Золотой Золотого Золотому
Рабочий Рабочего Рабочему
Солнце Солнца Солнцем
Acme Acmes
""".strip().splitlines()


@pytest.mark.parametrize("line", FORMS)
def test_all_forms_of_a_name_are_one_word_and_share_their_beginning(line: str) -> None:
    """Every case is the same word, and the search stem of each case finds the title."""
    forms = [normalize_text(form) for form in line.split()]
    assert [pair for pair in permutations(forms, 2) if not is_same_word(*pair)] == []
    # The search stem of any form must find the title, which is written in the dictionary form.
    assert [form for form in forms if not forms[0].startswith(find_stem(form))] == []


DIFFERENT = [
    "Иван Иванов",
    "Пётр Петров",
    "Достоевский Достоевская",
    "Роман Рома",
    "Артём Арт",
    "Ковалёв Коваленко",
    "Вектор Векторный",
    "Мария Марина",
    "Максим Макс",
    "Вера Верона",
    "Ромашка Роман",
    "Север Северный",
    "Альфа Альфред",
    "Бета Бетон",
    "Орёл Орлов",
    "Ковалёва Ковалевская",
    "Марк Маркет",
    "Дом Дума",
    "Анна Антон",
    "Строй Стройка",
    "Ян Яна",
    "7А 7Б",
    "Лена Елена",
    "X5 X50",
]


@pytest.mark.parametrize("pair", DIFFERENT)
def test_similar_names_stay_different_words(pair: str) -> None:
    """A person, a derived name and a spouse are not the same word."""
    left, right = pair.split()
    assert not is_same_word(normalize_text(left), normalize_text(right))


SCORES = [
    ("Ромашка", "Ромашка", EXACT),
    ("«ромашка»", "ООО Ромашка", EXACT),
    ("Ковалева", "КОВАЛЁВА", EXACT),
    ("Школа №5", "Школа № 5", EXACT),
    ("Ро\u200bмашка", "Ромашка", EXACT),
    ("сделка Ромашка", "Ромашка", EXACT),
    ("Acme'у", "ACME Ltd", EXACT),
    ("Ромашке", "ООО «Ромашка»", WHOLE),
    ("Северного ветра", "Северный ветер", WHOLE),
    ("Анне Ковалёвой", "Анна Ковалёва", WHOLE),
    ("Александра", "Александр", WHOLE),
    ("Александр", "Александра", WHOLE_BACKWARDS),
    ("ООО Ромашка", "АО Ромашка", 0),
    ("Ромашка 2", "Ромашка 3", 0),
    ("Ромашка 2", "Ромашка", 0),
    ("Ян", "Яна", 0),
    ("да", "Дача", 0),
    ("сделка", "Сделка 5", 0),
    ("с", "Договор с Ромашкой", 0),
    ("", "Ромашка", 0),
    ("Ромашка", "", 0),
    ("«»", "Ромашка", 0),
]


@pytest.mark.parametrize(("query", "title", "expected"), SCORES)
def test_score_follows_the_written_rules(query: str, title: str, expected: float) -> None:
    """Each rule of the module has its value."""
    assert measure_match(query, title) == expected
    assert is_match(query, title) is (expected > 0)


def test_a_run_beats_order_and_order_beats_any_order() -> None:
    """The closer to the title, the higher the score."""
    title = "Ромашка — поставка мебели"
    assert (
        WHOLE_BACKWARDS
        > measure_match("поставку мебели", title)
        > measure_match("ромашка мебель", title)
        > measure_match("мебель ромашка", title)
        > 0
    )


def test_legal_forms_and_little_words_count_only_alone() -> None:
    """Noise is dropped unless nothing else is there."""
    assert extract_words("ООО «Ромашка» и Ко с Вектором") == ("ромашка", "вектором")
    assert extract_words("ООО") == ("ооо",)


MENTIONS = [
    ("ООО «Ромашка»", "перенеси Ромашку на пятницу", True),
    ("Ромашка — поставка мебели", "перенеси Ромашку", True),
    ("Поставка ООО «Вектор»", "что с Вектором?", True),
    ("Поставка мебели («Вектор»)", "что с Вектором?", True),
    ("Анна Ковалёва", "позвони Ковалёвой Анне", True),
    ("Северный ветер", "что по северному ветру", True),
    ("Ромашка 2", "Ромашку 2 закрой", True),
    ("1С", "счёт для 1С", True),
    ("VK", "напиши в VK", True),
    ("VK", "напиши в vk", False),
    ("Booking.com", "найди на site.com", False),
    ("Ромашка — поставка мебели", "оформи поставку", False),
    ("Поставка мебели для Вектора", "Вектор", False),
    ("Анна Ковалёва", "позвони Анне", False),
    ("Анна Ковалёва", "Анна звонила, а Ковалёва нет", False),
    ("Ромашка 2", "Ромашка 3", False),
    ("Пятница", "перенеси на пятницу", False),
    ("Новый договор", "оформи новый договор", False),
    ("ООО Ромашка", "напиши АО Ромашка", False),
    ("№481", "закрой 481", False),
    ("Ромашка", "", False),
    ("", "Ромашка", False),
    ("«»—", "Ромашка", False),
]


@pytest.mark.parametrize(("title", "text", "expected"), MENTIONS)
def test_a_text_names_a_record_only_by_a_whole_part_of_its_title(title: str, text: str, *, expected: bool) -> None:
    """In doubt a record is not named."""
    assert is_mentioned(title, text) is expected


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_compared_without_an_error(left: str, right: str) -> None:
    """Scores stay between 0 and 1, and a title made of anything scores 1 against itself if it has a word."""
    assert 0 <= measure_match(left, right) <= 1
    assert is_mentioned(left, right) in {True, False}
    assert measure_match(left, left) == (EXACT if extract_words(left) else 0)
