"""New ids and closed chats of a bot, and who may see an outbox row.

A chat that blocked the bot gets nothing until somebody writes there: Telegram limits bots that go on trying.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from aiogram.types import CallbackQuery, ChatMemberRestricted, ChatMemberUpdated, MaybeInaccessibleMessageUnion, Message, Update

from bot.access.access import Access
from bot.telegram.outgoing.delivery_state import parse_chat
from orchestrator.domain.card_view import CardView
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.leads.approvers import LeadApprovers
from orchestrator.features.people.screens import KIND
from state.canonical import dumps, loads
from state.journal.async_store import AsyncStore
from state.journal.store import OutboxRow
from state.stored import JsonObject

log = logging.getLogger(__name__)

_OUTSIDE = frozenset({"kicked", "left"})


class Chats:
    """Call `load` first.

    Changes read the stored state anew: with a webhook several processes receive updates. Async methods may raise StoreError.
    """

    def __init__(self, store: AsyncStore, bot_id: int) -> None:
        self._store = store
        self._key = f"telegram:{bot_id}:chats"
        self._moved: dict[int, int] = {}
        self._closed: dict[int, str] = {}
        self._last: dict[int, int] = {}
        self._loaded = ""
        self._changing = asyncio.Lock()

    async def load(self) -> None:
        """Read what this or another process stored."""
        async with self._changing:
            await self._load()

    async def _load(self) -> None:
        text = await self._store.get_value(self._key) or "{}"
        if text == self._loaded:
            return
        stored: JsonObject = loads(text)
        self._moved = {int(old): int(new) for old, new in stored.get("moved", {}).items()}
        self._closed = {int(chat): str(why) for chat, why in stored.get("closed", {}).items()}
        self._loaded = text

    def find_current_id(self, chat: int) -> int:
        """A group that becomes a supergroup gets a new id."""
        return self._moved.get(chat, chat)

    def find_origin_id(self, chat: int) -> int:
        """The first id of the chat, which its session key contains."""
        return next((old for old, new in self._moved.items() if new == chat), chat)

    def find_closed_reason(self, chat: int) -> str:
        """ "" if the chat is open."""
        return self._closed.get(self.find_current_id(chat), "")

    def record_sent(self, chat: int, message_id: int) -> None:
        """Kept in this process only."""
        self._last[self.find_origin_id(chat)] = message_id

    def find_last_message(self, chat: int) -> int:
        """0 if nothing was sent since this process started."""
        return self._last.get(self.find_origin_id(chat), 0)

    async def move(self, old: int, new: int) -> None:
        """The group `old` became a supergroup."""
        async with self._changing:
            await self._load()
            if old == new or self._moved.get(self.find_origin_id(old)) == new:
                return
            log.info("a group has a new number", extra={"action": "chat_moved", "chat": old, "now": new})
            self._moved[self.find_origin_id(old)] = new
            await self._save()

    async def close(self, chat: int, why: str) -> None:
        async with self._changing:
            await self._load()
            place = self.find_current_id(chat)
            if self._closed.get(place) == why:
                return
            log.info("a chat is closed to the bot: %s", why, extra={"action": "chat_closed", "chat": place})
            self._closed[place] = why
            await self._save()

    async def open(self, chat: int) -> None:
        async with self._changing:
            await self._load()
            place = self.find_current_id(chat)
            if self._closed.pop(place, None) is not None:
                log.info("a chat is open to the bot again", extra={"action": "chat_opened", "chat": place})
                await self._save()

    async def observe_update(self, update: Update) -> None:
        """A new id, or that the chat is open or closed to the bot."""
        message = update.message
        if message is not None and message.migrate_to_chat_id is not None:
            await self.move(message.chat.id, message.migrate_to_chat_id)
        elif message is not None and message.migrate_from_chat_id is not None:
            await self.move(message.migrate_from_chat_id, message.chat.id)
        match update.message or update.callback_query or update.my_chat_member:
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
        """Give the update the chat's first id, so that it keeps session and cards."""
        message = update.message or update.edited_message
        if message is not None and self.find_origin_id(message.chat.id) != message.chat.id:
            name = "message" if update.message is not None else "edited_message"
            return update.model_copy(update={name: self._replace_chat(message)})
        query = update.callback_query
        if query is not None and query.message is not None and self.find_origin_id(query.message.chat.id) != query.message.chat.id:
            return update.model_copy(update={"callback_query": query.model_copy(update={"message": self._replace_chat(query.message)})})
        return update

    def _replace_chat(self, message: MaybeInaccessibleMessageUnion) -> MaybeInaccessibleMessageUnion:
        return message.model_copy(update={"chat": message.chat.model_copy(update={"id": self.find_origin_id(message.chat.id)})})

    async def _save(self) -> None:
        moved = {str(old): new for old, new in self._moved.items()}
        closed = {str(chat): why for chat, why in self._closed.items()}
        self._loaded = ""  # what is in memory is not yet what is stored
        await self._store.set_value(self._key, dumps({"moved": moved, "closed": closed}))


def _is_out(change: ChatMemberUpdated) -> bool:
    """A restricted bot may still be a member."""
    member = change.new_chat_member
    return member.status in _OUTSIDE or (isinstance(member, ChatMemberRestricted) and not member.is_member)


NO_ACCESS: Final = "not shown: the person has no access any more"
NO_LEAD: Final = "not shown: the person decides about cards of others no more"
_DECIDING_ROLES: Final = frozenset({"lead", "admin"})
_FOR_STRANGERS: Final = ("people-link-", "people-lost-")
"""Notices without data of the company."""
_REPLIES_FOR_STRANGERS: Final = frozenset({"no-access-any-more", "stranger", "stranger-seen", "restored-not-worked"})
"""Notices without data of the company."""


def build_admission_check(access: Access) -> Callable[[int], bool]:
    """Groups, and private chats of people with access, may see company data."""
    return lambda chat: chat < 0 or access.find_actor(chat) is not None


def is_for_anyone(row: OutboxRow, card: CardView | None) -> bool:
    """Whether the row has no company data, or ends a card shown before."""
    if row.kind == KIND:
        return str(row.body.get("code", "")).startswith(_FOR_STRANGERS)
    if row.kind == "reply":
        return _is_reply_for_strangers(row.body)
    return card is not None and card.card.why == "no-access" and bool(row.sent_ref)


def _is_reply_for_strangers(body: Mapping[str, Any]) -> bool:
    notices = [Notice.model_validate(notice) for notice in body.get("notices") or ()]
    return [notice.code in _REPLIES_FOR_STRANGERS for notice in notices] == [True] and body == build_reply(*notices).model_dump(mode="json")


def find_withholding_reason(row: OutboxRow, card: CardView | None, access: Access, now: datetime) -> str:
    """ "" if the reader may see the row by the rights of now.

    Clicks pass: `Poster` replaces their answer.
    """
    chat = parse_chat(row.session)[0]
    if chat < 0 or row.kind == "toast" or is_for_anyone(row, card):
        return ""
    actor = access.find_actor(chat)
    if actor is None:
        return NO_ACCESS
    if card is None or not card.is_copy:
        return ""
    # it closes a card that was shown there when the person had the right
    ends = not card.card.is_waiting and bool(row.sent_ref)
    return NO_LEAD if not ends and LeadApprovers(access, lambda: now).apply_delegation(actor).role not in _DECIDING_ROLES else ""
