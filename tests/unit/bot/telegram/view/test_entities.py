"""Spans as Telegram entities: offsets in UTF-16 units, and no text is ever formatting."""

from aiogram.types import MessageEntity
from hypothesis import given
from hypothesis import strategies as st

from bot.rendering.spans import Span, build_spans, format_bold, join_blocks, to_plain_text
from bot.telegram.view.entities import render_entities

TEXTS = st.text(st.sampled_from("a😀ж*_<>&[]()`\n "), max_size=8)
SPANS = st.builds(Span, TEXTS, st.sampled_from(["", "bold", "italic", "code"]), st.sampled_from(["", "https://x/"]))


def _covered(text: str, entity: MessageEntity) -> str:
    raw = text.encode("utf-16-le")
    return raw[entity.offset * 2 : (entity.offset + entity.length) * 2].decode("utf-16-le")


@given(st.lists(SPANS, max_size=6))
def test_every_entity_covers_exactly_its_span_and_the_text_is_the_words_alone(parts: list[Span]) -> None:
    text, entities = render_entities(build_spans(*parts))
    assert text == "".join(part.text for part in parts)
    wanted: list[tuple[str, str, str | None]] = [(part.style, part.text, None) for part in parts if part.text and part.style]
    wanted += [("text_link", part.text, part.url) for part in parts if part.text and part.url]
    assert sorted(wanted, key=str) == sorted(((str(entity.type), _covered(text, entity), entity.url) for entity in entities), key=str)


def test_markup_in_a_customers_title_stays_text() -> None:
    text, entities = render_entities(build_spans(Span("<b>*Ромашка*</b> [x](http://evil)", url="https://crm/deal/481/")))
    assert text == "<b>*Ромашка*</b> [x](http://evil)"
    assert [(entity.type, entity.url) for entity in entities] == [("text_link", "https://crm/deal/481/")]


def test_marks_that_turn_text_around_do_not_reach_the_sum_beside_a_name() -> None:
    """RLO, isolates and their ends are gone, offsets fit what is left; a span of nothing else is no span."""
    name = "\u202eакшамоР\u2067\u200e"
    text, entities = render_entities(build_spans(Span(name, url="https://crm/"), Span("\u2066", "bold"), " — ", Span("150 000 ₽", "bold")))
    assert text == "акшамоР\u200e — 150 000 ₽"
    assert [(_covered(text, entity), str(entity.type)) for entity in entities] == [("акшамоР\u200e", "text_link"), ("150 000 ₽", "bold")]


def test_bold_keeps_links_and_joining_skips_what_is_empty() -> None:
    whole = join_blocks([build_spans("а"), build_spans(""), format_bold(build_spans("б", Span("в", url="u")))], "\n")
    assert whole == (Span("а"), Span("\n"), Span("б", "bold"), Span("в", "bold", "u"))
    assert to_plain_text(whole) == "а\nбв (u)"
    assert join_blocks([], "\n") == ()
