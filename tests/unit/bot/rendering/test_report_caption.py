"""The words of a report: they fit under a picture whatever is in it, and say how it was counted even when nothing else fits."""

import re

import pytest

from bot.i18n.translate import Translator
from bot.rendering.report_caption import CAPTION, build_caption, render_report_text
from bot.rendering.spans import Spans, build_spans, to_plain_text
from bot.telegram.view.entities import render_entities
from orchestrator.domain.card_view import count_units
from orchestrator.domain.report import ReportDimension, ReportMeasure, ReportRow
from tests.unit.bot.rendering.report_kit import KINDS, MAKERS, PEOPLE, list_edges, make_answer, make_bars, make_cell, make_number, make_rows

RU = Translator("ru")


def say(text: Spans) -> str:
    return to_plain_text(text)


def test_a_caption_says_total_first_rows_definition_periods_notes_and_time() -> None:
    assert say(build_caption(make_bars(), RU)) == (
        "Выручка по менеджерам\nВыиграно с 1 октября, 8 из 12, ₽\nВыручка: 205,4 млн (+10 %, было 186,9 млн)\n\n"
        "1. Борис Смирнов: 35,3 млн (−11 %)\n2. Жанна Белова: 32,8 млн (−9 %)\n3. Вера Лебедева: 30,2 млн (+33 %)\n"
        "4. Кирилл Дроздов: 24,5 млн (+66 %)\n5. Ирина Громова: 24,1 млн (+7 %)\n"
        "6. Захар Волков: 23,1 млн (+8 %)\n7. Лариса Ежова: 18,3 млн (+15 %)\n8. Глеб Орлов: 17,1 млн (+23 %)\nи ещё 4\n\n"
        "Считал так: выигранные сделки, закрытые в периоде; сумма в рублях по курсу портала.\nПериод: октябрь – ноябрь\n"
        "Сравнение: те же дни прошлого квартала\nОтбор: воронка «Продажи»\n14 сделок без суммы\n"
        "уволенные показаны вместе с остальными\nданные на 18:45"
    )


def test_a_plan_and_what_changed_the_number_are_told() -> None:
    words = say(build_caption(make_number(), RU))
    assert "План 340 млн: сделано 60 %, прошло 64 % срока, осталось 134,6 млн (нужно 4,1 млн в день)" in words
    assert "Из чего сложилось изменение (это не причина):\nЧисло сделок 12,4 млн\nСредний чек −3,1 млн" in words
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
    assert "\n\n07.09: 27,6 млн\n14.09: 29,8 млн\n" in words
    assert "\n16.11: 28 млн\n23.11: 9 млн (ещё идёт)\n\n" in words
    assert "За этот период данных нет" in say(render_report_text(make_answer("bars", (), total=()), RU))


def test_names_of_others_link_nowhere() -> None:
    rows = make_rows(["@durov https://evil.example", *PEOPLE[1:2]], [2e6, 1e6])
    text, entities = render_entities(build_caption(make_answer("bars", rows), RU))
    assert "@durov" not in text
    assert {entity.type for entity in entities} <= {"bold", "italic", "expandable_blockquote"}


def test_ten_rows_that_were_asked_for_are_all_shown_and_the_rest_after_them() -> None:
    rows = make_rows([f"ИП «Ладогаснаб» {number}" for number in range(1, 11)], [1e6] * 10)
    rest = ReportRow(labels=("ещё 41",), cells=(make_cell(5e6),), kind="rest")
    answer = make_answer("bars", (*rows, rest), groups=51, question={"top": 10}, notes=[f"примечание {n} {'о' * 80}" for n in range(6)])
    words = say(build_caption(answer, RU, before=build_spans("Десять клиентов с самой большой суммой выигранных сделок за этот год:")))
    assert "10. ИП «Ладогаснаб» 10: 1 млн\nещё 41: 5 млн\n" in words
    assert "примечание 5" not in words, "notes go first; they stand in «Как считано»"
    assert count_units(words) <= CAPTION


def test_a_single_row_is_never_hidden() -> None:
    """A line that says «и ещё 1» is as long as the row."""
    for count in range(2, 40):
        rows = make_rows([f"Менеджер {number} {'Фамилия' * 4}" for number in range(count)], [1e6] * count)
        assert "и ещё 1\n" not in say(build_caption(make_answer("bars", rows), RU))
    assert "16. Менеджер 15" in say(build_caption(make_answer("bars", make_rows([f"Менеджер {n}" for n in range(16)], [1e6] * 16)), RU))


def test_a_funnel_shows_its_last_stage_whatever_goes() -> None:
    funnel = MAKERS["funnel"]()
    assert "6. Сделка успешна: 2\u00a0557 · 46 %" in say(build_caption(funnel, RU))
    words = say(build_caption(funnel, RU, before=build_spans("о" * 690)))
    assert "6. Сделка успешна: 2\u00a0557" in words
    assert "(в файле)\n6. Сделка успешна" in words


def test_a_series_that_does_not_fit_keeps_its_newest_and_says_in_front_what_went() -> None:
    rows = make_rows([f"{number}–{number + 6} сентября" for number in range(60)], [1e6] * 60)
    answer = make_answer("line", rows, dimensions=(ReportDimension(code="week", label="Неделя", is_time=True),))
    words = say(build_caption(answer, RU))
    assert re.search(r"\n\nраньше – ещё \d+ \(в файле\)\n\d+–\d+ сентября: 1 млн\n", words)
    assert "59–65 сентября: 1 млн\n\n" in words


def test_beside_rows_there_is_no_whole_of_shares_and_no_empty_total() -> None:
    measures = (
        ReportMeasure(code="share:sum", label="доля (сумма)", unit="percent"),
        ReportMeasure(code="reached", label="дошло", total_label="создано сделок", unit="count"),
        ReportMeasure(code="sum", label="сумма", unit="money"),
    )
    row = ReportRow(keys=("WEB",), labels=("Сайт",), cells=(make_cell(100, unit="percent"), make_cell(7, unit="count"), make_cell(1e6)))
    total = (make_cell(100, unit="percent"), make_cell(7, unit="count"), make_cell(None))
    words = say(build_caption(make_answer("table", (row,), measures=measures, total=total), RU))
    assert "Создано сделок: 7" in words
    assert "Доля (сумма):" not in words
    assert "Сумма: –" not in words


def test_the_filter_is_not_told_twice_and_details_stand_apart() -> None:
    answer = make_bars().model_copy(
        update={
            "definition": "Считал так: выигранные сделки (источник: Сайт).",
            "filter_text": "выигранные; источник: Сайт",
            "details": "Закрытие – день перехода.",
        }
    )
    words = say(build_caption(answer, RU))
    assert "Отбор" not in words
    assert "Закрытие" not in words
    assert "Закрытие – день перехода." in say(render_report_text(answer, RU))


def test_a_premise_is_the_headline_and_remarks_stand_by_the_total() -> None:
    answer = make_bars().model_copy(update={"headline": "Не упало: +10 %", "remarks": ("мало данных: Борис Смирнов (1)",)})
    words = say(build_caption(answer, RU))
    assert words.startswith("Не упало: +10 %\nВыручка по менеджерам\n")
    assert "было 186,9 млн)\nмало данных: Борис Смирнов (1)\n\n1. Борис" in words
