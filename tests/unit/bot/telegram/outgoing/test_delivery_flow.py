"""Pacing, closed and moved chats, long answers, stops: what a delivery does where Telegram is slow, strict or gone (facts: telegram §4)."""

import asyncio
from typing import Any

import pytest
from aiogram.exceptions import TelegramNetworkError
from aiogram.methods import GetMe
from aiogram.types import Update

from orchestrator.domain.outputs import Notice, Reply, Row, Table, Text
from orchestrator.sessions import outbox
from state.model.card import Card
from tests.unit.bot.telegram.door_kit import NOW, raw_message, refused
from tests.unit.bot.telegram.outgoing.delivery_kit import CHAT, GROUP, OTHER, STRICT, Post, card_row, posting, text_row, words
from tests.unit.spine_kit import until

PARAGRAPH = "слово " * 300
BLOCKED = refused(403, "Forbidden: bot was blocked by the user")


async def test_a_slow_chat_keeps_no_other_waiting(post: Post) -> None:
    """One global lock (father-bot#130): the call of one chat hangs, all others go on, message after message."""
    gate = asyncio.Event()
    post.wire.gates.append((words("медленный"), gate))
    await post.put(text_row("медленный"))
    await until(lambda: post.texts() == ["медленный"])
    for number in range(5):
        await post.put(text_row(f"{number}", OTHER))
    await until(lambda: post.texts(1006) == ["0", "1", "2", "3", "4"])
    assert post.rows()[0][0] == "new"
    gate.set()
    await post.until_states(*["sent"] * 6)
    assert post.texts() == ["медленный"]


async def test_a_press_is_answered_while_the_chat_waits_out_a_flood(post: Post) -> None:
    """The wait is the chat's, also for a card; the toast overtakes them."""
    post.wire.will(refused(429, "Too Many Requests: retry after 126", retry_after=126), when=words("один"))
    await post.put(text_row("один"))
    await post.until_tried(0, 1)
    await post.put(card_row(), outbox.build_toast_row(CHAT, "cb1", Notice(code="toast-running"), NOW))
    await post.until_states("new", "new", "sent")
    post.later(125)
    await post.put(outbox.build_toast_row(CHAT, "cb2", Notice(code="toast-running"), NOW))
    await post.until_states("new", "new", "sent", "sent")
    assert post.texts() == ["один"], "the wait that Telegram named was not obeyed"
    post.later(2)
    await post.until_states("sent", "sent", "sent", "sent")


async def test_a_group_gets_its_messages_at_its_rate_and_others_do_not_wait_for_it() -> None:
    async with posting(STRICT) as post:
        await post.put(*(text_row(f"{number}", GROUP) for number in range(8)))
        await until(lambda: len(post.texts(-100123)) == 4)
        await post.put(text_row("личное"))
        await until(lambda: post.texts() == ["личное"])
        assert len(post.texts(-100123)) == 4
        for _ in range(20):
            post.later(1)
            await asyncio.sleep(0.01)
        await until(lambda: len(post.texts(-100123)) == 8)


async def test_who_blocked_the_bot_is_not_written_to_until_they_write(post: Post) -> None:
    """One 403, then nothing more is asked of Telegram; also after a restart. Their next message opens the chat."""
    post.wire.will(BLOCKED)
    await post.put(text_row("один"), text_row("два"), text_row("иной", OTHER))
    await post.until_states("failed", "failed", "sent")
    assert post.texts() == ["один"]
    assert "blocked" in post.rows()[1][2]
    await post.halt()
    async with posting(after=post) as later:
        await later.put(text_row("три"))
        await later.until_states("failed")
        assert later.texts() == []
        await later.delivery.chats.observe_update(Update.model_validate({"update_id": 1, "message": raw_message("я вернулся")}))
        await later.put(text_row("четыре"))
        await until(lambda: later.texts() == ["четыре"])


@pytest.mark.parametrize(("status", "then"), [("kicked", "failed"), ("left", "failed"), ("member", "sent")])
async def test_a_change_of_membership_closes_or_opens_a_chat(post: Post, status: str, then: str) -> None:
    chats = post.delivery.chats
    if then == "sent":
        await chats.close(-100123, "kicked")
    person: dict[str, Any] = {"id": 42, "is_bot": True, "first_name": "Сделка"}
    member = {"user": person, "status": status} | ({"until_date": 0} if status == "kicked" else {})
    change = {
        "chat": {"id": -100123, "type": "supergroup", "title": "Продажи"},
        "from": {"id": 1007, "is_bot": False, "first_name": "Анна"},
        "date": 1_795_000_000,
        "old_chat_member": {"user": person, "status": "member"},
        "new_chat_member": member,
    }
    await chats.observe_update(Update.model_validate({"update_id": 3, "my_chat_member": change}))
    await post.put(text_row("привет", GROUP))
    await post.until_states(then)


async def test_a_group_that_moved_is_written_to_where_it_is_now(post: Post) -> None:
    """Telegram says so in a refusal; later rows go there at once, also after a restart, and what is said there belongs to the same session."""
    post.wire.will(refused(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=-1009))
    await post.put(text_row("один", "tg:-5"), text_row("два", "tg:-5"))
    await post.until_states("sent", "sent")
    assert [body["chat_id"] for body in post.wire.calls("sendMessage")] == [-5, -1009, -1009]
    await post.halt()
    async with posting(after=post) as later:
        await until(lambda: later.delivery.chats.find_current_id(-5) == -1009)
        said = later.delivery.chats.restore_origin_chat(Update.model_validate({"update_id": 1, "message": raw_message("да", chat=-1009)}))
        assert said.message is not None
        assert said.message.chat.id == -5


@pytest.mark.parametrize(
    ("complaint", "left"),
    [
        ("Bad Request: can't parse entities: unsupported start tag", "entities"),
        ("Bad Request: ENTITY_BOUNDS_INVALID", "entities"),
        ("Bad Request: BUTTON_DATA_INVALID", "reply_markup"),
        ("Bad Request: message thread not found", "message_thread_id"),
        ("Bad Request: TOPIC_CLOSED", "message_thread_id"),
        ("Bad Request: entity begins or ends in a middle of a UTF-16 symbol", "entities"),
        ("Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard", "reply_markup"),
        ("Bad Request: reply markup is too long", "reply_markup"),
    ],
)
async def test_what_telegram_does_not_take_of_a_message_is_left_out_and_the_words_arrive(post: Post, complaint: str, left: str) -> None:
    """Bad markup and nothing delivered (danneu#16, father-bot#86): words that arrive plain are better than none."""
    post.wire.will(refused(400, complaint))
    await post.put(outbox.build_card_row(f"{CHAT}:5", Card.from_stored({**_entry(), "status": "requested"}), NOW))
    await post.until_states("sent")
    first, second = post.wire.calls("sendMessage")
    assert first.get(left)
    assert not second.get(left)
    assert first["text"] == second["text"]


def _entry() -> dict[str, Any]:
    return dict(card_row().body)


@pytest.mark.parametrize(
    "trouble", [TelegramNetworkError(GetMe(), "reset"), {"status": 502, "html": True}], ids=["network", "502 with HTML"]
)
async def test_an_answer_of_unknown_fate_is_sent_again_and_an_edit_stays_one_message(post: Post, trouble: Any) -> None:
    """A 502 with HTML after Telegram stored it: at least once, said so in docs/telegram.md; in place there is no double."""
    post.wire.will(trouble)
    await post.put(text_row("один", key="turn:1"))
    await post.until_tried(0, 1)
    post.later(2)
    await post.until_states("sent")
    assert post.texts() == ["один", "один"]
    post.wire.will(trouble)
    await post.put(text_row("один, с поправкой", key="turn:1"))
    await post.until_tried(1, 1)
    post.wire.will(refused(400, "Bad Request: message is not modified"))
    post.later(2)
    await post.until_states("sent", "sent")
    assert len(post.wire.calls("sendMessage")) == 2


@pytest.mark.parametrize("how", ["flood", "crash"])
async def test_in_the_middle_of_a_long_answer_what_arrived_is_not_sent_again(post: Post, how: str) -> None:
    """Split instead of truncated (llm_telegram_bot#197): a flood wait or a crash goes on with the piece that is missing."""
    row = text_row("\n\n".join(f"{number} {PARAGRAPH}" for number in range(6)), key="turn:1")
    post.wire.will(refused(429, "Too Many Requests: retry after 9", retry_after=9), when=words("4 слово"))
    await post.put(row)
    await post.until_tried(0, 1)
    before = list(post.texts())
    if how == "flood":
        post.later(10)
        await post.until_states("sent")
        assert len(set(post.texts())) == 3
        assert len(post.texts()) == 4
        assert await post.store.find_sent_ref(CHAT, "turn:1") == "503"
        return
    await post.halt()
    async with posting(after=post) as later:
        later.put_ids.append(row.id)
        later.later(10)
        await later.until_states("sent")
        assert later.texts() == before[-1:]
        assert len(set(before)) == 3


@pytest.mark.req("S001-4")
async def test_a_very_long_answer_is_its_beginning_and_a_file(post: Post) -> None:
    """> 4096 kills the answer (n3d1117#44, ollama-telegram#79): more than three messages become one and a file with all of it."""
    whole = "\n\n".join(f"{number} {PARAGRAPH}".strip() for number in range(40))
    await post.put(text_row(whole, key="turn:1"))
    await post.until_states("sent")
    (shown,) = post.wire.calls("sendMessage")
    (sent,) = post.wire.calls("sendDocument")
    assert shown["text"].endswith("целиком он в файле ниже.")
    assert len(shown["text"]) <= 4096
    assert sent["document"].filename == "Ответ.txt"
    assert sent["document"].data.decode("utf-8-sig") == whole
    assert await post.store.find_sent_ref(CHAT, "turn:1") == "501"


async def test_a_long_list_shows_its_first_rows_and_comes_as_a_file(post: Post) -> None:
    rows = tuple(Row(label=f"Сделка {number}", url=f"https://p/{number}") for number in range(137))
    table = Table(rows=rows, total=137, sum_text="12,4 млн ₽")
    await post.put(outbox.build_reply_row(CHAT, Reply(parts=(Text(text="Вот:"), table)), NOW, key="turn:1"))
    await post.until_states("sent")
    (shown,) = post.wire.calls("sendMessage")
    assert shown["text"].startswith("Вот:\n\n1. Сделка 0\n")
    assert shown["text"].endswith("10. Сделка 9\n\nПоказано 10 из 137, всего 12,4 млн ₽")
    (sent,) = post.wire.calls("sendDocument")
    assert (sent["document"].filename, sent["caption"]) == ("Список.xlsx", "Весь список: 137 строк")
    assert sent["document"].data[:2] == b"PK"


async def test_an_answer_that_cannot_be_put_in_words_is_replaced_by_a_sentence(post: Post) -> None:
    """Every turn ends with exactly one last message."""
    row = text_row("x", key="turn:1")
    await post.put(type(row)(**{**row.__dict__, "body": {"parts": "нечто"}}))
    await post.until_states("sent")
    assert row.id[-8:] in post.texts()[0]


async def test_a_stop_hears_calls_on_their_way_to_their_end_and_lets_the_others_wait() -> None:
    """What Telegram showed is marked as shown: after the restart it is not sent a second time."""
    async with posting(STRICT) as post:
        gate = asyncio.Event()
        post.wire.gates.append((words("на пути"), gate))
        await post.put(text_row("на пути"), *(text_row(f"{number}", GROUP) for number in range(6)))
        await until(lambda: bool(post.texts()) and len(post.texts(-100123)) == 4)
        await until(lambda: [row[0] for row in post.rows()].count("sent") == 4)
        post.task.cancel()
        await asyncio.sleep(0.05)
        assert not post.task.done()
        gate.set()
        await asyncio.wait({post.task}, timeout=30)
        assert post.task.cancelled()
        assert [row[0] for row in post.rows()] == ["sent"] * 5 + ["new"] * 2
    assert len(post.texts(-100123)) == 4


async def test_hundreds_of_chats_are_served_side_by_side(post: Post) -> None:
    """More than one look of the store shows at a time, and more than are served at once; nobody is forgotten."""
    await post.put(*(text_row("привет", f"tg:{5000 + number}") for number in range(300)))
    await until(lambda: len(post.wire.calls("sendMessage")) == 300)
    await post.until_states(*["sent"] * 300)
