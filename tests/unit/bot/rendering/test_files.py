"""Lists as files that no spreadsheet would run, and news of the portal as people read them in both languages."""

import io
import re
import zipfile
from itertools import product
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bot.i18n.translate import Translator
from bot.rendering.files import Sheet, build_sheet, render_xlsx
from bot.rendering.record_changes import render_news
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Row, Table

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RISKY = [
    "=1+1", "+7 999 123-45-67", "-1", "@SUM(A1)", '=HYPERLINK("http://evil","x")', "\t=1+1", " =1+1", "\u00a0=1+1", "＝1+1", "=cmd|'/c calc'!A1",
]  # fmt: skip


def _cells(content: bytes) -> tuple[list[list[str]], str]:
    """The cells of the sheet as text, and the sheet's own XML."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        shared = ["".join(item.itertext()) for item in ET.fromstring(book.read("xl/sharedStrings.xml")).iter(f"{MAIN}si")]  # noqa: S314 - our own file
        raw = book.read("xl/worksheets/sheet1.xml").decode()
    rows = []
    for row in ET.fromstring(raw).iter(f"{MAIN}row"):  # noqa: S314 - our own file
        values = [(cell.get("t"), cell.findtext(f"{MAIN}v") or "") for cell in row]
        rows.append([shared[int(value)] if kind == "s" else value for kind, value in values])
    return rows, raw


@pytest.mark.parametrize("text", RISKY)
def test_no_text_becomes_a_formula(text: str) -> None:
    """A customer's name is somebody else's text: opened in a spreadsheet it must stay one."""
    sheet = Sheet(columns=("Сделка", "Сумма"), rows=((text, -5), ("обычная", 12.5)))
    rows, raw = _cells(render_xlsx(sheet, name="Сделки"))
    assert "<f>" not in raw
    assert rows[1:] == [[text, "-5"], ["обычная", "12.5"]]


@pytest.mark.parametrize("text", RISKY)
def test_a_label_with_a_link_is_no_formula_either(text: str) -> None:
    """The link is kept beside the cell, not written into it as a formula."""
    content = render_xlsx(build_sheet(Table(rows=(Row(label=text, url="https://p/1"),), total=1), heading="Запись"), name="Сделки")
    rows, raw = _cells(content)
    assert rows == [["Запись"], [text]]
    assert "<f>" not in raw
    assert re.findall(r'<hyperlink ref="(\w+)"', raw) == ["A2"]


def test_a_list_has_all_its_rows_with_their_addresses_and_only_web_ones_are_links() -> None:
    rows = (*(Row(label=f"Сделка {n}", url=f"https://p/{n}") for n in range(499)), Row(label="чужая", url="file:///etc/passwd"))
    sheet = build_sheet(Table(rows=rows, total=500), heading="Запись")
    content = render_xlsx(sheet, name="Мои: сделки/лиды [2026] и очень длинное название листа")
    cells, _ = _cells(content)
    assert cells == [["Запись"], *([row.label] for row in rows)]  # one column: the label is the link
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        links = re.findall(r'Target="([^"]*)"', book.read("xl/worksheets/_rels/sheet1.xml.rels").decode())
        assert len(links) == 499
        assert all(link.startswith("https://p/") for link in links)
        name = re.search(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode())
    assert name is not None
    assert len(name[1]) <= 31


@pytest.mark.parametrize("odd", ["\x00\x0b текст", "x" * 40_000, "", "😀 👨‍👩‍👧", "﷐￿"])
def test_odd_texts_make_a_file_that_opens(odd: str) -> None:
    sheet = Sheet(columns=(odd,), rows=((odd,),), links=("https://p/" + "x" * 3000,))
    cells, _ = _cells(render_xlsx(sheet, name=odd))
    assert len(cells[-1][-1] if cells[-1] else "") <= 32_000


def test_an_empty_list_is_a_file_with_headings() -> None:
    made: Any = render_xlsx(Sheet(columns=("А",), rows=()), name="'")
    assert _cells(made)[0] == [["А"]]


URL = "https://portal.example/crm/deal/details/481/"
PETR, IRINA = {"name": "Пётр Иванов", "via": False}, {"name": "Ирина Лебедева", "via": True}
STAGE = {"name": "Стадия", "before": "Договор", "after": "Оплата"}
SUM = {"name": "Сумма", "before": "", "after": "1 ₽"}


def item(what: str = "changed", entity: str = "deal", **over: Any) -> dict[str, Any]:
    """One record."""
    return {"what": what, "entity": entity, "kind": "", "title": "Ромашка", "url": "", "who": [PETR], "lines": [STAGE, SUM], **over}


def said(*items: dict[str, Any], more: int = 0, locale: Any = "ru") -> str:
    return to_plain_text(render_news({"items": list(items), "more": more}, Translator(locale)))


@pytest.mark.parametrize(
    ("one", "ru", "en"),
    [
        (item(), "🔔 Сделка «Ромашка» · изменено: Пётр Иванов\nСтадия: Договор → Оплата\nСумма: 1 ₽", "🔔 Deal “Ромашка” · changed by Пётр Иванов"),
        (item(who=[IRINA, PETR], lines=[]), "🔔 Сделка «Ромашка» · изменено: Ирина Лебедева через Sdelka, Пётр Иванов", "Ирина Лебедева through Sdelka, Пётр"),
        (item(who=[], lines=[]), "🔔 Сделка «Ромашка»", "🔔 Deal “Ромашка”"),
        (item("added", "lead", lines=[]), "🔔 Новый лид «Ромашка» · создано: Пётр Иванов", "🔔 New lead “Ромашка” · created by"),
        (item("deleted", "task", who=[IRINA], lines=[]), "🔔 Задача удалена: «Ромашка» · удалено: Ирина Лебедева через Sdelka", "🔔 Task deleted: “Ромашка” · deleted by"),
        (item("first", "item", kind="счёт", who=[], lines=[SUM]), "🔔 Счёт «Ромашка»\nСумма: 1 ₽", "🔔 Счёт “Ромашка”"),
    ],
)  # fmt: skip
def test_one_record_has_a_line_for_each_change(one: dict[str, Any], ru: str, en: str) -> None:
    assert said(one) == ru
    assert en in said(one, locale="en")


def test_several_records_have_a_line_each() -> None:
    text = said(item(url=URL), item("deleted", who=[], lines=[]), more=3)
    assert text.splitlines() == [
        "🔔 Изменилось 5 записей",
        f"• Сделка «Ромашка» ({URL}) · изменено: Пётр Иванов — Стадия: Договор → Оплата; Сумма: 1 ₽",
        "• Сделка удалена: «Ромашка»",
        "и ещё 3",
    ]


def test_every_kind_and_deed_has_words() -> None:
    """A code without a sentence would stand in the message as itself."""
    for locale, what, entity in product(("ru", "en"), ("added", "changed", "first", "deleted"), ("deal", "lead", "task", "item")):
        assert "news-" not in said(item(what, entity), item(what, entity), locale=locale), (locale, what, entity)
