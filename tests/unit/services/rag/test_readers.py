"""What the readers find in good documents of every format, and how passages are cut."""

import os
from pathlib import Path

import pytest

from orchestrator.services.rag.document import Block, Document, UnreadableDocument
from orchestrator.services.rag.parse_worker import read_document
from orchestrator.services.rag.passages import LONGEST, cut_passages, split_long, split_sentences
from orchestrator.services.rag.readers.plain_text import decode_text
from orchestrator.services.rag.stems import find_question_terms, find_terms
from tests.unit.services.rag.documents_kit import build_docx, build_pdf, build_xlsx

RUSSIAN = "Положение об отпусках\n\nОтпуск даётся на 28 дней — по графику, «летом».\n"


def read(tmp_path: Path, name: str, data: bytes) -> list[tuple[str, str]]:
    (tmp_path / name).write_bytes(data)
    reply = read_document(os.fsencode(tmp_path / name), largest=10_000_000)
    assert reply.problem is None, reply.problem
    return [(passage.title, passage.text) for passage in reply.passages]


def test_markdown_has_headings_lists_and_tables_with_their_columns(tmp_path: Path) -> None:
    """Marks, raw HTML and comments are left out; a row of a table is a sentence."""
    text = (
        "# Прайс *2026*\n\nВводное [слово](http://x.example) <b>тут</b>.\n\n## Цены\n\n- первый пункт\n- второй `код`\n\n"
        "| Артикул | Цена |\n|---|---|\n| КП-12 | 1 200 |\n| КП-13 | |\n\n<!-- скрыто -->\n<div>Из вёрстки</div>\n\n### Глубже\n\nКонец."
    )
    assert read(tmp_path, "a.md", text.encode()) == [
        ("Прайс 2026", "Вводное слово тут."),
        ("Прайс 2026 › Цены", "первый пункт второй код\nАртикул: КП-12; Цена: 1 200.\nАртикул: КП-13.\nИз вёрстки"),
        ("Прайс 2026 › Цены › Глубже", "Конец."),
    ]


def test_front_matter_gives_the_title(tmp_path: Path) -> None:
    """And is no text of the document."""
    assert read(tmp_path, "a.md", '---\ntitle: "Устав"\ntags: [a]\n---\n# Глава\n\nТекст.'.encode()) == [("Устав › Глава", "Текст.")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1251", "koi8-r", "cp866"])
def test_text_is_read_in_every_encoding_of_russian_offices(tmp_path: Path, encoding: str) -> None:
    """Without anybody saying which one it is."""
    data = RUSSIAN.encode(encoding, "replace")
    ((title, text),) = read(tmp_path, "a.txt", data)
    assert title == "Положение об отпусках"
    assert text.startswith("Отпуск даётся на 28 дней")


def test_text_has_numbered_and_capital_headings(tmp_path: Path) -> None:
    """Items of lists and sentences are none."""
    text = "ДОГОВОР № 5\n\n1. Предмет\nСторона передаёт\nтовар.\n\n2. ОПЛАТА\n2.1. Деньги платят сразу.\n2.2 Сроки\nНеделя.\n\nПРОЧЕЕ\n1) раз;\n2) два.\n"
    assert read(tmp_path, "a.txt", text.encode()) == [
        ("ДОГОВОР № 5 › 1. Предмет", "Сторона передаёт товар."),
        ("ДОГОВОР № 5 › 2. ОПЛАТА", "2.1. Деньги платят сразу."),
        ("ДОГОВОР № 5 › 2. ОПЛАТА › 2.2 Сроки", "Неделя."),
        ("ДОГОВОР № 5 › ПРОЧЕЕ", "1) раз; 2) два."),
    ]


def test_html_shows_what_a_browser_shows(tmp_path: Path) -> None:
    """No scripts, styles, hidden or commented text; tables by row, also with paragraphs inside of cells."""
    page = (
        "<!doctype html><html><head><title>Прайс</title><style>a{}</style></head><body><h1>Цены</h1><p>Раз <b>два</b>.<p>Три."
        "<script>нет()</script><div style='display: none'>нет</div><!-- нет --><p hidden>нет</p>"
        "<table><tr><th>Код</th><th>Цена</th></tr><tr><td><p>А-1</p></td><td>10</td></tr></table><noscript>нет</noscript><h2>Б</h2>Хвост</body></html>"
    )
    assert read(tmp_path, "a.html", page.encode()) == [
        ("Прайс › Цены", "Раз два. Три.\nКод: А-1; Цена: 10."),
        ("Прайс › Цены › Б", "Хвост"),
    ]
    declared = page.replace("<head>", "<head><meta charset='windows-1251'>")
    assert read(tmp_path, "b.html", declared.encode("cp1251")) == read(tmp_path, "a.html", page.encode())


def test_word_has_styles_and_tables(tmp_path: Path) -> None:
    """The title style, headings by level, rows with the names of their columns."""
    data = build_docx(
        ("Title", "Регламент"), ("Heading 1", "Звонки"), ("Normal", "Звонить через день."), table=[["Кто", "Когда"], ["Менеджер", "утром"]]
    )
    assert read(tmp_path, "a.docx", data) == [
        ("Регламент › Звонки", "Звонить через день. Столбцы: Кто; Когда.\nКто: Менеджер; Когда: утром.")
    ]


def test_excel_has_sheets_and_rows_with_their_columns(tmp_path: Path) -> None:
    """Lines above the columns' names are text; numbers are written as people do."""
    data = build_xlsx(
        [["Прайс на год"], [], ["Артикул", "Название", "Цена"], ["КП-12", "Насос", 1200.0], ["КП-13", None, 0.5], [None, None, None]]
    )
    assert read(tmp_path, "цены.xlsx", data) == [
        (
            "цены › Цены",
            "Прайс на год.\nСтолбцы: Артикул; Название; Цена.\nАртикул: КП-12; Название: Насос; Цена: 1200.\nАртикул: КП-13; Цена: 0.5.",
        )
    ]


def test_pdf_has_text_in_russian(tmp_path: Path) -> None:
    """By the map of the file's own codes to Unicode."""
    data = build_pdf("ПОРЯДОК ОТПУСКОВ", "Отпуск дают летом.")
    assert read(tmp_path, "a.pdf", data) == [("ПОРЯДОК ОТПУСКОВ", "Отпуск дают летом.")]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Звоните, т.е. пишите. Потом ждите.", ["Звоните, т.е. пишите.", "Потом ждите."]),
        ("Стоит 500 руб. за штуку. Это дёшево.", ["Стоит 500 руб. за штуку.", "Это дёшево."]),
        ("Цена 500 руб. Доставка платная.", ["Цена 500 руб.", "Доставка платная."]),
        ("По ст. 5 закона и п. 3.2 договора.", ["По ст. 5 закона и п. 3.2 договора."]),
        ("В 2026 г. Компания выросла. Офис на ул. Мира в г. Обь.", ["В 2026 г.", "Компания выросла.", "Офис на ул. Мира в г. Обь."]),
        ("Директор И. П. Орлов подписал. Готово!", ["Директор И. П. Орлов подписал.", "Готово!"]),
        ("Что делать? Ждать… Потом «Всё.» Конец.", ["Что делать?", "Ждать…", "Потом «Всё.»", "Конец."]),
        ("1. Общие положения. Далее.", ["1. Общие положения.", "Далее."]),
        ("Столы, стулья и т.д. Они тяжёлые и т.п. вещи.", ["Столы, стулья и т.д.", "Они тяжёлые и т.п. вещи."]),
        ("См. рис. 4 и табл. 2, т.к. там видно.", ["См. рис. 4 и табл. 2, т.к. там видно."]),
        ("Visit us, e.g. on Monday. Mr. Brown waits.", ["Visit us, e.g. on Monday.", "Mr. Brown waits."]),
        ("", []),
    ],
)
def test_an_abbreviation_ends_no_sentence(text: str, sentences: list[str]) -> None:
    """Unless a capital letter follows one that may stand last."""
    assert split_sentences(text) == sentences


def test_passages_are_bounded_and_lose_nothing() -> None:
    """Long sections become several passages with a number, a sentence beyond the bound is cut at a comma or blank."""
    text = " ".join(f"Предложение номер {n} об одном и том же." for n in range(100)) + " " + "слово, " * 400
    passages = cut_passages(Document("Т", (Block("heading", "Р"), Block("text", text))), "имя")
    assert max(len(one.text) for one in passages) <= LONGEST
    assert " ".join(one.text for one in passages).split() == text.split()
    assert [one.title for one in passages][:2] == ["Т › Р (1)", "Т › Р (2)"]
    assert split_long("а" * 2000, 800) == ["а" * 800, "а" * 800, "а" * 400]


@pytest.mark.req("S001-X8")
def test_titles_are_clean_and_bounded() -> None:
    """No control or invisible characters, one line, whatever a document writes there; without a title the file's name counts."""
    document = Document("А\u202e\x00\nБ\u200b" + "в" * 500, (Block("heading", "Г\tд" + "е" * 500), Block("text", "Текст.")))
    (passage,) = cut_passages(document, "имя")
    assert passage.title.isprintable()
    assert passage.title.startswith("А Бв")
    assert len(passage.title) <= 240
    assert cut_passages(Document("", (Block("text", "Текст."),)), "имя")[0].title == "имя"


def test_a_document_without_end_is_too_long() -> None:
    """It is refused as a whole: half a document would answer wrongly."""
    with pytest.raises(UnreadableDocument) as caught:
        cut_passages(Document("Т", (Block("text", "Слово. " * 1_500_000),)), "имя")
    assert caught.value.problem.code == "too_long"


def test_terms_are_stems_numbers_and_codes() -> None:
    """The same for what is indexed and what is asked."""
    assert find_terms("Ёлка ёлки")[0] == find_terms("елке")[0]
    assert find_terms("1 200 руб.")[0] == find_terms("1200")[0] == find_terms("1\u00a0200")[0]
    assert set(find_terms("КП-12")) >= {"kп12", "кп", "12"}
    assert find_question_terms("а когда же") == find_terms("а когда же")
    assert find_question_terms("когда отпуск?") == find_terms("отпуск")


@pytest.mark.parametrize("data", [b"\x00\x01\x02\x03" * 50, bytes(range(256)) * 4])
def test_binary_data_is_no_text(data: bytes) -> None:
    """It has zero bytes, or too many control characters."""
    assert decode_text(data) is None
