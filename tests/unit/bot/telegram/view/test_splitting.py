"""Long texts: pieces within Telegram's limit in UTF-16 units, nothing torn, nothing lost."""

from itertools import pairwise

import pytest
from aiogram.types import MessageEntity
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.telegram.view.entities import LIMIT, is_blank, split_entities, trim_text


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("sign", ["👨‍👩‍👧", "🇷🇺", "👍🏽", "е\u0301", "❤️"])
def test_what_is_drawn_as_one_sign_is_not_parted(sign: str) -> None:
    """A family cut in two is two other families, a flag two letters; every place of the cut within the sign."""
    for before in range(_units(sign) + 1):
        pieces = [piece for piece, _ in split_entities("ж" * (LIMIT - before) + sign * 20, [])]
        assert "".join(pieces) == "ж" * (LIMIT - before) + sign * 20
        assert pieces[1] == sign * (len(pieces[1]) // len(sign))
        assert _units(pieces[0]) <= LIMIT


@pytest.mark.parametrize(
    ("text", "blank"), [("", True), (" \n\t", True), ("\u200b\u2060\u200e", True), ("\u3164", True), ("\u200e.", False), ("😀", False)]
)
def test_what_cannot_be_seen_is_blank(text: str, *, blank: bool) -> None:
    assert is_blank(text) is blank


@given(st.text(st.sampled_from("а😀\u200d"), max_size=30), st.integers(1, 30))
def test_a_cut_keeps_its_limit_in_units_and_says_so(text: str, limit: int) -> None:
    short = trim_text(text, limit)
    assert _units(short) <= limit
    assert (short == text) if _units(text) <= limit else (short.endswith("…") and text.startswith(short[:-1]))


WORDS = st.lists(
    st.sampled_from(["слово ", "😀", "а" * 700, "\n", "\n\n", "👨‍👩‍👧", "\u0a0a\u0a00", "Ȁ\u0a20", " ", "х" * 4095]), max_size=25
).map("".join)
"""Among them letters whose bytes look like a line break across two units."""


@settings(max_examples=60, deadline=None)
@given(WORDS)
@example("")
@example("a" * 5000)
@example("😀" * 5000)
@example("а" + "😀" * 4100)
@example("\u0a0a" * 5000)
@example("а b" * 5000)
@example("x" * 4095 + "\n\n" + "y" * 5000)
def test_pieces_keep_the_limit_tear_nothing_and_add_up_to_the_text(text: str) -> None:
    pieces = [piece for piece, _ in split_entities(text, [])]
    assert "".join(pieces) == text
    assert all(_units(piece) <= LIMIT for piece in pieces)
    assert all(piece for piece in pieces) or not text
    for piece in pieces:
        piece.encode("utf-8")  # raises on half a pair


@pytest.mark.parametrize("mark", ["\n\n", "\n", " "])
def test_the_cut_is_at_the_last_paragraph_else_line_else_space(mark: str) -> None:
    text = "а" * 3000 + mark + "б" * 3000
    assert [piece for piece, _ in split_entities(text, [])] == ["а" * 3000 + mark, "б" * 3000]


def test_a_break_far_from_the_limit_does_not_make_a_tiny_piece() -> None:
    assert _units(split_entities("а\n\n" + "б" * 6000, [])[0][0]) == LIMIT


@settings(max_examples=60, deadline=None)
@given(WORDS, st.lists(st.tuples(st.integers(0, 20_000), st.integers(1, 9000)), max_size=5))
def test_entities_lie_inside_their_piece_and_cover_what_they_covered(text: str, places: list[tuple[int, int]]) -> None:
    total = _units(text)
    entities = [MessageEntity(type="bold", offset=start, length=min(length, total - start)) for start, length in places if start < total]
    pieces = split_entities(text, entities)
    borders = [0]
    covered: list[set[int]] = [set() for _ in entities]
    for piece, marks in pieces:
        start = borders[-1]
        borders.append(start + _units(piece))
        for mark in marks:
            assert mark.offset >= 0
            assert mark.length > 0
            assert mark.offset + mark.length <= _units(piece)
    assert borders[-1] == total
    for entity, seen in zip(entities, covered, strict=True):
        for (start, end), (_, marks) in zip(pairwise(borders), pieces, strict=True):
            first, last = max(entity.offset, start), min(entity.offset + entity.length, end)
            if first < last:
                assert (first - start, last - first) in {(mark.offset, mark.length) for mark in marks}
                seen.update(range(first, last))
        assert seen == set(range(entity.offset, entity.offset + entity.length))


def test_a_link_too_long_for_one_piece_leads_to_the_same_place_in_each() -> None:
    link = MessageEntity(type="text_link", offset=10, length=5000, url="https://example.org/")
    (_, first), (_, second) = split_entities("а" * 5010, [link])
    assert [(mark.offset, mark.length, mark.url) for mark in (*first, *second)] == [(10, 4086, link.url), (0, 914, link.url)]


def test_an_entity_is_not_cut_where_it_fits_into_the_next_piece() -> None:
    link = MessageEntity(type="text_link", offset=4000, length=200, url="https://example.org/")
    (first, none), (second, marks) = split_entities("а" * 4200, [link])
    assert (_units(first), none, _units(second)) == (4000, [], 200)
    assert [(mark.offset, mark.length) for mark in marks] == [(0, 200)]


def test_a_shorter_limit_is_kept() -> None:
    assert [_units(piece) for piece, _ in split_entities("слово " * 500, [], limit=1500)] == [1500, 1500]
