"""The text of a workflow: words and blocks alternate, a chat shows tables, options and records, and nothing is lost (S003-22 … S003-25)."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.workflows.core.rune_types import AUTHOR
from orchestrator.domain.outputs import Passage, Text
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.launch import TEXT
from orchestrator.engines.shared.raw_text import CLOSING, Block, BlockUnwritable, Part, Words, parse_raw_text, write_block, write_raw_text
from orchestrator.engines.shared.rendering import LONGEST_TEXT, build_result_reply, list_result_options, render_plain
from tests.unit.engines.workflows.played_kit import a_workflow_world, start
from tests.unit.engines.workflows.workflow_kit import put, tuum, workflow
from tests.unit.runs import runs_kit
from tests.unit.runs.test_runs_wait import click
from tests.unit.spine_kit import BORIS, World, raise_sum, reply


def saying(text: str) -> dict[str, Any]:
    return workflow(tuum("only", put("text", text), outputMappings={"said": "text"}), terminal={"rawText": "said"})


SETS_SUM = {
    "runeType": "operation", "operationType": "ModifyEntity", "entityType": "deal", "entityId": "481",
    "attributeKey": "OPPORTUNITY", "modifyOperator": "=",
}  # fmt: skip
OPTIONS = saying("Что дальше?\n[YAE-BLOCK:options]поднять сумму сделки 481 до 1200000|позвонить|позвонить[/YAE-BLOCK]")


def replies(world: World) -> list[dict[str, Any]]:
    return [dict(row.body) for row in world.outbox() if row.kind == "reply"]


@pytest.mark.req("S003-23", "S003-24", "S003-25")
async def test_options_become_buttons_that_count_as_foreign_text(tmp_path: Path) -> None:
    """The text of an option is quoted beside words of the program, so that the same change that a person may make asks for its reason."""
    async with a_workflow_world(tmp_path, OPTIONS) as world:
        await world.work(start())
        (told,) = [one for one in replies(world) if one["actions"]]
        assert [one["label"]["args"]["label"] for one in told["actions"]] == ["поднять сумму сделки 481 до 1200000", "позвонить"]
        world.model.will(reply(raise_sum()))
        words = told["actions"][0]["words"]
        await world.work(click(*words))
        (said,) = world.events("MessageReceived")
        assert said.data["quoted"] == "поднять сумму сделки 481 до 1200000"
        assert "481" not in said.data["text"]
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert {"gate-taint-prose", "gate-taint-target"} <= {one["code"] for one in card.body["reasons"]}
        assert world.portal.written() == []


@pytest.mark.req("S003-24")
async def test_an_option_is_taken_once_and_by_its_person(tmp_path: Path) -> None:
    """A second press does nothing more, somebody else is refused, and so are buttons of runs and numbers that there are not."""
    async with a_workflow_world(tmp_path, OPTIONS) as world:
        await world.work(start())
        (told,) = [one for one in replies(world) if one["actions"]]
        first, run, number = told["actions"][1]["words"]
        world.model.will(reply(text="Позвоню."))
        await world.work(click(first, run, number), click(first, run, number), click(first, run, number, actor=BORIS))
        await world.work(
            click(first, run, number),
            click(first, run, "9"),
            click(first, run, "²"),
            click(first, run, "00009"),
            click(first, "nothing", "0"),
            click(first),
        )
        assert len(world.events("MessageReceived")) == 1
        assert len(world.model.prompts) == 1
        toasts = [row.body["notice"]["code"] for row in world.outbox() if row.kind == "toast"]
        assert toasts.count("choice-outdated") == 5
        assert sorted(set(toasts)) == ["choice-not-yours", "choice-outdated", "toast-already", "toast-doing"]


@pytest.mark.req("S003-24")
async def test_old_options_work_after_a_restart(tmp_path: Path) -> None:
    """The button names the run, whose result is read from its stream."""
    async with a_workflow_world(tmp_path, OPTIONS) as world:
        await world.work(start())
        (told,) = [one for one in replies(world) if one["actions"]]
        async with a_workflow_world(tmp_path, OPTIONS, world_options={"store": world.sql, "portal": world.portal}) as other:
            other.model.will(reply(text="Позвоню."))
            await other.work(click(*told["actions"][1]["words"]))
            assert [one.data["quoted"] for one in other.events("MessageReceived")] == ["позвонить"]


@pytest.mark.req("S003-23", "S003-M5")
async def test_a_record_becomes_a_line_with_a_link(tmp_path: Path) -> None:
    """Its title is read with the rights of the person; a record that they may not see stays the number that it was."""
    text = "Сделки:\n[YAE-BLOCK:deal]481[/YAE-BLOCK][YAE-BLOCK:deal]500[/YAE-BLOCK][YAE-BLOCK:deal]481 <b>[/YAE-BLOCK]"
    async with a_workflow_world(tmp_path, saying(text)) as world:
        await world.work(start())
        (told,) = [one for one in replies(world) if one["parts"]]
        rows = [row for part in told["parts"] if part["kind"] == "table" for row in part["rows"]]
        assert [(one["label"], one["url"], one["target"]) for one in rows] == [
            ("Ромашка", "https://portal.example/crm/deal/details/481/", "deal:481")
        ]
        assert [part["text"] for part in told["parts"] if part["kind"] == "text"] == ["Сделки:", "500", "481 <b>"]


def quiet_codes(world: World) -> list[str]:
    return [one["code"] for told in replies(world) for one in told["notices"]]


@pytest.mark.req("S003-72")
@pytest.mark.parametrize("rune", [put("text", " "), {**SETS_SUM, "modifyValue": "1000000.00"}])
async def test_a_workflow_that_has_nothing_to_show_says_that_it_ended(tmp_path: Path, rune: dict[str, Any]) -> None:
    """To whoever started it in a chat, also if all that it proposes stands there already; a program reads the status."""
    quiet = workflow(tuum("only", rune, outputMappings={"said": "text"} if rune["runeType"] == "set" else {}))
    async with a_workflow_world(tmp_path, quiet) as world:
        await world.work(runs_kit.start("dossier", engine="workflow", **{TEXT: Value("", frozenset({"person"}))}))
        assert quiet_codes(world) == ["workflow-ended-quietly"]
    async with a_workflow_world(tmp_path / "program", quiet) as world:
        await world.work(start())
        assert quiet_codes(world) == []


@pytest.mark.req("S003-23", "S003-24")
@pytest.mark.parametrize(("rows", "shown"), [
    ("Имя | Сумма | Срок\nА | 5 | 1\n | 7 | 2", ["Имя  Сумма  Срок", "А    5      1", "     7      2"]),
    ("Имя|Сумма|Срок\n||2\nБ||", ["Имя  Сумма  Срок", "            2", "Б"]),
    ("| Имя | Сумма |\n|---|:--:|\n| А | 5 |\n| | 7 |", ["Имя  Сумма", "А    5", "     7"]),
    ("Имя | Сумма\n- | -\nА | 5", ["Имя  Сумма", "-    -", "А    5"]),
    ("Имя\nА\n|", ["Имя", "А"]),
])  # fmt: skip
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


SAMPLE = """这是故事的第一段。
[YAE-BLOCK:char-quote]{"char": "老王", "text": "今天天气不错！"}[/YAE-BLOCK]
请选择：
[YAE-BLOCK:options]吃饭|喝水|睡觉[/YAE-BLOCK]
"""
TRICKY = st.lists(st.sampled_from(["[", "]", "/", "YAE-BLOCK", ":", "a", CLOSING, "[YAE-BLOCK:x]", "\n", "я"]), max_size=12).map("".join)
IDS = st.text("abzAZ09_.-", min_size=1, max_size=8)


@pytest.mark.req("S003-20", "S003-22", "S003-23", "S003-24", "S003-25")
def test_the_seed_s_sample_is_words_and_blocks_in_turn() -> None:
    """A paragraph, a quote, a question, options."""
    parts = parse_raw_text(SAMPLE)
    assert [type(part) for part in parts] == [Words, Block, Words, Block, Words]
    assert parts[1] == Block("char-quote", '{"char": "老王", "text": "今天天气不错！"}')
    assert parts[3] == Block("options", "吃饭|喝水|睡觉")
    assert write_raw_text(parts) == SAMPLE


@pytest.mark.req("S003-A10")
@pytest.mark.parametrize(("text", "parts"), [
    ("", []),
    ("слова", [Words("слова")]),
    ("[YAE-BLOCK:a]", [Words("[YAE-BLOCK:a]")]),
    ("a [YAE-BLOCK:a] b", [Words("a [YAE-BLOCK:a] b")]),
    ("a [/YAE-BLOCK] b", [Words("a [/YAE-BLOCK] b")]),
    ("[YAE-BLOCK:]x[/YAE-BLOCK]", [Words("[YAE-BLOCK:]x[/YAE-BLOCK]")]),
    ("[YAE-BLOCK:a b]x[/YAE-BLOCK]", [Words("[YAE-BLOCK:a b]x[/YAE-BLOCK]")]),
    ("[yae-block:a]x[/yae-block]", [Words("[yae-block:a]x[/yae-block]")]),
    ("[YAE-BLOCK:a][/YAE-BLOCK]", [Block("a", "")]),
    ("[YAE-BLOCK:a]x[YAE-BLOCK:b]y[/YAE-BLOCK]z[/YAE-BLOCK]", [Block("a", "x[YAE-BLOCK:b]y"), Words("z[/YAE-BLOCK]")]),
    ("[/YAE-BLOCK][YAE-BLOCK:a]x[/YAE-BLOCK]", [Words("[/YAE-BLOCK]"), Block("a", "x")]),
    ("[YAE-BLOCK:a]x[/YAE-BLOCK][YAE-BLOCK:b]y", [Block("a", "x"), Words("[YAE-BLOCK:b]y")]),
    ("[YAE-BLOCK:a.b-c_9]\n[/YAE-BLOCK]", [Block("a.b-c_9", "\n")]),
    ("[YAE-BLOCK:ё]x[/YAE-BLOCK]", [Words("[YAE-BLOCK:ё]x[/YAE-BLOCK]")]),
])  # fmt: skip
def test_marks_that_open_or_close_nothing_are_words(text: str, parts: list[Part]) -> None:
    """No nesting; the first closing mark ends a block."""
    assert parse_raw_text(text) == parts


@given(st.one_of(TRICKY, st.text()))
def test_every_text_is_read_and_written_back_as_it_was(text: str) -> None:
    """Nothing is lost, nothing is empty, and no two texts follow each other."""
    parts = parse_raw_text(text)
    assert write_raw_text(parts) == text
    assert all(part.text for part in parts if isinstance(part, Words))
    assert not any(isinstance(one, Words) and isinstance(other, Words) for one, other in itertools.pairwise(parts))


@given(IDS, TRICKY)
def test_a_block_is_read_as_it_was_written_or_refused(block_id: str, data: str) -> None:
    """Between words it is found with its id and data."""
    if CLOSING in data:
        with pytest.raises(BlockUnwritable, match="would end it"):
            write_block(block_id, data)
    else:
        assert parse_raw_text(f"до{write_block(block_id, data)}после") == [Words("до"), Block(block_id, data), Words("после")]


@pytest.mark.parametrize("block_id", ["", "a b", "a]", "ё", "a\n"])
def test_an_id_that_would_be_read_as_words_is_refused(block_id: str) -> None:
    """With what is allowed."""
    with pytest.raises(BlockUnwritable, match="is no id of a block"):
        write_block(block_id, "x")


def test_a_text_of_many_marks_is_read_in_one_pass() -> None:
    """A hundred thousand openings without an end are words at once."""
    text = "[YAE-BLOCK:a]" * 100_000
    assert parse_raw_text(text) == [Words(text)]
    assert len(parse_raw_text(f"{text}{CLOSING}")) == 1
