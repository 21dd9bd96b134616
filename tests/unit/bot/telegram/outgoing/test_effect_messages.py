"""Messages of effects: sent at most once and as they were approved, with an outcome for everything that Telegram may answer."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from aiogram import Bot
from aiogram.exceptions import TelegramNetworkError
from aiogram.methods import SendMessage
from aiohttp import ClientConnectorError, ServerDisconnectedError
from aiohttp.client_reqrep import ConnectionKey

from bot.telegram.outgoing.chats import Chats
from bot.telegram.outgoing.effect_messages import REMEMBERED, EffectMessages
from bot.telegram.outgoing.rate_limiter import RateLimiter
from orchestrator.domain.chat_messages import ChatFile, ChatRemoval, ChatText, MessageDoubtful, MessageRefused, MessageResult, MessageSent
from state.journal.async_store import AsyncStore
from state.journal.store import StoreUnwritable
from tests.fixed_clock import FixedClock
from tests.unit.bot.telegram.door_kit import NOW, TOKEN, Wire, refused
from tests.unit.bot.telegram.outgoing.delivery_kit import FAST
from tests.unit.spine_kit import memory_store

CHAT, GROUP = 1007, -100123
TEXT = ChatText(chat=CHAT, text="Счёт №5 оплачен")


@dataclass
class Post:
    """The sender of effects over a scripted wire."""

    wire: Wire
    store: AsyncStore
    chats: Chats
    messages: EffectMessages
    pacer: RateLimiter
    seconds: list[float] = field(default_factory=lambda: [1000.0])

    async def deliver(self, message: ChatText | ChatFile | ChatRemoval, *, may: bool = True) -> MessageResult:
        return await self.messages.deliver(message, lambda: may)

    def calls(self) -> list[str]:
        return [name for name, _ in self.wire.sent]


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    wire, seconds = Wire(), [1000.0]
    bot, store = Bot(TOKEN, session=wire), AsyncStore(memory_store())
    chats, pacer = Chats(store, bot.id), RateLimiter(FAST, seconds=lambda: seconds[0])
    yield Post(wire, store, chats, EffectMessages(bot, store, chats, pacer, FixedClock(NOW)), pacer, seconds)
    await store.aclose()


def code_of(result: MessageResult) -> str:
    assert isinstance(result, MessageRefused), result
    return result.code


@pytest.mark.req("S000-51", "S000-X16")
async def test_a_text_goes_once_without_formatting_and_preview_and_its_number_comes_back(post: Post) -> None:
    text = ChatText(chat=CHAT, text="<b>*x*</b> https://shop.ru", buttons=((("Сайт", "https://shop.ru/1"),),))
    assert await post.deliver(text) == MessageSent(message_id=501)
    [(name, body)] = post.wire.sent
    assert (name, body["text"]) == ("sendMessage", "<b>*x*</b> https://shop.ru")
    assert "parse_mode" not in body
    assert body["link_preview_options"] == {"is_disabled": True}
    assert body["reply_markup"] == {"inline_keyboard": [[{"text": "Сайт", "url": "https://shop.ru/1"}]]}


@pytest.mark.req("S000-60")
@pytest.mark.parametrize(("kind", "name"), [("photo", "sendPhoto"), ("document", "sendDocument")])
async def test_a_file_goes_with_its_name_and_the_text_under_it(post: Post, kind: Any, name: str) -> None:
    message = ChatFile(chat=GROUP, kind=kind, name="график.png", content=b"png", caption="Июль")
    assert await post.deliver(message) == MessageSent(message_id=501)
    [(called, body)] = post.wire.sent
    assert (called, body["caption"], body[kind].filename, body[kind].data) == (name, "Июль", "график.png", b"png")


async def test_only_messages_of_effects_are_edited_and_deleted(post: Post) -> None:
    """Otherwise an effect could change what a card says while a person reads it."""
    assert code_of(await post.deliver(ChatText(chat=CHAT, text="x", message_id=400))) == "telegram-not-own"
    assert code_of(await post.deliver(ChatRemoval(chat=CHAT, message_id=400))) == "telegram-not-own"
    assert post.wire.sent == []
    assert await post.deliver(TEXT) == MessageSent(message_id=501)
    assert code_of(await post.deliver(ChatText(chat=GROUP, text="x", message_id=501))) == "telegram-not-own"
    assert await post.deliver(ChatText(chat=CHAT, text="x", message_id=501)) == MessageSent(message_id=501)
    assert await post.deliver(ChatRemoval(chat=CHAT, message_id=501)) == MessageSent(message_id=501)
    assert post.calls() == ["sendMessage", "editMessageText", "deleteMessage"]


async def test_the_latest_messages_stay_editable(post: Post) -> None:
    for _ in range(REMEMBERED + 1):
        await post.deliver(TEXT)
    assert code_of(await post.deliver(ChatRemoval(chat=CHAT, message_id=501))) == "telegram-not-own"
    assert isinstance(await post.deliver(ChatRemoval(chat=CHAT, message_id=502)), MessageSent)


async def test_a_message_that_shows_the_text_already_is_done(post: Post) -> None:
    await post.deliver(TEXT)
    post.wire.will(refused(400, "Bad Request: message is not modified: specified new message content is the same"))
    assert await post.deliver(ChatText(chat=CHAT, text="x", message_id=501)) == MessageSent(message_id=501, is_unchanged=True)


@pytest.mark.parametrize(
    ("status", "text", "code"),
    [
        (403, "Forbidden: bot was blocked by the user", "telegram-blocked"),
        (403, "Forbidden: bot can't initiate conversation with a user", "telegram-blocked"),
        (400, "Bad Request: chat not found", "telegram-no-chat"),
        (400, "Bad Request: PEER_ID_INVALID", "telegram-no-chat"),
        (400, "Bad Request: BUTTON_URL_INVALID", "telegram-refused"),
        (400, "Bad Request: can't parse entities", "telegram-refused"),
        (400, "Bad Request: IMAGE_PROCESS_FAILED", "telegram-bad-picture"),
        (401, "Unauthorized", "telegram-no-access"),
        (404, "Not Found", "telegram-no-access"),
        (413, "Request Entity Too Large", "telegram-file-large"),
    ],
)
async def test_a_refusal_is_named_and_the_message_is_not_sent_in_another_form(post: Post, status: int, text: str, code: str) -> None:
    """What was approved goes as a whole or not at all: nothing is stripped and sent again."""
    post.wire.will(refused(status, text))
    assert code_of(await post.deliver(ChatText(chat=CHAT, text="x", buttons=((("a", "https://b.ru"),),)))) == code
    assert post.calls() == ["sendMessage"]


async def test_a_blocked_chat_is_not_called_again(post: Post) -> None:
    post.wire.will(refused(403, "Forbidden: bot was blocked by the user"))
    assert code_of(await post.deliver(TEXT)) == code_of(await post.deliver(TEXT)) == "telegram-blocked"
    assert post.calls() == ["sendMessage"]


async def test_a_message_whose_place_is_gone_is_named(post: Post) -> None:
    await post.deliver(TEXT)
    post.wire.will(refused(400, "Bad Request: message to edit not found"))
    assert code_of(await post.deliver(ChatText(chat=CHAT, text="x", message_id=501))) == "telegram-message-gone"


async def test_a_long_wait_is_told_and_nothing_is_sent_until_it_is_over(post: Post) -> None:
    post.wire.will(refused(429, "Too Many Requests: retry after 40", retry_after=40))
    first, second = await post.deliver(TEXT), await post.deliver(TEXT)
    assert code_of(first) == code_of(second) == "telegram-wait"
    assert isinstance(first, MessageRefused)
    assert first.free_at == NOW + timedelta(seconds=40)
    assert post.calls() == ["sendMessage"]


async def test_after_a_short_wait_the_message_goes(post: Post) -> None:
    post.wire.will(refused(429, "Too Many Requests: retry after 1", retry_after=1))
    post.seconds.append(0)

    def pass_time() -> float:
        post.seconds[0] += 0.6
        return post.seconds[0]

    post.pacer._seconds = pass_time
    assert await post.deliver(TEXT) == MessageSent(message_id=501)
    assert post.calls() == ["sendMessage", "sendMessage"]


def broken(cause: Exception) -> TelegramNetworkError:
    error = TelegramNetworkError(method=SendMessage(chat_id=1, text="x"), message="broken")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "trouble",
    [broken(ServerDisconnectedError()), broken(TimeoutError()), refused(500, "Internal Server Error"), refused(502, "Bad Gateway")],
)
async def test_a_lost_answer_leaves_the_outcome_open_and_nothing_is_repeated(post: Post, trouble: Any) -> None:
    post.wire.will(trouble)
    assert isinstance(await post.deliver(TEXT), MessageDoubtful)
    assert post.calls() == ["sendMessage"]


async def test_without_a_connection_nothing_was_sent(post: Post) -> None:
    key = ConnectionKey("api.telegram.org", 443, True, True, None, None, None)
    post.wire.will(broken(ClientConnectorError(key, OSError("unreachable"))))
    result = await post.deliver(TEXT)
    assert code_of(result) == "telegram-not-reached"
    assert isinstance(result, MessageRefused)
    assert not result.sent


async def test_a_chat_that_is_no_longer_known_gets_nothing(post: Post) -> None:
    assert code_of(await post.deliver(TEXT, may=False)) == "telegram-no-chat"
    assert post.wire.sent == []


async def test_a_program_that_stops_sends_nothing(post: Post) -> None:
    post.pacer.stop()
    assert code_of(await post.deliver(TEXT)) == "telegram-stopped"
    assert post.wire.sent == []


async def test_a_group_that_has_moved_gets_the_message_once(post: Post) -> None:
    moved = refused(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=-100999)
    post.wire.will(moved)
    assert isinstance(await post.deliver(ChatText(chat=-77, text="x")), MessageSent)
    assert [body["chat_id"] for body in post.wire.calls("sendMessage")] == [-77, -100999]


async def test_a_message_counts_as_sent_when_its_number_cannot_be_kept(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise StoreUnwritable("full")

    monkeypatch.setattr(post.store, "set_value", fail)
    assert await post.deliver(TEXT) == MessageSent(message_id=501)


async def test_the_name_of_a_chat_is_asked_of_telegram(post: Post) -> None:
    about = {"id": GROUP, "type": "supergroup", "title": "Отдел продаж", "accent_color_id": 0, "max_reaction_count": 1}
    post.wire.will({"ok": True, "result": about | {"accepted_gift_types": dict.fromkeys(GIFTS, False)}})
    assert await post.messages.find_title(GROUP) == "Отдел продаж"
    post.wire.will(refused(400, "Bad Request: chat not found"))
    assert await post.messages.find_title(GROUP) == ""


GIFTS = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")
