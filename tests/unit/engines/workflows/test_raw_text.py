"""raw_text: words and blocks alternate, every text can be read, and what was written is what is read."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engines.shared.raw_text import (
    CLOSING,
    Block,
    BlockUnwritable,
    Part,
    Words,
    parse_raw_text,
    write_block,
    write_raw_text,
)

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
@pytest.mark.parametrize(
    ("text", "parts"),
    [
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
    ],
)
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
