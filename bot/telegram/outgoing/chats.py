"""What became of chats: where a group moved to, which ones are closed to the bot. Kept durably, for the whole bot. Ring 3.

A chat that blocked the bot is not written to until somebody writes there: to go on asking is what gets a bot limited.

To whom a stored message may still be shown: asked when it is brought, not when it was made. Ring 3; sends and closes nothing.

A row of a group is the group's: it is read by everybody there, and no one person's access opens or shuts it.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any, Final

from aiogram.types import CallbackQuery, ChatMemberRestricted, ChatMemberUpdated, Message, Update

from bot.access.access import Access
from bot.telegram.outgoing.delivery_state import parse_chat
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.leads.approvers import LeadApprovers
from orchestrator.features.people.screens import KIND
from state.canonical import dumps, loads
from state.journal.async_store import AsyncStore
from state.journal.store import OutboxRow

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


NO_ACCESS: Final = "not shown: the person has no access any more"
NO_LEAD: Final = "not shown: the person decides about cards of others no more"
_DECIDING_ROLES: Final = frozenset({"lead", "admin"})
_FOR_STRANGERS: Final = ("people-link-", "people-lost-")
"""Sentences about a link that does not fit, and about access that is gone; nothing of the company is in them."""
_ACCESS_LOST: Final = build_reply(Notice(code="no-access-any-more")).model_dump(mode="json")
"""All that an input comes to whose sender has lost access before it was worked."""


def build_admission_check(access: Access) -> Callable[[int], bool]:
    """Whether a chat may be shown what is the company's: a group, or the private chat of somebody with access."""
    return lambda chat: chat < 0 or access.find_actor(chat) is not None


def is_for_anyone(row: OutboxRow) -> bool:
    """Whether it may be shown to somebody without access: it tells of that, or ends a card that stands in the chat already."""
    if row.kind == KIND:
        return str(row.body.get("code", "")).startswith(_FOR_STRANGERS)
    if row.kind == "reply":
        return row.body == _ACCESS_LOST
    return row.kind == "card" and row.body.get("why") == "no-access" and bool(row.sent_ref)


def find_withholding_reason(row: OutboxRow, access: Access, now: datetime) -> str:
    """Why this row is not to be shown by the rights of this moment, "" where it may be. A toast has other words then instead."""
    chat = parse_chat(row.session)[0]
    if chat < 0 or row.kind == "toast" or is_for_anyone(row):
        return ""
    actor = access.find_actor(chat)
    if actor is None:
        return NO_ACCESS
    of_another = row.kind == "card" and bool(row.body.get("home"))
    ends = row.body.get("status") != "requested" and bool(row.sent_ref)  # of what was seen there with the right to see it
    return (
        NO_LEAD
        if of_another and not ends and LeadApprovers(access, lambda: now).apply_delegation(actor).role not in _DECIDING_ROLES
        else ""
    )
