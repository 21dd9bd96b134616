"""What each kind of update means. Access is checked on every one; «да» counts only where DESIGN §3 lets it."""

from dataclasses import replace
from typing import Any

import pytest
from aiogram.types import Update

from bot.telegram.intake.router import MAX_TEXT, OpenCard, ParsedUpdate
from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import AccessRequest
from orchestrator.domain.outputs import Notice
from state import canonical
from state.journal.store import InboxRow
from tests.unit.bot.telegram.door_kit import (
    ANNA,
    BOT,
    ME,
    NOW,
    STRANGER,
    VERA,
    access,
    answer_in,
    forwarded,
    message,
    parse_update,
    person,
    pressed,
    raw_message,
)

GROUP = -100500
OURS = {"reply_to_message": raw_message("ответ", chat=GROUP, via=BOT)}
"""A reply to the bot."""
PHOTO = [{"file_id": "1", "file_unique_id": "1", "width": 1, "height": 1}]
CARD = OpenCard(confirmation_id="0a1b2c3d4e", nonce="12345678", message_id="99", call_class="W", taps=1)
OTHER = replace(CARD, confirmation_id="ffffffffff", message_id="90")


def _routed(update: Update, *cards: OpenCard) -> ParsedUpdate:
    return parse_update(update, access(), ME, cards, NOW)


def _row(update: Update, *cards: OpenCard) -> InboxRow:
    routed = _routed(update, *cards)
    assert len(routed.rows) == 1, routed
    assert answer_in(routed) is None
    canonical.dumps(routed.rows[0].body)  # whatever it is, it can be stored
    return routed.rows[0]


def _decision(update: Update, *cards: OpenCard) -> dict[str, Any] | None:
    rows = _routed(update, *cards).rows
    return dict(rows[0].body) if rows and rows[0].kind == "decision" else None


@pytest.mark.req("S004-1", "S004-57")
def test_a_message_becomes_one_input_of_its_person_and_chat() -> None:
    row = _row(message("  Покажи сделки \n", update_id=77))
    assert (row.source, row.session, row.lane, row.kind) == ("telegram:42:77", "tg:1007", "turn", "message")
    assert row.body == {"text": "Покажи сделки", "quoted": "", "origin": "typed", "at": 1795000000, "message_id": 100}
    assert Actor.model_validate(row.actor) == access().find_actor(ANNA)
    assert row.received_at == NOW


@pytest.mark.parametrize(
    ("more", "session"),
    [
        ({}, "tg:1007"),
        ({"message_thread_id": 5}, "tg:1007"),
        ({"message_thread_id": 5, "is_topic_message": True}, "tg:1007:5"),
        ({"chat": GROUP, **OURS}, f"tg:{GROUP}"),
        ({"chat": GROUP, **OURS, "message_thread_id": 5, "is_topic_message": True}, f"tg:{GROUP}:5"),
    ],
)
@pytest.mark.req("S004-57")
def test_each_chat_and_each_topic_is_a_session_of_its_own_for_words_and_presses(more: dict[str, Any], session: str) -> None:
    assert _row(message("привет", **more)).session == session
    assert _row(pressed("d1:abc", **more)).session == session


def test_a_stranger_is_told_their_id_in_private_and_nothing_in_a_group() -> None:
    alone = _routed(message("/start", sender=STRANGER))
    assert [(row.kind, row.session, row.actor) for row in alone.rows] == [("knock", "access", {"key": "tg:666", "name": "Имя"})]
    assert [AccessRequest.model_validate(row.body).answered for row in alone.rows] == [True]
    assert _routed(message("привет", sender=STRANGER, chat=GROUP, **OURS)) == ParsedUpdate(session=f"tg:{GROUP}")
    assert _routed(message("да", sender=STRANGER, chat=GROUP, **OURS), CARD).rows == ()
    press = _routed(pressed("c1:0a1b2c3d4e:12345678:y", sender=STRANGER, chat=GROUP))
    assert (press.rows, press.callback_id, press.toast) == ((), "cb1", Notice(code="stranger", args={"id": "666"}))


@pytest.mark.parametrize(
    "update",
    [
        message("привет", sender=None, sender_chat={"id": GROUP, "type": "channel", "title": "К"}),
        message("привет", sender=ANNA, via=person(ANNA, bot=True)),
        Update.model_validate({"update_id": 1}),
        Update.model_validate({"update_id": 1, "channel_post": raw_message("да", sender=None, chat=GROUP)}),
        Update.model_validate({"update_id": 1, "edited_message": raw_message("да", sender=STRANGER)}),
        Update.model_validate({"update_id": 1, "edited_message": raw_message("да", sender=None)}),
    ],
    ids=["channel", "bot", "empty", "post", "edit by a stranger", "edit by nobody"],
)
def test_what_no_person_of_ours_wrote_is_left_alone(update: Update) -> None:
    routed = _routed(update, CARD)
    assert (routed.rows, routed.callback_id) == ((), "")


@pytest.mark.req("S001-4")
@pytest.mark.parametrize(
    ("update", "code"),
    [
        (message(None, photo=PHOTO), "only-text"),
        (message(None, sticker={"file_id": "1", "file_unique_id": "1", "type": "regular", "width": 1, "height": 1, "is_animated": False, "is_video": False}), "only-text"),
        (message("   \n"), "only-text"),
        (message("\u200b\u2060\u200d\ufeff \u00ad"), "only-text"),
        (message("ж" * 100_000), "too-long"),
        (message("ж" * (MAX_TEXT + 1)), "too-long"),
    ],
)  # fmt: skip
def test_what_cannot_be_worked_on_is_answered_at_once(update: Update, code: str) -> None:
    routed = _routed(update, CARD)
    said = answer_in(routed)
    assert said is not None
    assert said.code == code


@pytest.mark.req("S001-4")
def test_the_longest_message_and_a_caption_are_taken() -> None:
    assert len(_row(message("ж" * MAX_TEXT)).body["text"]) == MAX_TEXT
    assert _row(message(None, photo=PHOTO, caption="сделка 481")).body["text"] == "сделка 481"


@pytest.mark.parametrize("text", ["a\x00b", "сумма \ud83d 5", "\udc00\udfff", "\x00"])
def test_nul_and_torn_surrogates_are_replaced_so_that_the_text_can_be_stored(text: str) -> None:
    update = message("x")
    assert update.message is not None
    torn = update.model_copy(update={"message": update.message.model_copy(update={"text": text})})
    body = _row(torn).body
    assert "\x00" not in body["text"]
    assert body["text"].encode()


@pytest.mark.parametrize(
    ("text", "name", "args", "lane"),
    [
        ("/today", "today", "", "express"), ("/STOP", "stop", "", "express"), ("/pending@sdelka_bot now", "pending", "now", "express"), ("/today@SDELKA_BOT", "today", "", "express"), ("/new", "new", "", "turn"),
        ("/", "", "", "express"), ("/ x", "x", "", "express"), ("/сбрось", "сбрось", "", "express"), ("/history  481 \n", "history", "481", "express"), ("/history\n481 все", "history", "481 все", "express"),
    ],
)  # fmt: skip
def test_commands_overtake_a_turn_except_new(text: str, name: str, args: str, lane: str) -> None:
    row = _row(message(text))
    assert (row.kind, row.lane, row.body) == ("command", lane, {"name": name, "args": args})


@pytest.mark.parametrize("text", ["Удали все сделки", "/new", "да"])
def test_a_forwarded_message_is_text_of_somebody_else_and_never_an_instruction(text: str) -> None:
    row = _row(message(text, forward_origin=forwarded()), CARD)
    assert (row.kind, row.lane) == ("message", "turn")
    assert row.body == {"text": "", "quoted": f"Имя:\n{text}", "origin": "typed", "at": 1795000000, "message_id": 100}


def test_a_quotation_goes_beside_the_words_of_the_person() -> None:
    row = _row(message("что это?", quote={"text": "переведи \x00 деньги", "position": 0}))
    assert row.body == {"text": "что это?", "quoted": "переведи � деньги", "origin": "typed", "at": 1795000000, "message_id": 100}


@pytest.mark.parametrize("word", ["да", "ДА!", "Да.", "ok", "ок", "Yes", "подтверждаю", "выполняй", " да "])
@pytest.mark.req("S004-A1", "G2")
def test_a_typed_yes_right_after_the_card_or_as_reply_approves_exactly_that_card(word: str) -> None:
    meant = {"confirmation_id": CARD.confirmation_id, "nonce": CARD.nonce, "approve": True, "via": "typed"}
    assert _decision(message(word), CARD) == meant
    reply = raw_message("карточка", sender=42, chat=ANNA, message_id=99)
    assert _decision(message(word, message_id=205, reply_to_message=reply), OTHER, CARD) == meant
    assert _row(message(word), CARD).lane == "express"
    assert _decision(message(word, message_id=180), replace(CARD, is_last=True)) == meant


@pytest.mark.parametrize("word", ["нет", "Отмена", "no", "отклонить."])
@pytest.mark.req("S004-32")
def test_a_typed_no_denies_also_what_a_typed_yes_may_not_approve(word: str) -> None:
    for card in (CARD, replace(CARD, call_class="D", taps=2)):
        decision = _decision(message(word), card)
        assert decision is not None
        assert decision["approve"] is False


@pytest.mark.parametrize(
    ("cards", "more", "code"),
    [
        ((), {}, ""),
        ((CARD,), {"text": "да, и ещё одну"}, ""),
        ((CARD,), {"text": "конечно"}, ""),
        ((CARD,), {"message_id": 101}, ""),
        ((CARD,), {"message_id": 99}, ""),
        ((replace(CARD, is_last=False),), {}, ""),
        ((replace(CARD, is_last=True),), {"message_id": 98}, ""),
        ((replace(CARD, message_id=""),), {}, ""),
        ((CARD,), {"chat": GROUP, **OURS}, ""),
        ((CARD,), {"via_bot": person(7, bot=True)}, ""),
        ((CARD,), {"edit_date": 1_795_000_001}, ""),
        ((CARD,), {"forward_origin": forwarded()}, ""),
        ((CARD,), {"reply_to_message": raw_message("иное", message_id=98)}, ""),
        ((CARD, OTHER), {}, "which-card"),
        ((CARD, OTHER), {"reply_to_message": raw_message("иное", message_id=98)}, "which-card"),
        ((replace(CARD, call_class="D", taps=2),), {}, "only-button"),
        ((replace(CARD, taps=2),), {}, "only-button"),
        *(((replace(CARD, call_class=letter),), {}, "only-button") for letter in "DCMN"),
    ],
)
@pytest.mark.req("S004-A1")
def test_any_other_yes_approves_nothing(cards: tuple[OpenCard, ...], more: dict[str, Any], code: str) -> None:
    update = message(**{"text": "да", **more})
    assert _decision(update, *cards) is None
    routed = _routed(update, *cards)
    if code:
        said = answer_in(routed)
        assert said is not None
        assert said.code == code
    else:
        assert [row.kind for row in routed.rows] == ["message"]


@pytest.mark.parametrize(
    ("data", "kind", "lane", "body"),
    [
        ("c1:0a1b2c3d4e:12345678:y", "decision", "express", {"confirmation_id": "0a1b2c3d4e", "nonce": "12345678", "approve": True, "via": "button", "callback_id": "cb1"}),
        ("c1:0a1b2c3d4e:12345678:n", "decision", "express", {"confirmation_id": "0a1b2c3d4e", "nonce": "12345678", "approve": False, "via": "button", "callback_id": "cb1"}),
        ("n1:abcdef:2", "message", "turn", {"answers": "abcdef", "option": 2, "origin": "choice"}),
        ("e1:example-deals", "message", "turn", {"text": "Покажи мои сделки", "origin": "button"}),
        ("u1:0a1b2c3d4e", "command", "express", {"name": "check", "confirmation_id": "0a1b2c3d4e"}),
        ("d1:0a1b2c3d4e", "command", "express", {"name": "details", "confirmation_id": "0a1b2c3d4e"}),
    ],
)  # fmt: skip
def test_each_button_becomes_its_input_and_is_answered(data: str, kind: str, lane: str, body: dict[str, Any]) -> None:
    row = _row(pressed(data))
    assert (row.kind, row.lane, row.body) == (kind, lane, body)
    assert (row.source, row.session) == ("telegram:42:6", "tg:1007")
    assert "cb1" in {_routed(pressed(data)).callback_id, body.get("callback_id")}


def test_the_presser_acts_not_the_one_the_card_was_made_for_and_in_their_language() -> None:
    assert _row(pressed("c1:0a:1f:y", sender=VERA, chat=GROUP)).actor["key"] == "tg:1006"
    assert _row(pressed("e1:example-deals", sender=VERA)).body["text"] == "Show my deals"


@pytest.mark.parametrize(
    "data", [None, "", "c1", "c1:\x00:n:y", "c1:a:b:y:z", "n1:q:" + "9" * 50, "n1:q:-1", "e1:gate-mode", "x" * 64, '{"approve":true}']
)
def test_hostile_data_is_answered_and_goes_nowhere(data: str | None) -> None:
    routed = _routed(pressed(data))
    assert (routed.rows, routed.callback_id, routed.toast) == ((), "cb1", Notice(code="card-outdated"))


def test_a_press_under_a_message_telegram_no_longer_has_is_answered() -> None:
    query = {"id": "cb1", "from": person(ANNA), "chat_instance": "1", "data": "c1:0a:1f:y", "inline_message_id": "5"}
    routed = _routed(Update.model_validate({"update_id": 6, "callback_query": query}))
    assert (routed.rows, routed.toast) == ((), Notice(code="card-outdated"))
    old = {"message_id": 9, "date": 0, "chat": {"id": ANNA, "type": "private"}}
    routed = _routed(Update.model_validate({"update_id": 6, "callback_query": {**query, "message": old}}))
    assert [row.kind for row in routed.rows] == ["decision"]
