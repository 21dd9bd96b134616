"""The words of a report: they fit under a picture whatever is in it, and say how it was counted even when nothing else fits."""

import pytest

from bot.i18n.translate import Translator
from bot.rendering.report_caption import CAPTION, build_caption, render_report_text
from bot.rendering.spans import Spans, build_spans, to_plain_text
from bot.telegram.view.entities import render_entities
from orchestrator.domain.card_view import count_units
from tests.unit.bot.rendering.report_kit import KINDS, MAKERS, PEOPLE, list_edges, make_answer, make_bars, make_cell, make_number, make_rows

RU = Translator("ru")


def say(text: Spans) -> str:
    return to_plain_text(text)


def test_a_caption_says_total_first_rows_definition_periods_notes_and_time() -> None:
    assert say(build_caption(make_bars(), RU)) == (
        "Выручка по менеджерам\nВыиграно с 1 октября, 8 из 12, ₽\nВыручка: 205,4 млн (+10 %, было 186,9 млн)\n\n"
        "1. Борис Смирнов: 35,3 млн (−11 %)\n2. Жанна Белова: 32,8 млн (−9 %)\n3. Вера Лебедева: 30,2 млн (+33 %)\n"
        "4. Кирилл Дроздов: 24,5 млн (+66 %)\n5. Ирина Громова: 24,1 млн (+7 %)\nи ещё 7\n\n"
        "Считал так: выигранные сделки, закрытые в периоде; сумма в рублях по курсу портала.\nПериод: октябрь – ноябрь\n"
        "Сравнение: те же дни прошлого квартала\nОтбор: воронка «Продажи»\n14 сделок без суммы\n"
        "уволенные показаны вместе с остальными\nданные на 18:45"
    )


def test_a_plan_and_what_changed_the_number_are_told() -> None:
    words = say(build_caption(make_number(), RU))
    assert "План 340 млн: сделано 60 %, прошло 64 % срока, осталось 134,6 млн (нужно 4,1 млн в день)" in words
    assert "Что изменило: Число сделок 12,4 млн; Средний чек −3,1 млн" in words
    plan = make_number().plan
    assert plan is not None
    over = make_number().model_copy(update={"plan": plan.model_copy(update={"left": make_cell(-12e6)})})
    assert "сверх плана 12 млн" in say(build_caption(over, RU))


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_every_hard_case_fits_under_a_picture(locale: str) -> None:
    tr = Translator("ru" if locale == "ru" else "en")
    for kind in KINDS:
        for name, answer in (("plain", MAKERS[kind]()), *list_edges(kind)):
            text, _ = render_entities(build_caption(answer, tr))
            assert 0 < count_units(text) <= CAPTION, name


def test_rows_go_first_then_notes_and_the_definition_stays() -> None:
    notes = tuple(f"примечание {number} " + "😀" * 60 for number in range(8))
    answer = make_bars().model_copy(update={"notes": notes})
    words = say(build_caption(answer, RU))
    assert "1. Борис" not in words
    assert "примечание 0" in words
    assert "примечание 7" not in words
    assert "Считал так: выигранные сделки" in words
    endless = make_bars().model_copy(update={"definition": "Считал так: " + "очень подробно " * 200, "notes": notes})
    text = say(build_caption(endless, RU))
    assert "Считал так: очень" in text
    assert "Выручка: 205,4 млн" in text


def test_words_of_the_model_stand_first_or_are_refused_if_they_have_no_room() -> None:
    assert say(build_caption(make_bars(), RU, before=build_spans("Продажи растут."))).startswith("Продажи растут.\n\nВыручка по менеджерам")
    with pytest.raises(ValueError, match="no room"):
        build_caption(make_bars(), RU, before=build_spans("Продажи растут. " * 70))


def test_without_a_picture_all_rows_up_to_thirty_are_listed_with_the_names_of_measures() -> None:
    rows = make_rows([f"Менеджер {number}" for number in range(40)], [1e6] * 40)
    words = say(render_report_text(make_answer("table", rows), RU))
    assert "30. Менеджер 29: 1 млн\nи ещё 10\n\nСчитал так" in words
    funnel = say(render_report_text(MAKERS["funnel"](), RU))
    assert "Менеджер · Сделки · от предыдущей\n1. Новая: 11\u00a0851 · –\n2. Подготовка документов: 9\u00a0895 · 83 %" in funnel


def test_a_stretch_that_is_not_over_and_a_report_without_rows_say_so() -> None:
    words = say(build_caption(MAKERS["line"](), RU))
    assert "\n\n26.10: 26 млн\n02.11: 33,2 млн\n09.11: 34,5 млн\n16.11: 28 млн\n23.11: 9 млн (ещё идёт)\nи ещё 7\n" in words
    assert "За этот период данных нет" in say(render_report_text(make_answer("bars", (), total=()), RU))


def test_names_of_others_link_nowhere() -> None:
    rows = make_rows(["@durov https://evil.example", *PEOPLE[1:2]], [2e6, 1e6])
    text, entities = render_entities(build_caption(make_answer("bars", rows), RU))
    assert "@durov" not in text
    assert {entity.type for entity in entities} <= {"bold", "italic", "expandable_blockquote"}
