"""What Telegram seldom says and texts that are seldom sent: no answer is lost for it; and what nobody asked for comes without a sound."""

from typing import Any

import pytest
from aiogram.types import Update

from bot.i18n.translate import Translator
from bot.telegram.outgoing.chats import Chats
from bot.telegram.view.keyboards import format_label
from bot.telegram.view.message_builder import CAPTION, build_sent_file
from orchestrator.domain.card_view import count_units
from orchestrator.domain.outputs import Notice, Reply, SentFile, Text
from orchestrator.sessions import outbox
from orchestrator.sessions.outbox import build_news_row
from state.model.card import Card
from tests.unit.bot.telegram.door_kit import ME, NOW, access, parse_update, pressed, refused
from tests.unit.bot.telegram.outgoing.delivery_kit import CHAT, ENTRY, GROUP, Post, card_row, posting, text_row
from tests.unit.spine_kit import until

MOVED = refused(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=-1009)


@pytest.mark.parametrize("nothing", [" ", "\n\n", "\u200b", "\u2060\u200e\u200f", "\u3164", "\u202e"])
async def test_an_answer_that_nobody_could_see_is_replaced_by_a_sentence(post: Post, nothing: str) -> None:
    """Every turn ends with exactly one last message; Telegram takes marks without width for an empty text and refuses it."""
    await post.put(outbox.build_reply_row(CHAT, Reply(parts=(Text(text=nothing),)), NOW, key="turn:t1"), text_row("следующее"))
    await post.until_states("sent", "sent")
    said, after = post.texts()
    assert said.startswith("Ответ не удалось показать")
    assert after == "следующее"


async def test_an_edit_that_changes_nothing_keeps_the_buttons(post: Post) -> None:
    """ "Message is not modified" speaks of the reply markup too: that is no complaint about it."""
    same = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same"
    await post.put(card_row())
    await post.until_states("sent")
    post.wire.will(refused(400, same))
    await post.put(card_row(requested_by_name="Вера"))
    await post.until_states("sent", "sent")
    assert len(post.wire.calls("editMessageText")) == 1
    assert len(post.wire.calls("sendMessage")) == 1


async def test_two_complaints_about_one_message_cost_two_ornaments_and_no_words(post: Post) -> None:
    for complaint in ("Bad Request: TOPIC_CLOSED", "Bad Request: can't parse entities", "Bad Request: BUTTON_URL_INVALID"):
        post.wire.will(refused(400, complaint))
    await post.put(outbox.build_card_row(f"{GROUP}:5", Card.from_stored({**ENTRY, "status": "requested"}), NOW))
    await post.until_states("sent")
    last = post.wire.calls("sendMessage")[-1]
    assert not {"message_thread_id", "entities", "reply_markup"} & set(last)
    assert "Ромашка" in last["text"]


@pytest.mark.parametrize(
    ("status", "words", "then"),
    [(401, "Unauthorized", "queued"), (404, "Not Found", "queued"), (413, "Request Entity Too Large", "failed")],
)
async def test_a_token_that_is_refused_costs_no_message_and_a_file_too_large_holds_up_nobody(
    post: Post, status: int, words: str, then: str
) -> None:
    """Who changed the token finds the answers when the bot has the new one; what is too large is given up at once, not asked for a day."""
    post.wire.will(refused(status, words))
    await post.put(text_row("один"), text_row("два"))
    await post.until_tried(0, 1) if then == "queued" else await post.until_states("failed", "sent")
    post.later(120)
    if then == "queued":
        await post.until_states("sent", "sent")
        assert post.texts() == ["один", "один", "два"]


async def test_a_card_whose_topic_is_closed_can_still_be_decided(post: Post) -> None:
    """It stands outside of its topic then: its buttons name the conversation they belong to, whatever chat and topic they are pressed in."""
    post.wire.will(refused(400, "Bad Request: TOPIC_CLOSED"))
    await post.put(outbox.build_card_row(f"{GROUP}:5", Card.from_stored({**ENTRY, "status": "requested"}), NOW))
    await post.until_states("sent")
    yes, no = post.wire.calls("sendMessage")[-1]["reply_markup"]["inline_keyboard"][0]
    for button, approve in ((yes, True), (no, False)):
        routed = parse_update(pressed(button["callback_data"], chat=-100123), access(), ME, (), NOW)
        (row,) = routed.rows
        assert (row.session, row.body["approve"], routed.session) == (f"{GROUP}:5", approve, GROUP)


async def test_the_other_buttons_of_a_card_outside_its_closed_topic_say_why_they_do_nothing_there(post: Post) -> None:
    """What they read is looked up where the card lives; what would ask something is not begun, and says where to go on."""
    post.wire.will(refused(400, "Bad Request: TOPIC_CLOSED"))
    body = {**ENTRY, "status": "requested", "preview": {"lines": [{"field": "TITLE", "name": "Имя", "before": "а", "after": "б"}]}}
    await post.put(outbox.build_card_row(f"{GROUP}:5", Card.from_stored(body), NOW))
    await post.until_states("sent")
    markup = post.wire.calls("sendMessage")[-1]["reply_markup"]
    edit, details = markup["inline_keyboard"][1]
    said = parse_update(pressed(edit["callback_data"], chat=-100123, reply_markup=markup), access(), ME, (), NOW)
    assert (said.rows, said.callback_id, said.toast) == ((), "cb1", Notice(code="card-in-topic"))
    (row,) = parse_update(pressed(details["callback_data"], chat=-100123, reply_markup=markup), access(), ME, (), NOW).rows
    assert (row.session, row.body["name"]) == (f"{GROUP}:5", "details")
    at_home = {"reply_markup": markup, "message_thread_id": 5, "is_topic_message": True}
    (row,) = parse_update(pressed(edit["callback_data"], chat=-100123, **at_home), access(), ME, (), NOW).rows
    assert (row.session, row.body["words"][0]) == (f"{GROUP}:5", "edit")


async def test_in_a_group_that_moved_a_card_is_sent_anew_and_edited_there(post: Post) -> None:
    """The supergroup numbers its messages anew: the old number may be another message of the bot's there, so it is never edited."""
    session = "tg:-5"
    card = outbox.build_card_row(session, Card.from_stored({**ENTRY, "status": "requested"}), NOW)
    await post.put(card)
    await post.until_states("sent")
    post.wire.will(MOVED)
    for count, status in enumerate(("approved", "executed"), start=2):
        await post.put(
            outbox.build_card_row(
                session,
                Card.from_stored({**ENTRY, "status": status, f"{status}_by_name": "Анна", f"{status}_at": "2026-11-21T12:00:00Z"}),
                NOW,
            )
        )
        await post.until_states(*["sent"] * count)
    assert [(body["chat_id"], body["message_id"]) for body in post.wire.calls("editMessageText")] == [(-5, 501), (-1009, 502)]
    assert [body["chat_id"] for body in post.wire.calls("sendMessage")] == [-5, -1009]


async def test_what_another_process_heard_of_a_chat_is_not_overwritten(post: Post) -> None:
    """By webhook one process takes updates and another delivers: each change begins with what is stored."""
    takes, delivers = (Chats(post.store, 42) for _ in range(2))
    await takes.load()
    await delivers.close(1007, "bot was blocked by the user")
    await delivers.move(-5, -1009)
    text = {"message_id": 1, "date": 1_795_000_000, "text": "я вернулся", "from": {"id": 1007, "is_bot": False, "first_name": "А"}}
    await takes.observe_update(Update.model_validate({"update_id": 1, "message": {**text, "chat": {"id": 1007, "type": "private"}}}))
    await delivers.load()
    assert delivers.find_closed_reason(1007) == ""
    assert (takes.find_origin_id(-1009), delivers.find_current_id(-5)) == (-5, -1009)


@pytest.mark.parametrize(("inside", "then"), [(True, "sent"), (False, "failed")])
async def test_who_is_restricted_may_be_inside_or_out(*, inside: bool, then: str) -> None:
    rights = ["can_send_messages", "can_send_audios", "can_send_documents", "can_send_photos", "can_send_videos", "can_send_video_notes"]
    rights += ["can_send_voice_notes", "can_send_polls", "can_send_other_messages", "can_add_web_page_previews", "can_change_info"]
    rights += ["can_invite_users", "can_pin_messages", "can_manage_topics", "can_react_to_messages", "can_edit_tag"]
    bot: dict[str, Any] = {"id": 42, "is_bot": True, "first_name": "Сделка"}
    member = {"user": bot, "status": "restricted", "is_member": inside, "until_date": 0, **dict.fromkeys(rights, False)}
    change = {
        "chat": {"id": -100123, "type": "supergroup", "title": "Продажи"},
        "from": {"id": 1007, "is_bot": False, "first_name": "Анна"},
        "date": 1_795_000_000,
        "old_chat_member": {"user": bot, "status": "member"},
        "new_chat_member": member,
    }
    async with posting() as post:
        await post.delivery.chats.observe_update(Update.model_validate({"update_id": 3, "my_chat_member": change}))
        await post.put(text_row("привет", GROUP))
        await post.until_states(then)


async def test_a_toast_and_a_caption_keep_telegrams_limits_in_units(post: Post) -> None:
    """200 letters that are emoji are 400 units: refused, the press would never be answered."""
    long = "😀" * 3000
    await post.put(
        outbox.build_toast_row(CHAT, "cb1", Notice(code="lead-denied-why", args={"who": long, "what": long, "reason": long}), NOW)
    )
    await until(lambda: len(post.wire.calls("answerCallbackQuery")) == 1)
    assert 0 < count_units(post.wire.calls("answerCallbackQuery")[0]["text"]) <= 200
    sent = SentFile(kind="document", name="а.txt", caption=long)
    (file,) = build_sent_file(outbox.build_sent_file_row(CHAT, sent, NOW, key="k"), "", Translator("ru")).files
    assert 0 < count_units(file.caption) <= CAPTION


@pytest.mark.parametrize(
    ("label", "shown"), [("Ромашка", "Ромашка"), ("", "…"), ("\u200b\u3164", "…"), ("а\n\n б", "а б"), ("<b>&amp;", "<b>&amp;")]
)
def test_a_button_always_has_words(label: str, shown: str) -> None:
    """A record without a visible name must not cost the whole question."""
    assert format_label(label) == shown
    assert count_units(format_label("😀" * 500)) <= 128


ITEM = {"what": "deleted", "entity": "deal", "kind": "", "title": "Ромашка", "url": "", "who": [], "lines": []}


@pytest.mark.parametrize(("more", "silent"), [({}, None), ({"quiet": True}, True)])
async def test_a_quiet_alert_makes_no_sound_and_any_other_does(post: Post, more: dict[str, bool], silent: bool | None) -> None:  # noqa: FBT001 - a column of the table
    await post.put(build_news_row(CHAT, {"items": [ITEM], "more": 0, **more}, NOW))
    await post.until_states("sent")
    assert [body.get("disable_notification") for body in post.wire.calls("sendMessage")] == [silent]
