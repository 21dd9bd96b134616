"""What became of chats: where a group moved to, which ones are closed to the bot. Kept durably, for the whole bot. Ring 3.

A chat that blocked the bot is not written to until somebody writes there: to go on asking is what gets a bot limited.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

from aiogram.types import CallbackQuery, ChatMemberRestricted, ChatMemberUpdated, Message, Update

from state.canonical import dumps, loads
from state.worker import AsyncStore

log = logging.getLogger(__name__)

_OUTSIDE = frozenset({"kicked", "left"})


class Chats:
    """Known from `load` on; each change is stored before it returns. Raises StoreError where the store cannot be read or written.

    By webhook every process may take updates while one delivers, so each change begins with what is stored now.
    """

    def __init__(self, store: AsyncStore, bot_id: int) -> None:
        """Nothing is known yet."""
        self._store = store
        self._key = f"telegram:{bot_id}:chats"
        self._moved: dict[int, int] = {}
        self._closed: dict[int, str] = {}
        self._last: dict[int, int] = {}
        self._changing = asyncio.Lock()

    async def load(self) -> None:
        """Read what this or another process stored."""
        async with self._changing:
            await self._load()

    async def _load(self) -> None:
        stored: dict[str, Any] = loads(await self._store.get_value(self._key) or "{}")
        self._moved = {int(old): int(new) for old, new in stored.get("moved", {}).items()}
        self._closed = {int(chat): str(why) for chat, why in stored.get("closed", {}).items()}

    def find_current_id(self, chat: int) -> int:
        """Where a chat is now."""
        return self._moved.get(chat, chat)

    def find_origin_id(self, chat: int) -> int:
        """The number under which a chat was first known: its conversation goes on under it."""
        return next((old for old, new in self._moved.items() if new == chat), chat)

    def find_closed_reason(self, chat: int) -> str:
        """Why the bot does not write there, "" where it does."""
        return self._closed.get(self.find_current_id(chat), "")

    def record_sent(self, chat: int, message_id: int) -> None:
        """A message of the bot's has appeared there."""
        self._last[self.find_origin_id(chat)] = message_id

    def find_last_message(self, chat: int) -> int:
        """The bot's last message in that chat since this process began, 0 where there was none."""
        return self._last.get(self.find_origin_id(chat), 0)

    async def move(self, old: int, new: int) -> None:
        """A group became a supergroup and has another number."""
        async with self._begin_change():
            if old == new or self._moved.get(self.find_origin_id(old)) == new:
                return
            log.info("a group has a new number", extra={"action": "chat_moved", "chat": old, "now": new})
            self._moved[self.find_origin_id(old)] = new
            await self._save()

    async def close(self, chat: int, why: str) -> None:
        """The bot is kept out; noted once."""
        async with self._begin_change():
            place = self.find_current_id(chat)
            if self._closed.get(place) == why:
                return
            log.info("a chat is closed to the bot: %s", why, extra={"action": "chat_closed", "chat": place})
            self._closed[place] = why
            await self._save()

    async def open(self, chat: int) -> None:
        """Somebody wrote there, or let the bot in again."""
        async with self._begin_change():
            place = self.find_current_id(chat)
            if self._closed.pop(place, None) is not None:
                log.info("a chat is open to the bot again", extra={"action": "chat_opened", "chat": place})
                await self._save()

    async def observe_update(self, update: Update) -> None:
        """What an update tells of its chat."""
        message = update.message
        if message is not None and message.migrate_to_chat_id is not None:
            await self.move(message.chat.id, message.migrate_to_chat_id)
        elif message is not None and message.migrate_from_chat_id is not None:
            await self.move(message.migrate_from_chat_id, message.chat.id)
        match _find_subject(update):
            case ChatMemberUpdated() as change if _is_out(change):
                await self.close(change.chat.id, change.new_chat_member.status)
            case ChatMemberUpdated() as change:
                await self.open(change.chat.id)
            case Message() as said:
                await self.open(said.chat.id)
            case CallbackQuery(message=under) if under is not None:
                await self.open(under.chat.id)
            case _:
                return

    def restore_origin_chat(self, update: Update) -> Update:
        """The update with the number that its chat was first known by, so that the conversation and its cards stay one."""
        message = update.message or update.edited_message
        if message is not None and self.find_origin_id(message.chat.id) != message.chat.id:
            name = "message" if update.message is not None else "edited_message"
            return update.model_copy(update={name: self._replace_chat(message)})
        query = update.callback_query
        if query is not None and query.message is not None and self.find_origin_id(query.message.chat.id) != query.message.chat.id:
            return update.model_copy(update={"callback_query": query.model_copy(update={"message": self._replace_chat(query.message)})})
        return update

    @contextlib.asynccontextmanager
    async def _begin_change(self) -> AsyncIterator[None]:
        """One change at a time, each of what is stored: another process may have written there since."""
        async with self._changing:
            await self._load()
            yield

    def _replace_chat(self, message: Any) -> Any:
        return message.model_copy(update={"chat": message.chat.model_copy(update={"id": self.find_origin_id(message.chat.id)})})

    async def _save(self) -> None:
        moved = {str(old): new for old, new in self._moved.items()}
        closed = {str(chat): why for chat, why in self._closed.items()}
        await self._store.set_value(self._key, dumps({"moved": moved, "closed": closed}))


def _is_out(change: ChatMemberUpdated) -> bool:
    """Kept out; who is restricted may be inside or not."""
    member = change.new_chat_member
    return member.status in _OUTSIDE or (isinstance(member, ChatMemberRestricted) and not member.is_member)


def _find_subject(update: Update) -> Message | CallbackQuery | ChatMemberUpdated | None:
    return update.message or update.callback_query or update.my_chat_member
