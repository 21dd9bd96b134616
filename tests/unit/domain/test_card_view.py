"""Whether a chat shows only a part of a card: nobody may approve what they were not shown."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.domain.card_view import CARD_COMMANDS, CARD_ROOM, Preview, is_shown_in_part
from state.model.card import Card

_TEXT = st.one_of(st.just(""), st.text(alphabet='aя😀{"', max_size=5), st.integers(0, CARD_ROOM).map(lambda size: "я" * size))
_LINE = st.fixed_dictionaries({}, optional={"field": _TEXT, "name": _TEXT, "before": _TEXT, "after": _TEXT})
_PART = st.fixed_dictionaries({}, optional={"title": _TEXT, "verb": st.just("update"), "lines": st.lists(_LINE, max_size=4)})
_PREVIEW = st.builds(lambda part, items: {**part, "items": items}, _PART, st.lists(_PART, max_size=3))


@pytest.mark.long
@given(_PREVIEW)
@example({})
@example({"items": [{}] * CARD_COMMANDS})
@example({"items": [{}] * (CARD_COMMANDS + 1)})
@example({"lines": [{}] * CARD_ROOM})
@example({"title": "я" * CARD_ROOM})
@example({"title": "я" * (CARD_ROOM + 1)})
@example({"title": "😀" * (CARD_ROOM // 2)})
@example({"title": "😀" * (CARD_ROOM // 2 + 1)})
def test_a_short_card_is_known_without_being_measured(preview: dict[str, Any]) -> None:
    """The look at the stored text says nothing else than the measure of every line."""
    assert is_shown_in_part(Card(confirmation_id="c", preview=preview)) == Preview.model_validate(preview).exceeds_card
