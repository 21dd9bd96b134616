"""Pictures of reports can be read whatever is in them: nothing overlaps, nothing is small or pale, and strangers' words are only words."""

import struct
from itertools import combinations
from pathlib import Path

import pytest
from lxml import etree

from bot.i18n.translate import Locale, Translator
from bot.rendering.pictures.canvas import HIGHEST, LOWEST, WIDTH, Box
from bot.rendering.pictures.drawing import Picture, draw_report
from bot.rendering.pictures.palette import THEMES, ThemeName, calculate_contrast
from bot.rendering.pictures.text_width import FONTS, Font, clean_text, cut_text, wrap_text
from orchestrator.domain.report import ReportAnswer, ReportMeasure, Shown
from tests.unit.bot.rendering.report_kit import KINDS, MAKERS, PEOPLE, list_edges, make_answer, make_bars, make_cell, make_line, make_rows

THEME_NAMES: tuple[ThemeName, ...] = ("light", "dark")
TOUCH = 0.6
"""Pixels that boxes may share: descenders seldom reach the bottom of theirs."""


def draw(answer: ReportAnswer, theme: ThemeName = "light", locale: Locale = "ru") -> Picture:
    picture = draw_report(answer, Translator(locale), theme=theme)
    assert picture is not None
    return picture


def list_texts(picture: Picture) -> list[str]:
    return [box.text for box in picture.boxes if box.kind == "text"]


def overlap(first: Box, second: Box) -> bool:
    across = min(first.right, second.right) - max(first.left, second.left)
    down = min(first.bottom, second.bottom) - max(first.top, second.top)
    return across > TOUCH and down > TOUCH


def check(picture: Picture, name: str) -> None:
    texts = [box for box in picture.boxes if box.kind == "text"]
    shapes = [box for box in picture.boxes if box.kind == "shape"]
    assert picture.width == WIDTH
    assert LOWEST <= picture.height <= HIGHEST, name
    for box in picture.boxes:
        assert box.left >= 0, (name, box)
        assert box.right <= WIDTH, (name, box)
        assert box.top >= 0, (name, box)
        assert box.bottom <= picture.height, (name, box)
    for first, second in combinations(texts, 2):
        assert not overlap(first, second), (name, first, second)
    for text in texts:
        assert text.size >= 11, (name, text)
        assert calculate_contrast(text.ink, text.ground) >= 4.5, (name, text)
        assert not any(overlap(text, shape) for shape in shapes), (name, text)
    for shape in shapes:
        assert calculate_contrast(shape.ink, shape.ground) >= 3, (name, shape)


@pytest.mark.parametrize("theme", THEME_NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_of_each_kind_and_of_twelve_hard_cases_can_be_read(kind: Shown, theme: ThemeName) -> None:
    for name, answer in (("plain", MAKERS[kind]()), *list_edges(kind)):
        for locale in ("ru", "en"):
            picture = draw(answer, theme, locale)
            check(picture, f"{kind}, {name}, {theme}, {locale}")
            etree.fromstring(picture.svg)


def test_colours_of_both_themes_stand_out_from_their_paper() -> None:
    for theme in THEMES.values():
        for ink in (theme.ink, theme.muted, theme.up, theme.down, theme.plan):
            assert calculate_contrast(ink, theme.paper) >= 4.5
        assert min(calculate_contrast(colour, theme.paper) for colour in (theme.accent, theme.past, theme.plan)) >= 3


def test_bars_show_names_numbers_changes_both_periods_and_how_many_groups_are_left() -> None:
    texts = list_texts(draw(make_bars()))
    assert texts[:2] == ["Выручка по менеджерам", "Выиграно с 1 октября, 8 из 12, ₽"]
    assert [name for name in PEOPLE if name in texts] == list(PEOPLE)
    assert {"35,3 млн", "−11 %", "+66 %", "октябрь – ноябрь", "те же дни прошлого квартала", "и ещё 4 · данные на 18:45"} <= set(texts)


def test_the_sum_of_the_rest_is_a_bar_only_while_it_is_the_rest_of_what_is_drawn() -> None:
    rest = make_rows(("Остальные",), (5e6,))[0].model_copy(update={"kind": "rest"})
    few = draw(make_answer("bars", (*make_rows(PEOPLE, [1e6] * 8), rest), groups=12))
    assert "Остальные" in list_texts(few)
    assert not any("ещё" in text for text in list_texts(few))
    many = draw(make_answer("bars", (*make_rows((*PEOPLE, "Дина Котова"), [1e6] * 9), rest), groups=12))
    assert "Остальные" not in list_texts(many)
    assert any("и ещё 4" in text for text in list_texts(many))


def test_growth_of_what_should_be_small_is_red_and_says_plus() -> None:
    answer = make_bars()
    bad = answer.model_copy(update={"measures": (answer.measures[0].model_copy(update={"is_less_better": True}),)})
    inks = [{box.text: box.ink for box in draw(one).boxes}["+33 %"] for one in (answer, bad)]
    assert inks == [THEMES["light"].up, THEMES["light"].down]


def test_a_stage_shows_what_it_is_of_the_stage_before() -> None:
    texts = list_texts(draw(MAKERS["funnel"]()))
    assert {"Подготовка документов", "9\u00a0895", "↓ 83 %", "↓ от предыдущей"} <= set(texts)


def test_a_stretch_that_is_not_over_is_dashed_and_the_plan_crosses_the_line() -> None:
    picture = draw(MAKERS["line"]())
    assert 'stroke-dasharray="4 3"' in picture.svg
    assert {"план 40 млн", "34,5 млн", "9 млн", "23.11"} <= set(list_texts(picture))


def test_the_scale_of_a_line_is_in_round_numbers_of_one_word() -> None:
    texts = list_texts(draw(make_line()))
    assert {"0", "10 млн", "20 млн", "30 млн", "40 млн"} <= set(texts)
    rates = make_line().model_copy(update={"measures": (ReportMeasure(code="rate", label="Доля побед", unit="percent"),), "plan": None})
    rows = tuple(row.model_copy(update={"cells": (make_cell(20.0 + place, unit="percent"),)}) for place, row in enumerate(rates.rows))
    assert {"10 %", "20 %", "30 %"} <= set(list_texts(draw(rates.model_copy(update={"rows": rows}))))
    small = list_texts(draw(make_answer("line", make_rows(PEOPLE[:3], [0.25, 0.5, 1.25]))))
    assert {"0", "0,25", "0,5", "0,75", "1"} <= set(small)


def test_a_table_has_no_picture_and_no_rows_are_told() -> None:
    assert draw_report(make_answer("table", ()), Translator("ru")) is None
    assert "За этот период данных нет" in list_texts(draw(make_answer("bars", ())))


def test_words_of_strangers_are_only_words() -> None:
    hostile = '</text><script>alert(1)</script><image href="http://evil/x.png"/>&amp;"\'\x00\ud800'
    for kind in KINDS:
        rows = MAKERS[kind]().rows
        renamed = tuple(row.model_copy(update={"labels": tuple(hostile for _ in row.labels)}) for row in rows)
        svg = draw(MAKERS[kind]().model_copy(update={"rows": renamed, "title": hostile, "subtitle": hostile, "as_of": hostile})).svg
        tags = {etree.QName(element).localname for element in etree.fromstring(svg).iter()}
        assert tags <= {"svg", "rect", "text", "polyline", "polygon", "circle"}


def test_numbers_that_no_scale_holds_are_drawn_as_missing() -> None:
    for kind in ("bars", "funnel", "line", "matrix"):
        check(draw(make_answer(kind, make_rows(PEOPLE[:3], [float("nan"), float("inf"), 1e6]))), kind)


def read_advances(font: bytes) -> dict[str, int]:
    """By the tables of the font itself: `cmap` in format 4, `hmtx`."""
    count = struct.unpack(">H", font[4:6])[0]
    tables = {font[place : place + 4]: struct.unpack(">II", font[place + 8 : place + 16])[0] for place in range(12, 12 + 16 * count, 16)}
    hmtx, cmap = tables[b"hmtx"], tables[b"cmap"]
    metrics = struct.unpack(">H", font[tables[b"hhea"] + 34 : tables[b"hhea"] + 36])[0]
    starts = [
        cmap + struct.unpack(">I", font[place + 4 : place + 8])[0]
        for place in range(cmap + 4, cmap + 4 + 8 * struct.unpack(">H", font[cmap + 2 : cmap + 4])[0], 8)
    ]
    table = next(start for start in starts if struct.unpack(">H", font[start : start + 2])[0] == 4)
    size = struct.unpack(">H", font[table + 6 : table + 8])[0]
    parts = [struct.unpack(f">{size // 2}H", font[table + at : table + at + size]) for at in (14, 16 + size, 16 + 2 * size, 16 + 3 * size)]
    advances = {}
    for number, (last, first, delta, away) in enumerate(zip(*parts, strict=True)):
        for mark in range(first, last + 1):
            place = table + 16 + 3 * size + 2 * number + away + 2 * (mark - first)
            glyph = (struct.unpack(">H", font[place : place + 2])[0] if away else mark) + delta & 0xFFFF
            if mark != 0xFFFF:
                at = hmtx + 4 * min(glyph, metrics - 1)
                advances[chr(mark)] = struct.unpack(">H", font[at : at + 2])[0]
    return advances


@pytest.mark.parametrize(("name", "font"), [("DejaVuSans.ttf", Font(2048)), ("DejaVuSans-Bold.ttf", Font(2048, is_bold=True))])
def test_the_table_of_advances_is_that_of_the_shipped_font(name: str, font: Font) -> None:
    content = Path(FONTS / name).read_bytes()
    assert len(content) <= 54_000
    advances = read_advances(content)
    assert len(advances) > 300
    assert {mark: round(font.measure_mark(mark)) for mark in advances} == advances


def test_marks_that_the_font_lacks_become_a_letter_a_box_or_nothing() -> None:
    assert clean_text("Ő\u202eабв\u0000\n 🔥 שם₽ №") == "Oабв □□₽ №"


def test_cut_text_fits_and_ends_with_an_ellipsis() -> None:
    font = Font(12.5)
    for width in (0, 5, 20, 80, 200):
        short = cut_text("Отдел продаж промышленного оборудования", width, font)
        assert font.measure_text(short) <= width
        assert not short or short.endswith("…")
    assert wrap_text("один два три", font.measure_text("один два "), font, 2) == ["один два", "три"]
