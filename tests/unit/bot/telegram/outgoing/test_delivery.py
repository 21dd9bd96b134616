"""Outbox rows to Telegram: in order, at least once, edited in place; no chat and no row holds up another."""

import asyncio
from typing import Any

import pytest
from aiogram.exceptions import TelegramNetworkError
from aiogram.methods import GetMe

from bot.telegram.outgoing.delivery import GIVE_UP_AFTER, MAX_SIDE_CALLS
from orchestrator.domain.outputs import Choice, Notice, Reply, build_reply
from orchestrator.sessions import outbox
from state.journal.store import OutboxRow, StoreUnwritable
from tests.unit.bot.telegram.door_kit import NOW, refused
from tests.unit.bot.telegram.outgoing.delivery_kit import CHAT, ENTRY, OTHER, Post, card_row, text_row, words
from tests.unit.spine_kit import until


@pytest.mark.req("S004-15")
async def test_a_reply_goes_to_its_chat_and_topic_without_parse_mode_and_in_its_language(post: Post) -> None:
    await post.put(text_row("*один* <b>два", f"{CHAT}:5"), outbox.build_reply_row(OTHER, build_reply(Notice(code="stopped")), NOW))
    await post.until_states("sent", "sent")
    first, second = sorted(post.wire.calls("sendMessage"), key=lambda body: -body["chat_id"])
    assert (first["chat_id"], first["message_thread_id"], first["text"]) == (1007, 5, "один <b>два")
    assert [entity["type"] for entity in first["entities"]] == ["italic"]
    assert first.get("parse_mode") is None
    assert (second["chat_id"], second["text"]) == (1006, "Stopped.")


async def test_a_card_is_one_message_for_life_and_loses_its_buttons_when_settled(post: Post) -> None:
    await post.put(card_row())
    await post.until_states("sent")
    assert post.wire.calls("sendMessage")[0]["reply_markup"]["inline_keyboard"]
    await post.put(card_row("approved", approved_by_name="Вера"))
    await post.until_states("sent", "sent")
    (edit,) = post.wire.calls("editMessageText")
    assert (edit["chat_id"], edit["message_id"]) == (1007, 501)
    assert "Выполняется · решение: Вера" in edit["text"]
    assert edit.get("reply_markup") is None
    assert await post.store.find_sent_ref(CHAT, "card:0a1b2c3d4e") == "501"


async def test_an_edit_that_changes_nothing_is_no_trouble(post: Post) -> None:
    await post.put(card_row())
    await post.until_states("sent")
    await post.put(card_row())
    await post.until_states("sent", "sent")
    assert post.wire.calls("editMessageText") == [], "what looks so already is not asked for: Telegram would refuse it"
    post.wire.will(refused(400, "Bad Request: message is not modified: specified new message content …"))
    await post.put(card_row(status="executed", executed_at="2026-11-21T12:00:00Z"))
    await post.until_states("sent", "sent", "sent")
    assert len(post.wire.calls("sendMessage")) == 1
    await post.put(card_row())
    await post.until_states("sent", "sent", "sent", "sent")
    assert len(post.wire.calls("editMessageText")) == 2, "what looked so once and does no more is edited"


async def test_a_card_that_can_no_longer_be_edited_is_sent_anew_and_edited_there(post: Post) -> None:
    await post.put(card_row())
    await post.until_states("sent")
    post.wire.will(refused(400, "Bad Request: message to edit not found"))
    await post.put(card_row("approved"))
    await post.until_states("sent", "sent")
    await post.put(card_row("executed"))
    await post.until_states("sent", "sent", "sent")
    assert len(post.wire.calls("sendMessage")) == 2
    assert [edit["message_id"] for edit in post.wire.calls("editMessageText")] == [501, 502]


async def test_too_many_requests_are_waited_out_in_order_while_others_are_served(post: Post) -> None:
    post.wire.will(refused(429, "Too Many Requests: retry after 7", retry_after=7), when=words("один"))
    await post.put(text_row("один"), text_row("два"), text_row("иной", OTHER))
    await post.until_states("new", "new", "sent")
    await post.until_tried(0, 1)
    assert post.texts() == ["один"]
    post.later(6)
    await post.put(text_row("ещё", OTHER))
    await post.until_states("new", "new", "sent", "sent")
    assert post.texts() == ["один"], "it was sent before Telegram allowed it"
    post.later(1)
    await post.until_states("sent", "sent", "sent", "sent")
    assert post.texts() == ["один", "один", "два"]


@pytest.mark.parametrize(("named", "waits"), [(0, 1), (None, 1), (-5, 1), (10**9, 3600), (10**18, 3600)])
async def test_a_wait_that_is_missing_or_absurd_is_replaced_by_a_sensible_one(post: Post, named: int | None, waits: int) -> None:
    """The message is neither lost nor held back for years, and the delivery lives."""
    post.wire.will(refused(429, "Too Many Requests: retry after 0", **({} if named is None else {"retry_after": named})))
    await post.put(text_row("один"))
    await post.until_tried(0, 1)
    assert post.rows()[0][0] == "new"
    post.later(waits - 0.5)
    await post.put(text_row("иной", OTHER))
    await post.until_states("new", "sent")
    post.later(0.5)
    await post.until_states("sent", "sent")
    assert post.texts() == ["один", "один"]


@pytest.mark.parametrize(
    "trouble",
    [TelegramNetworkError(GetMe(), "connection reset"), refused(502, "Bad Gateway"), {"status": 200, "nonsense": True}],
    ids=["network", "server", "no answer of Telegram"],
)
async def test_what_a_network_does_is_tried_again_in_order(post: Post, trouble: Any) -> None:
    post.wire.will(trouble)
    await post.put(text_row("один"))
    await post.until_tried(0, 1)
    await post.put(text_row("два"))
    post.later(60)
    await post.until_states("sent", "sent")
    assert post.texts() == ["один", "один", "два"]


async def test_a_row_that_does_not_get_through_is_given_up_after_a_day(post: Post) -> None:
    for _ in range(3):
        post.wire.will(refused(502, "Bad Gateway"), when=words("один"))
    await post.put(text_row("один"), text_row("два"))
    await post.until_tried(0, 1)
    post.later(GIVE_UP_AFTER.total_seconds() - 1)
    await post.until_tried(0, 2)
    assert post.rows()[0][0] == "new"
    post.later(120)
    await post.until_states("failed", "sent")


async def test_what_was_sent_but_not_marked_is_marked_later_and_not_sent_again(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store breaks between Telegram's answer and the mark."""
    monkeypatch.setattr("bot.telegram.outgoing.delivery.STORE_PAUSE", 0)
    broken, real = [1, 1], post.sql.mark_outbox_sent

    def sometimes(row_id: str, sent_ref: str) -> None:
        if broken:
            broken.pop()
            raise StoreUnwritable("disk full")
        real(row_id, sent_ref)

    monkeypatch.setattr(post.sql, "mark_outbox_sent", sometimes)
    await post.put(text_row("один"), text_row("два"))
    await until(lambda: post.delivery.wake() or [row[0] for row in post.rows()] == ["sent", "sent"])  # type: ignore[func-returns-value]
    assert post.texts() == ["один", "два"]


@pytest.mark.parametrize("answer", [refused(400, "Bad Request: chat not found"), refused(400, "Bad Request: BUTTON_DATA_INVALID")])
async def test_a_message_telegram_does_not_take_holds_up_nobody(post: Post, answer: Any) -> None:
    post.wire.will(answer)
    await post.put(text_row("один"), text_row("два"))
    await post.until_states("failed", "sent")


async def test_a_row_that_cannot_be_rendered_holds_up_nobody(post: Post) -> None:
    broken = outbox.build_code_row(CHAT, "x", NOW)
    await post.put(OutboxRow(**{**broken.__dict__, "body": {}}), text_row("два"))
    await post.until_states("failed", "sent")
    assert post.texts() == ["два"]


@pytest.mark.req("S001-4", "S001-A8")
async def test_a_long_text_goes_in_pieces_with_the_buttons_under_the_last(post: Post) -> None:
    reply = Reply(parts=build_reply(text="а" * 3000 + "\n" + "б" * 3000).parts, choices=(Choice(token="abc:0", label="Да"),))
    await post.put(outbox.build_reply_row(CHAT, reply, NOW, key="turn:1"))
    await post.until_states("sent")
    first, last = post.wire.calls("sendMessage")
    assert (first["text"], last["text"]) == ("а" * 3000 + "\n", "б" * 3000)
    assert first.get("reply_markup") is None
    assert last["reply_markup"]["inline_keyboard"]
    assert await post.store.find_sent_ref(CHAT, "turn:1") == "502"


async def test_a_card_with_no_room_for_everything_is_one_message_edited_in_place(post: Post) -> None:
    lines = [{"field": f"UF_{n}", "name": f"Поле {n}", "before": "", "after": "я" * 190} for n in range(30)]
    preview = {**ENTRY["preview"], "lines": lines}  # type: ignore[dict-item]
    await post.put(card_row(preview=preview))
    await post.until_states("sent")
    (piece,) = post.wire.calls("sendMessage")
    assert "Показано не всё" in piece["text"]
    await post.put(card_row("denied", preview=preview, denied_by_name="Борис", denied_at="2026-11-21T12:00:00Z"))
    await post.until_states("sent", "sent")
    (edit,) = post.wire.calls("editMessageText")
    assert edit["message_id"] == 501
    assert "✖ Отклонено" in edit["text"]


async def test_a_press_is_answered_and_an_answer_too_late_is_no_trouble(post: Post) -> None:
    post.wire.will(refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid"))
    await post.put(
        outbox.build_toast_row(CHAT, "cb1", Notice(code="toast-running"), NOW),
        outbox.build_toast_row(CHAT, "cb2", Notice(code="card-unknown"), NOW),
    )
    await post.until_states("sent", "sent")
    late, second = post.wire.calls("answerCallbackQuery")
    assert (late["callback_query_id"], late["text"], late["show_alert"]) == ("cb1", "Принято, проверяю…", False)
    assert (second["callback_query_id"], second["show_alert"]) == ("cb2", len(second["text"]) > 60)
    assert post.texts() == []


async def test_an_exact_call_is_shown_as_code_and_an_empty_reply_is_not_sent(post: Post) -> None:
    await post.put(outbox.build_code_row(CHAT, "crm.deal.update\n{}", NOW), outbox.build_reply_row(CHAT, Reply(), NOW))
    await post.until_states("sent", "sent")
    (sent,) = post.wire.calls("sendMessage")
    assert [(entity["type"], entity["offset"]) for entity in sent["entities"]] == [("code", 0)]


async def test_trouble_is_told_beside_the_outbox_and_fails_silently(post: Post) -> None:
    await post.delivery.report_trouble(OTHER, Notice(code="stopped"))
    await until(lambda: post.texts(1006) == ["Stopped."])
    post.wire.will(refused(403, "Forbidden"))
    await post.delivery.report_trouble(CHAT, Notice(code="stopped"))
    await until(lambda: not post.delivery._side_calls)


async def test_who_is_told_of_trouble_keeps_nobody_waiting(post: Post) -> None:
    """Telegram does not answer: whoever stores updates goes on, and beyond a bound nothing more is begun."""
    gate = asyncio.Event()
    post.wire.gates.append((words("Stopped"), gate))
    for _ in range(MAX_SIDE_CALLS + 20):
        await asyncio.wait_for(post.delivery.report_trouble(OTHER, Notice(code="stopped")), 30)
    await until(lambda: len(post.texts(1006)) == MAX_SIDE_CALLS)
    gate.set()


async def test_a_stop_that_meets_a_wake_is_a_stop(post: Post) -> None:
    """A stop that is swallowed would keep the whole program from ending."""
    await until(lambda: bool(post.delivery._wake._waiters))
    post.delivery.wake()
    post.task.cancel()
    await asyncio.wait({post.task}, timeout=30)
    assert post.task.cancelled()
