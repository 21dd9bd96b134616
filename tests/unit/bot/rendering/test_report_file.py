"""A report as a file: numbers are numbers with their formats, names are never formulas, a second sheet says how it was counted."""

import io
from typing import Any

from openpyxl import load_workbook

from bot.i18n.translate import Translator
from bot.rendering.report_file import render_report_xlsx
from orchestrator.domain.report import ReportAnswer
from tests.unit.bot.rendering.report_kit import KINDS, MAKERS, list_edges, make_answer, make_bars, make_number, make_rows


def read_sheets(answer: ReportAnswer) -> list[Any]:
    return list(load_workbook(io.BytesIO(render_report_xlsx(answer, Translator("ru")))).worksheets)


def list_values(sheet: Any) -> list[tuple[Any, ...]]:
    return [tuple(cell.value for cell in row) for row in sheet.iter_rows()]


def test_numbers_are_numbers_with_both_periods_and_a_total() -> None:
    sheet = read_sheets(make_bars())[0]
    rows = list_values(sheet)
    assert sheet.title == "Выручка по менеджерам"
    assert rows[0] == ("Менеджер", "Выручка, RUB", "Выручка: было", "Выручка: изменение, %")
    assert rows[1][:3] == ("Борис Смирнов", 35300000, 39700000)
    assert round(rows[1][3], 3) == -0.111
    assert rows[9][:3] == ("Всего", 205400000, 186900000)
    assert [cell.number_format for cell in sheet[2]][1:] == ["#,##0.00", "#,##0.00", "+0.0%;-0.0%;0.0%"]


def test_percents_are_percents_and_a_missing_number_is_an_empty_cell() -> None:
    sheet = read_sheets(MAKERS["funnel"]())[0]
    rows = list_values(sheet)
    assert rows[1] == ("Новая", 11851, None)
    assert round(rows[2][2], 3) == 0.835
    assert sheet["C3"].number_format == "0.0%"


def test_the_second_sheet_says_how_it_was_counted() -> None:
    how = dict(row for row in list_values(read_sheets(make_number())[1]) if row[0] != "Примечание")
    assert how["Как считано"].startswith("Считал так: выигранные сделки")
    assert how["Отбор"] == "воронка «Продажи»"
    assert how["Период"] == "октябрь – ноябрь (2026-10-01 – 2026-11-28)"
    assert how["Сравнение"].startswith("те же дни прошлого квартала (2026-07-01")
    assert how["Время данных"] == "данные на 18:45"
    assert (how["Записей"], how["План"]) == (1403, "340 млн")


def test_names_that_look_like_formulas_stay_names() -> None:
    names = ['=HYPERLINK("http://evil","x")', "+1+1", "-2", "@SUM(A1)", "\tx", "{=1}"]
    answer = make_answer("bars", make_rows(names, [1.0] * 6), title="=1+1", definition="=1", notes=("@note",), as_of="+5")
    for sheet in read_sheets(answer):
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type != "f"
                assert cell.hyperlink is None
    assert [row[0] for row in list_values(read_sheets(answer)[0])[1:5]] == names[:4]


def test_every_hard_case_makes_a_file() -> None:
    for kind in KINDS:
        for _, answer in list_edges(kind):
            assert len(read_sheets(answer)) == 2
    twins = make_answer("bars", (), title="Как считано?")
    assert [sheet.title for sheet in read_sheets(twins)][1] == "Как считано"
