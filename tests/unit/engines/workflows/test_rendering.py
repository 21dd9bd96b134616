"""The text of a workflow as a chat shows it: no cell changes its column, no mark is shown, and no option is lost or written as code."""

import pytest

from engines.workflows.core.rune_types import AUTHOR
from orchestrator.domain.outputs import Passage, Text
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.rendering import LONGEST_TEXT, build_result_reply, list_result_options, render_plain


@pytest.mark.req("S003-23", "S003-24")
@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ("Имя | Сумма | Срок\nА | 5 | 1\n | 7 | 2", ["Имя  Сумма  Срок", "А    5      1", "     7      2"]),
        ("Имя|Сумма|Срок\n||2\nБ||", ["Имя  Сумма  Срок", "            2", "Б"]),
        ("| Имя | Сумма |\n|---|:--:|\n| А | 5 |\n| | 7 |", ["Имя  Сумма", "А    5", "     7"]),
        ("Имя | Сумма\n- | -\nА | 5", ["Имя  Сумма", "-    -", "А    5"]),
        ("Имя\nА\n|", ["Имя", "А"]),
    ],
)
def test_an_empty_cell_keeps_its_place(rows: str, shown: list[str]) -> None:
    """Also the first and the last of a row; `|` around all rows is a frame, and only a line of dashes is none of the rows."""
    assert render_plain(f"[YAE-BLOCK:table]\n{rows}\n[/YAE-BLOCK]").splitlines() == shown


@pytest.mark.req("S003-24")
def test_a_wide_row_without_a_first_cell_or_with_too_many_is_listed() -> None:
    """A dash stands for the first; what stands under no title has none."""
    wide = "Очень длинное название сделки номер один"
    drawn = render_plain(f"[YAE-BLOCK:table]Имя | Сумма\n{wide} | 5\n | 7 | 8[/YAE-BLOCK]")
    assert drawn.splitlines() == [f"• {wide}", "   Сумма: 5", "• —", "   Сумма: 7 · 8"]


@pytest.mark.req("S003-24")
def test_options_of_json_are_texts() -> None:
    """What is no text is written as JSON writes it, and nothing is left out."""
    text = '[YAE-BLOCK:options]["да", 1, 1.5, true, null, {"а": [1]}][/YAE-BLOCK]'
    assert list_result_options(text) == ["да", "1", "1.5", "true", '{"а":[1]}']
    assert render_plain(text).splitlines() == ["• да", "• 1", "• 1.5", "• true", '• {"а":[1]}']


@pytest.mark.req("S003-20", "S003-23", "S003-72")
def test_a_text_that_is_too_long_is_cut_between_its_marks() -> None:
    """A quote that is cut is still a quote, and the options behind it are still buttons."""
    long = "слово " * LONGEST_TEXT
    text = f"Начало [YAE-BLOCK:quote]Титул\n{long}[/YAE-BLOCK] Дальше [YAE-BLOCK:quote]ещё[/YAE-BLOCK][YAE-BLOCK:options]да|нет[/YAE-BLOCK]"
    reply = build_result_reply(Value(text, AUTHOR), "run")
    assert reply is not None
    assert [one.label.args["label"] for one in reply.actions] == ["да", "нет"]
    begin, quote, options = reply.parts
    assert isinstance(quote, Passage)
    assert (quote.title, quote.text[-2:]) == ("Титул", " …")
    assert "YAE-BLOCK" not in f"{begin}{quote}{options}"
    assert LONGEST_TEXT < len(quote.text) + len("Начало Титул\n …") <= LONGEST_TEXT + 10


@pytest.mark.parametrize("text", ["а" * LONGEST_TEXT, "[YAE-BLOCK:quote]" * 2_000, f"[YAE-BLOCK:options]{'да|' * 10_000}[/YAE-BLOCK]"])
def test_every_long_text_says_something(text: str) -> None:
    """Of marks that open nothing and of options without an end the beginning is shown."""
    reply = build_result_reply(Value(text, AUTHOR), "run")
    assert reply is not None
    assert 0 < sum(len(one.text) for one in reply.parts if isinstance(one, Text)) < 3 * LONGEST_TEXT
