"""Cards and their questions on the wire: shown anew, with a file, with an invitation to answer; one table draws every kind."""

from dataclasses import replace
from typing import Any

import pytest

from bot.i18n.translate import Translator
from bot.rendering.kinds import RENDERERS, render_message
from bot.rendering.spans import to_plain_text
from bot.telegram.view.keyboards import build_keyboard
from bot.telegram.view.message_builder import build_message
from orchestrator.domain.message_views import EditableField
from orchestrator.domain.outputs import Notice
from orchestrator.features.cards import open_cards
from state.model.card import Card
from tests.unit.bot.telegram.door_kit import NOW, refused
from tests.unit.bot.telegram.outgoing.delivery_kit import CHAT, ENTRY, GROUP, Post, card_row
from tests.unit.spine_kit import until

FIELD = EditableField(code="OPPORTUNITY", name="Сумма", value="1 200 000 ₽", kind="money")
RU = Translator("ru")


def anew() -> Any:
    return open_cards.build_fresh_card_row(CHAT, Card.from_stored({**ENTRY, "effect_id": "f" * 32}), NOW)


async def test_a_card_shown_anew_is_sent_below_and_the_one_above_loses_its_buttons(post: Post) -> None:
    """facts/telegram §5, restart: re-post the card so that the person taps again; only one message of it can be pressed, and is edited."""
    await post.put(card_row())
    await post.until_states("sent")
    await post.put(anew())
    await post.until_states("sent", "sent")
    (edit,) = post.wire.calls("editMessageText")
    assert (edit["message_id"], edit["text"], edit.get("reply_markup")) == (501, "↓ Эта карточка теперь ниже", None)
    assert len(post.wire.calls("sendMessage")) == 2
    await post.put(card_row("executed"))
    await post.until_states("sent", "sent", "sent")
    assert [one["message_id"] for one in post.wire.calls("editMessageText")] == [501, 502]


async def test_a_card_whose_message_was_deleted_is_shown_anew_all_the_same(post: Post) -> None:
    await post.put(card_row())
    await post.until_states("sent")
    post.wire.will(refused(400, "Bad Request: message to edit not found"))
    await post.put(anew())
    await post.until_states("sent", "sent")
    assert len(post.wire.calls("sendMessage")) == 2


@pytest.mark.parametrize(("session", "forced"), [(CHAT, True), (GROUP, False)])
async def test_a_value_is_asked_for_in_a_message_of_its_own(post: Post, session: str, *, forced: bool) -> None:
    """In a private chat the answer field opens; in a group nobody else is asked. A second question is a second message."""
    for ask in (1, 2):
        await post.put(open_cards.build_question_row(session, "0a1b2c3d4e", FIELD, NOW, ask=ask, objection=None, options=()))
    await until(lambda: len(post.wire.calls("sendMessage")) == 2)
    markups = [body["reply_markup"] for body in post.wire.calls("sendMessage")]
    assert all(("force_reply" in markup) == forced for markup in markups)
    assert post.wire.calls("editMessageText") == []


async def test_a_batch_of_many_records_comes_with_the_whole_list_as_a_file_once(post: Post) -> None:
    line = {"field": "OPPORTUNITY", "name": "Сумма", "before": "1", "after": "2"}
    items = [
        {"key": f"k{n}", "method": "crm.deal.update", "verb": "update", "entity": "deal", "title": f"С{n}", "lines": [line]}
        for n in range(16)
    ]
    body = {**ENTRY, "preview": {"verb": "batch", "items": items, "count": 16, "lines": []}}
    await post.put(card_row(preview=body["preview"]))
    await post.until_states("sent")
    assert len(post.wire.calls("sendDocument")) == 1
    await post.put(card_row("executed", preview=body["preview"]))
    await post.until_states("sent", "sent")
    assert len(post.wire.calls("sendDocument")) == 1
    assert [one["message_id"] for one in post.wire.calls("editMessageText")] == [501]


BODIES: dict[str, dict[str, Any]] = {
    "reply": {"notices": [{"code": "stopped", "args": {}}]},
    "toast": {"notice": {"code": "stopped", "args": {}}},
    "code": {"text": "<b>*"},
    "sent": {"kind": "document", "name": "смета.pdf", "digest": "1", "caption": "Смета"},
    "card": {**ENTRY, "effect_id": "f" * 32},
    "details": ENTRY,
    "news": {"items": [{"what": "changed", "entity": "deal", "title": "Р", "who": [], "lines": []}]},
    "daily": {"what": "today", "day": "2026-11-21", "sections": [], "team": [], "unread": []},
    "reminder": {"what": "list", "items": [], "more": 0},
    "people": {"code": "people-settings", "args": {}, "buttons": []},
    "edit": {"what": "told", "confirmation_id": "0a1b2c3d4e", "notice": {"code": "edit-over", "args": {}}},
    "history": {"entity": "deal", "number": 481, "title": "Р", "deleted": False, "record": "deal:481", "screen": "h1"}
    | {"entries": [], "page": 1, "pages": 3, "total": 21},
    "waiting": {"chat": GROUP, "count": 0, "cards": []},
}


@pytest.mark.parametrize("kind", sorted(RENDERERS))
@pytest.mark.parametrize("locale", ["ru", "en"])
def test_every_kind_of_message_has_words_and_a_letter(kind: str, locale: Any) -> None:
    """One table for all doors: a kind that it lacks would reach nobody."""
    tr = Translator(locale)
    assert to_plain_text(render_message(kind, BODIES[kind], tr)).strip()
    build_keyboard(kind, BODIES[kind], tr)
    row = replace(card_row(), kind=kind, body=BODIES[kind])
    assert kind == "toast" or build_message(row, tr).pieces


def test_the_questions_of_an_edit_fit_their_buttons() -> None:
    """64 bytes a button, whatever the names and values are."""
    field = FIELD.model_copy(update={"name": "Поле " * 40, "value": "я" * 300})
    for row in (
        open_cards.build_picker_row(CHAT, "0a1b2c3d4e", [field] * 40, NOW),
        open_cards.build_question_row(CHAT, "0a1b2c3d4e", field, NOW, ask=1, objection=Notice(code="edit-empty"), options=["ю" * 300] * 8),
        open_cards.build_question_row(CHAT, "0a1b2c3d4e", field, NOW, ask=1, objection=None, options=()),
    ):
        markup: Any = build_keyboard(row.kind, row.body, RU)
        for line in getattr(markup, "inline_keyboard", ()):
            assert all(len(button.callback_data.encode()) <= 64 and len(button.text) <= 60 for button in line)
        assert len(getattr(markup, "input_field_placeholder", None) or "") <= 64
