"""One rule for all grids: each value with the name of its column, nothing lost, nothing under a wrong name."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.services.rag.document import Block
from orchestrator.services.rag.readers.tables import Line, TableReader, fill_down, is_value


def read(text: str, reader: TableReader | None = None) -> list[Block]:
    """The grid as lines with | between cells."""
    return list((reader or TableReader()).read([Line([cell.strip() for cell in line.split("|")]) for line in text.strip("\n").split("\n")]))


def rows(text: str) -> list[str]:
    return [block.text for block in read(text) if block.kind == "row"]


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        ("Наименование | Цена с НДС 20% | Цена от 10 шт\nКабель | 125 | 110\nЩит навесной | по запросу | по запросу",
         ["Наименование: Кабель; Цена с НДС 20%: 125; Цена от 10 шт: 110.", "Наименование: Щит навесной; Цена с НДС 20%: по запросу; Цена от 10 шт: по запросу."]),
        ("Менеджер | 2024 | 2025\nИванов | 10 | 20", ["Менеджер: Иванов; 2024: 10; 2025: 20."]),
        ("Товар | 10 | 50 | 100\nКружка | 300 | 280 | 250", ["Товар: Кружка; 10: 300; 50: 280; 100: 250."]),
        ("Город | 01.12.2026 | 02.12.2026\nМосква | 5 | 7", ["Город: Москва; 01.12.2026: 5; 02.12.2026: 7."]),
        ("Прайс-лист ООО Ромашка\nдействует с 01.12.2026\nАртикул | Название | Цена\nА-1 | Стол | 5 000 ₽", ["Артикул: А-1; Название: Стол; Цена: 5 000 ₽."]),
        ("Артикул | Цена, ₽ | \n | опт | розница\nА-1 | 100 | 120", ["Артикул: А-1; Цена, ₽ опт: 100; Цена, ₽ розница: 120."]),
        ("Товар | Цена | Вес\n | руб. | кг\nСтол | 100 | 20", ["Товар: Стол; Цена, руб.: 100; Вес, кг: 20."]),
        ("Товар | Цена\n1 | 2\nСтол | 100", ["Товар: Стол; Цена: 100."]),
        ("Товар | Цена\nСтол | 100\nТовар | Цена\nСтул | 50", ["Товар: Стол; Цена: 100.", "Товар: Стул; Цена: 50."]),
        ("Товар | Цена | Цена\nСтол | 100 | 90", ["Товар: Стол; Цена (2): 100; Цена (3): 90."]),
        ("5 | 10 | 20\n6 | 12 | 24", ["5; 10; 20.", "6; 12; 24."]),
        ("Банк | АО «Банк»\nБИК | 044525225\nИНН | 7701234567\nАдрес | Москва", ["Банк: АО «Банк».", "БИК: 044525225.", "ИНН: 7701234567.", "Адрес: Москва."]),
        ("Клиент | ООО Ромашка\nГород | Москва\nМенеджер | Вера", ["Клиент: ООО Ромашка.", "Город: Москва.", "Менеджер: Вера."]),
        ("Товар | Цена\nСтол | 100\nСтул | по запросу", ["Товар: Стол; Цена: 100.", "Товар: Стул; Цена: по запросу."]),
        ("Итого | 5 | 6\nТовар | Было | Стало\nСтол | 5 | 6", ["Товар: Стол; Было: 5; Стало: 6."]),
    ],
)  # fmt: skip
def test_each_value_stands_under_the_name_of_its_column(grid: str, told: list[str]) -> None:
    assert rows(grid) == told


def test_groups_are_headings_and_notes_are_text() -> None:
    """A row of one cell amid a table names those after it; what says more, or ends the table, is a note."""
    blocks = read(
        "Товар | Цена\nВентиляторы\nКанальные\nВК-100 | 4 200\n* цены без доставки\nОсевые\nОС-1 | 900\nЦены действуют до конца года"
    )
    assert [(block.kind, block.text, block.level) for block in blocks if block.kind != "row"] == [
        ("text", "Столбцы: Товар; Цена.", 1),
        ("heading", "Вентиляторы", 3),
        ("heading", "Канальные", 4),
        ("text", "* цены без доставки", 1),
        ("heading", "Осевые", 3),
        ("text", "Цены действуют до конца года", 1),
    ]


def test_two_tables_of_a_sheet_have_their_own_names() -> None:
    assert rows("Товар | Цена\nСтол | 100\n\nГород | Срок, дней\nМосква | 3") == [
        "Товар: Стол; Цена: 100.",
        "Город: Москва; Срок, дней: 3.",
    ]


def test_a_gap_in_a_table_keeps_its_names_and_another_form_does_not() -> None:
    """Behind the gap the same columns hold the same kind of values; a block of another form has no names rather than wrong ones."""
    told = rows("Товар | Вес | Цена\nСтол | 5 | 100\n\nСтул | 2 | 50\n\n3 | 4")
    assert told == ["Товар: Стол; Вес: 5; Цена: 100.", "Товар: Стул; Вес: 2; Цена: 50.", "3; 4."]


def test_a_table_goes_on_on_the_next_page() -> None:
    """With the names at its top once more, or without them."""
    reader = TableReader()
    read("Товар | Цена | Срок\nСтол | 100 | 3", reader)
    assert [block.text for block in read("Стул | 50 | 2", reader)] == ["Товар: Стул; Цена: 50; Срок: 2."]
    assert [block.text for block in read("Товар | Цена | Срок\nШкаф | 70 | 1", reader)] == ["Товар: Шкаф; Цена: 70; Срок: 1."]
    assert (reader.rows, reader.sample) == (3, "Товар: Стол; Цена: 100; Срок: 3.")


def test_cells_that_span_rows_stand_in_each_of_them() -> None:
    assert fill_down([["Москва", "1"], ["", "2"], ["", "3"]], [(0, 0, 1, 0)]) == [["Москва", "1"], ["Москва", "2"], ["", "3"]]


@pytest.mark.parametrize("value", ["4 200", "15 %", "3 990 ₽", "12,5 кг", "01.12.2026", "10–20", "5 шт.", "100 руб./шт", "-3", "(5)"])
def test_figures_with_signs_and_a_unit_are_values(value: str) -> None:
    assert is_value(value)


@pytest.mark.parametrize("name", ["Цена с НДС 20%", "2026", "Цена от 10 шт", "ВК-100", "Зона 1", "по запросу", "Срок 3–5 дней", ""])
def test_words_with_figures_and_years_are_names(name: str) -> None:
    assert not is_value(name)


CELL = st.sampled_from(["", "", "Стол", "Цена", "100", "5 %", "Вентиляторы", "* note", "по запросу", "Товар", "2026", "1", "2"])


@given(st.lists(st.lists(CELL, min_size=1, max_size=4), max_size=12))
def test_no_text_of_any_grid_is_lost(grid: Sequence[Sequence[str]]) -> None:
    """But for names that are repeated and the numbering below them."""
    told = " ".join(block.text for block in TableReader().read([Line(cells) for cells in grid]))
    for cell in {cell for cells in grid for cell in cells if cell and cell not in {"1", "2"}}:
        assert cell.rstrip(": ") in told
