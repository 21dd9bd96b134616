"""What offices send is read whole: values under their names, nothing hidden, the text as its program shows it, and where each thing stands."""

import io
import os
import zipfile
from email.message import EmailMessage
from pathlib import Path

import docx
import openpyxl
import pytest
from openpyxl.worksheet.filters import FilterColumn, Filters

from orchestrator.services.rag.document import Place
from orchestrator.services.rag.parse_worker import ParseReply, read_document
from tests.unit.services.rag.documents_kit import build_docx, build_xlsx, replace_parts

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def parse(tmp_path: Path, name: str, data: bytes) -> ParseReply:
    (tmp_path / name).write_bytes(data)
    reply = read_document(os.fsencode(tmp_path / name), largest=50_000_000)
    assert reply.problem is None, reply.problem
    return reply


def read_lines(tmp_path: Path, name: str, data: bytes) -> list[str]:
    return [line for passage in parse(tmp_path, name, data).passages for line in passage.text.split("\n")]


def write_book(book: openpyxl.Workbook) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def build_word(body: str) -> bytes:
    """A Word file with this XML as its body."""
    document = f"<w:document {W}><w:body>{body}</w:body></w:document>".encode()
    return replace_parts(build_docx(("Normal", "x")), {"word/document.xml": document})


def test_what_is_hidden_in_a_workbook_stays_out_and_is_told(tmp_path: Path) -> None:
    """A hidden sheet, column and row; rows that a filter hides are part of the list."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Прайс"
    for row in (["Товар", "Закупка", "Цена"], ["Стол", 80, 100], ["Стул", 40, 50], ["Шкаф", 70, 90]):
        sheet.append(row)
    sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[3].hidden = True
    cost = book.create_sheet("Себестоимость")
    cost.append(["Закупка", 80])
    cost.sheet_state = "hidden"
    reply = parse(tmp_path, "a.xlsx", write_book(book))
    assert [passage.text for passage in reply.passages] == ["Столбцы: Товар; Цена.\nТовар: Стол; Цена: 100.\nТовар: Шкаф; Цена: 90."]
    assert [(note.code, note.details.get("count")) for note in reply.contents.notes] == [
        ("sheets_hidden", "1"),
        ("columns_hidden", "1"),
        ("rows_hidden", "1"),
    ]
    assert "Себестоимость" in reply.contents.notes[0].details["names"]

    sheet.auto_filter.ref = "A1:C4"
    sheet.auto_filter.filterColumn.append(FilterColumn(colId=0, filters=Filters(filter=["Стол", "Шкаф"])))
    filtered = parse(tmp_path, "b.xlsx", write_book(book))
    assert "Товар: Стул; Цена: 50." in filtered.passages[0].text
    assert "rows_filtered" in [note.code for note in filtered.contents.notes]


def test_values_of_a_workbook_are_written_as_it_shows_them(tmp_path: Path) -> None:
    """Percents, zeros before a code, dates; figures that a number cannot hold are not invented."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Код", "Скидка", "Счёт", "Дата"])
    sheet.append([42, 0.15, 40817810099910004312, None])
    sheet["A2"].number_format, sheet["B2"].number_format = "00000", "0%"
    sheet["D2"] = "=DATE(2026,12,1)"
    line = read_lines(tmp_path, "a.xlsx", write_book(book))[-1]
    assert line.startswith("Код: 00042; Скидка: 15%; Счёт: 408178100999100…")


def test_each_row_knows_its_sheet_and_line(tmp_path: Path) -> None:
    """Counted as the program does, with gaps."""
    data = build_xlsx([["Прайс"], [], ["Артикул", "Цена"], *[[f"А-{number}", number] for number in range(100)]])
    places = [passage.place for passage in parse(tmp_path, "a.xlsx", data).passages]
    assert places[0] is not None
    assert (places[0].part, places[0].name, places[0].first) == ("sheet", "Цены", 1)
    assert places[-1] is not None
    assert places[-1].last == 103


def test_a_price_list_of_20_000_rows_is_read(tmp_path: Path) -> None:
    reply = parse(
        tmp_path,
        "a.xlsx",
        build_xlsx([["Артикул", "Название", "Цена"], *[[f"А-{number}", "Кабель силовой", number + 0.5] for number in range(20_000)]]),
    )
    assert reply.contents.rows == 20_000
    assert "Артикул: А-19999; Название: Кабель силовой; Цена: 19999.5." in reply.passages[-1].text


@pytest.mark.parametrize(("encoding", "separator"), [("utf-8-sig", ";"), ("cp1251", ";"), ("utf-8", ","), ("utf-16", "\t")])
def test_csv_is_a_table_in_every_encoding(encoding: str, separator: str, tmp_path: Path) -> None:
    """Also with a line break inside of a cell."""
    text = separator.join(["Товар", "Цена"]) + "\r\n" + separator.join(['"Стол\nдубовый"', "100"]) + "\r\n"
    assert read_lines(tmp_path, "a.csv", text.encode(encoding)) == ["Столбцы: Товар; Цена.", "Товар: Стол дубовый; Цена: 100."]


def test_what_programs_save_as_a_workbook_is_read_by_its_content(tmp_path: Path) -> None:
    """HTML, XML and text under the name .xls."""
    html = "<html><body><table><tr><th>Товар</th><th>Цена</th></tr><tr><td>Стол</td><td>100</td></tr></table></body></html>"
    xml = (
        '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">'
        '<Worksheet ss:Name="Прайс"><Table><Row><Cell><Data>Товар</Data></Cell><Cell ss:Index="3"><Data>Цена</Data></Cell></Row>'
        '<Row><Cell><Data>Стол</Data></Cell><Cell ss:Index="3"><Data>100</Data></Cell></Row></Table></Worksheet></Workbook>'
    )
    for name, data in (("a.xls", html), ("b.xls", xml), ("c.xls", "Товар\tЦена\nСтол\t100\n")):
        assert read_lines(tmp_path, name, data.encode())[-1] == "Товар: Стол; Цена: 100."


def test_word_is_read_as_it_is_shown(tmp_path: Path) -> None:
    """Changes are accepted; a field of a template, a box and a note are part of the text."""
    body = (
        '<w:p><w:r><w:t xml:space="preserve">Скидка до </w:t></w:r><w:del><w:r><w:delText>20 %</w:delText></w:r></w:del>'
        "<w:ins><w:r><w:t>10 %</w:t></w:r></w:ins></w:p>"
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>Договор № 5</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>Только до 31 декабря</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>"
    )
    text = " ".join(read_lines(tmp_path, "a.docx", build_word(body)))
    assert "Скидка до 10 %" in text
    assert "20 %" not in text
    assert "Договор № 5" in text
    assert "Только до 31 декабря" in text


def test_headers_of_word_are_read_once(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Правила скидок для всех.")
    document.sections[0].header.paragraphs[0].text = "Действует с 01.12.2026"
    document.add_section().header.is_linked_to_previous = True
    out = io.BytesIO()
    document.save(out)
    assert " ".join(read_lines(tmp_path, "a.docx", out.getvalue())).count("Действует с 01.12.2026") == 1


def test_clauses_have_the_numbers_that_word_shows(tmp_path: Path) -> None:
    """They are nowhere in the text of the file; each passage says its clause."""
    numbering = (
        f'<w:numbering {W}><w:abstractNum w:abstractNumId="0">'
        '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2."/></w:lvl>'
        '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
    ).encode()

    def paragraph(level: int, text: str) -> str:
        number = f'<w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr></w:pPr>'
        return f"<w:p>{number}<w:r><w:t>{text}</w:t></w:r></w:p>"

    body = (
        paragraph(0, "Предмет")
        + paragraph(1, "Поставка мебели")
        + paragraph(0, "Оплата")
        + paragraph(1, "Аванс.")
        + paragraph(1, "Неустойка 0,1 % в день.")
    )
    data = replace_parts(build_word(body), {"word/numbering.xml": numbering})
    text = " ".join(read_lines(tmp_path, "a.docx", data))
    assert "1.1. Поставка мебели" in text
    assert "2.2. Неустойка 0,1 % в день." in text


def test_the_number_of_a_clause_stays_with_its_sentence(tmp_path: Path) -> None:
    reply = parse(tmp_path, "a.txt", "ДОГОВОР\n\n2.2. Неустойка 0,1 % в день. Не больше 10 %.\n\n3.1. Срок поставки 14 дней.".encode())
    assert reply.passages[0].text.startswith("2.2. Неустойка 0,1 % в день. Не больше 10 %. 3.1. Срок")
    assert reply.passages[0].place == Place("clause", "2.2")


def test_a_grid_of_html_is_as_a_browser_draws_it(tmp_path: Path) -> None:
    """A cell that spans rows belongs to each of them; names in two levels."""
    page = (
        "<table><tr><th rowspan=2>Зона</th><th colspan=2>Цена</th></tr><tr><th>день</th><th>вечер</th></tr>"
        "<tr><td rowspan=2>Москва</td><td>900</td><td>1 100</td></tr><tr><td>2 900</td><td>3 000</td></tr></table>"
    )
    assert read_lines(tmp_path, "a.html", f"<html><body>{page}</body></html>".encode()) == [
        "Зона: Москва; Цена день: 900; Цена вечер: 1 100.",
        "Зона: Москва; Цена день: 2 900; Цена вечер: 3 000.",
    ]


def test_slides_letters_and_rich_text_are_read(tmp_path: Path) -> None:
    a, p = "http://schemas.openxmlformats.org/drawingml/2006/main", "http://schemas.openxmlformats.org/presentationml/2006/main"
    slide = (
        f'<p:sld xmlns:a="{a}" xmlns:p="{p}"><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>'
        "<p:txBody><a:p><a:r><a:t>О компании</a:t></a:r></a:p></p:txBody></p:sp>"
        "<p:sp><p:txBody><a:p><a:r><a:t>Работаем с 2005 года</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("ppt/presentation.xml", f'<p:presentation xmlns:p="{p}"/>')
        archive.writestr("ppt/slides/slide1.xml", slide)
    slides = parse(tmp_path, "a.pptx", out.getvalue())
    assert [(one.title, one.text, one.place) for one in slides.passages] == [
        ("О компании", "Работаем с 2005 года", Place("slide", "", 1, 1))
    ]

    letter = EmailMessage()
    letter["Subject"], letter["From"], letter["To"] = "Прайс на декабрь", "Вера <vera@example.com>", "boris@example.com"
    letter.set_content("Добрый день!\n\nСкидка 5 % до конца года.")
    letter.add_attachment(b"x", maintype="application", subtype="octet-stream", filename="прайс.xlsx")
    read = parse(tmp_path, "a.eml", bytes(letter))
    assert read.passages[0].title == "Прайс на декабрь"
    assert "Скидка 5 % до конца года." in read.passages[0].text
    assert "прайс.xlsx" in read.passages[0].text
    assert "eA==" not in read.passages[0].text

    rich = "{\\rtf1\\ansi\\ansicpg1251 \\'d1\\'ea\\'e8\\'e4\\'ea\\'e0 5 \\'25\\par}"
    assert "Скидка 5 %" in " ".join(read_lines(tmp_path, "a.rtf", rich.encode()))
