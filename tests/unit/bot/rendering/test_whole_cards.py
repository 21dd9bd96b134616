"""A card shows everything that will be sent, or says that it does not and waits until the rest was opened."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.rendering.cards import render_card, render_details
from bot.rendering.spans import to_plain_text
from bot.telegram.intake.callbacks import CardClick
from bot.telegram.view.entities import LIMIT
from orchestrator.domain.card_view import CARD_ROOM, CardView, count_units, is_shown_in_part
from orchestrator.sessions import outbox
from state.clock import parse_iso
from state.model.card import Card
from tests.unit.bot.rendering.card_kit import AT, EN, RU, a_batch, a_card, a_line, a_preview, an_item, pressable, shown

VALUES = st.one_of(
    st.text(alphabet="абвгд xyz.@😀", min_size=1, max_size=3000),
    st.lists(st.text(alphabet="+7 901", min_size=1, max_size=20), min_size=1, max_size=60).map("\n".join),
)
LINES = st.lists(st.builds(a_line, name=st.just("Поле"), before=VALUES | st.just(""), after=VALUES), min_size=1, max_size=60)


def as_row(body: dict[str, Any], session: str = "tg:1007") -> dict[str, Any]:
    """The body of the row that the outbox gets for this card in that chat."""
    entry = Card.from_stored({key: value for key, value in body.items() if key != "stage"})
    return dict(outbox.build_card_row(session, entry, parse_iso(AT)).body)


def draw(body: dict[str, Any]) -> str:
    return to_plain_text(render_card(CardView.from_body(body), RU))


def has_approval(body: dict[str, Any]) -> bool:
    return any(isinstance(click, CardClick) and click.approve for row in pressable(body) for click in row)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(lines=LINES)
def test_a_card_is_whole_or_says_that_it_is_not(lines: list[dict[str, str]]) -> None:
    """Nothing that will be written is left out of a card that can be approved at once, and a card never outgrows one message."""
    body = as_row(a_card(preview=a_preview(lines=lines)))
    text = draw(body)
    assert count_units(text) <= LIMIT
    if body.get("is_cut"):
        assert "Показано не всё" in text
        assert not has_approval(body)
    else:
        assert all(element in text for line in lines for value in (line["before"], line["after"]) for element in value.split("\n"))
        assert has_approval(body)
    details = to_plain_text(render_details(CardView.from_body(body), RU))
    assert all(element in details for line in lines for value in (line["before"], line["after"]) for element in value.split("\n"))


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(items=st.lists(st.builds(an_item, st.integers(1, 99), lines=LINES.map(lambda lines: lines[:3])), min_size=1, max_size=30))
def test_a_batch_is_whole_or_says_that_it_is_not(items: list[dict[str, Any]]) -> None:
    """A card of many commands fits in one message; its details name each command with its values."""
    body = as_row(a_card(method="batch", preview={"verb": "batch", "lines": [], "items": items, "count": len(items)}))
    text = draw(body)
    assert count_units(text) <= LIMIT
    assert bool(body.get("is_cut")) == (not has_approval(body)) == ("Показано не всё" in text)
    details = to_plain_text(render_details(CardView.from_body(body), RU))
    for whole in (details, *([] if body.get("is_cut") else [text])):
        for item in items:
            assert item["title"] in whole
            assert all(element in whole for line in item["lines"] for element in line["after"].split("\n"))


def test_the_end_of_a_long_text_is_on_the_card_or_behind_the_button() -> None:
    """The nine hundredth sign of a message to a colleague is read before it is sent."""
    long = "Добрый день! " * 70 + "Скидка 90 процентов."
    body = as_row(a_card(call_class="N", preview=a_preview(lines=[a_line(name="Текст", before="", after=long)])))
    assert "Скидка 90 процентов." in draw(body)
    assert has_approval(body)
    text = "Добрый день! " * 300 + "Скидка 90 процентов."
    letter = a_card(call_class="N", preview=a_preview(lines=[a_line(name="Текст", before="", after=text)]))
    assert "Скидка 90 процентов." not in draw(as_row(letter))
    assert "Скидка 90 процентов." in to_plain_text(render_details(CardView.from_body(letter), RU))


def test_a_text_that_goes_outside_is_never_folded() -> None:
    """What a customer or a colleague will read stands open on the card; other long values are folded."""
    for call_class, style in (("N", "block"), ("W", "quote")):
        view = CardView.from_body(a_card(call_class=call_class, preview=a_preview(lines=[a_line(before="", after="я" * 500)])))
        assert [span.style for span in render_card(view, RU) if "яя" in span.text] == [style]


def test_lists_stand_one_a_line_with_their_last_element() -> None:
    """The last of nine phones is read as easily as the first."""
    phones = [f"добавить +7 901 000-00-0{n}" for n in range(9)]
    text = shown(a_card(preview=a_preview(lines=[a_line(name="Телефон", before="+7 900\n+7 905", after="\n".join(phones))])))
    assert "Телефон:\n+7 900\n+7 905\n→ добавить +7 901 000-00-00\n" in text
    assert all(f"\n→ {phone}\n" in text for phone in phones)


def test_after_it_was_opened_the_card_can_be_approved_there_and_nowhere_else() -> None:
    """Each person who may decide reads the rest themselves; a group reads it together."""
    long = a_card(preview=a_preview(lines=[a_line(after="я" * CARD_ROOM)]), requested_by="tg:1007", opened=["tg:1007"])
    assert has_approval(as_row(long, "tg:1007"))
    assert not has_approval(as_row(long, "tg:1006"))
    assert has_approval(as_row(long, "tg:-100200"))
    assert "Остальное — в сообщениях выше" in draw(as_row(long, "tg:1007"))
    assert "Press “Details”" not in to_plain_text(render_card(CardView.from_body(as_row(long, "tg:1007")), EN))


@pytest.mark.parametrize(("count", "named"), [(15, 15), (16, 5)])
def test_a_long_batch_names_five_records_and_says_how_many_more(count: int, named: int) -> None:
    body = as_row(a_batch(count))
    text = draw(body)
    assert is_shown_in_part(Card.from_stored(body)) is (named < count)
    assert text.count("Сделка-") == named
    assert ("… и ещё 11" in text) is (named < count)


def test_a_decided_long_card_still_fits_in_one_message() -> None:
    body = as_row(a_card(preview=a_preview(lines=[a_line(after="я" * 9000)]), status="executed", executed_at=AT))
    assert count_units(draw(body)) <= LIMIT
    assert "Показано не всё" not in draw(body)
