"""Stores what is known about the bot's chats (new ids of groups, chats closed to the bot), and decides who may see an outbox row.

A chat that blocked the bot gets no messages until somebody writes there, since Telegram limits bots that go on trying. Whether an outbox
row (stored message) may be shown is checked at delivery: in a private chat by the person's access. In a group everybody may see the rows of
the group.
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
    """Knows which chats of one bot have a new id, and which are closed to the bot. Call `load` before the other methods.

    A chat is closed if the bot was blocked, removed or otherwise refused there. Changes are stored in the database. Each change first reads
    the stored state anew, because with a webhook several processes receive updates. All async methods may raise StoreError.
    """

    def __init__(self, store: AsyncStore, bot_id: int) -> None:
        """Create an empty state for the chats of one bot; `load` reads the stored state."""
        self._store = store
        self._key = f"telegram:{bot_id}:chats"
        self._moved: dict[int, int] = {}
        self._closed: dict[int, str] = {}
        self._last: dict[int, int] = {}
        self._loaded = ""
        """The stored state as it was last read; while it is the same, there is nothing to parse."""
        self._changing = asyncio.Lock()

    async def load(self) -> None:
        """Read the state that this or another process has stored."""
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
        """Return the present id of a chat: a group gets a new id when Telegram makes it a supergroup."""
        return self._moved.get(chat, chat)

    def find_origin_id(self, chat: int) -> int:
        """Return the id that a chat had at first. Its session key always contains this id, even if the group has become a supergroup."""
        return next((old for old, new in self._moved.items() if new == chat), chat)

    def find_closed_reason(self, chat: int) -> str:
        """Return why the chat is closed to the bot, "" if it is open."""
        return self._closed.get(self.find_current_id(chat), "")

    def record_sent(self, chat: int, message_id: int) -> None:
        """Remember the id of the bot's latest message in the chat; it is kept in this process only, not stored."""
        self._last[self.find_origin_id(chat)] = message_id

    def find_last_message(self, chat: int) -> int:
        """Return the id of the bot's last message in the chat since this process started, 0 if there was none."""
        return self._last.get(self.find_origin_id(chat), 0)

    async def move(self, old: int, new: int) -> None:
        """Record that Telegram has made the group `old` a supergroup with the id `new`."""
        async with self._changing:
            await self._load()
            if old == new or self._moved.get(self.find_origin_id(old)) == new:
                return
            log.info("a group has a new number", extra={"action": "chat_moved", "chat": old, "now": new})
            self._moved[self.find_origin_id(old)] = new
            await self._save()

    async def close(self, chat: int, why: str) -> None:
        """Record that the chat is closed to the bot, with the reason `why`. Does nothing if this is recorded already."""
        async with self._changing:
            await self._load()
            place = self.find_current_id(chat)
            if self._closed.get(place) == why:
                return
            log.info("a chat is closed to the bot: %s", why, extra={"action": "chat_closed", "chat": place})
            self._closed[place] = why
            await self._save()

    async def open(self, chat: int) -> None:
        """Record that the chat is open to the bot. The caller knows this because somebody wrote there or admitted the bot again."""
        async with self._changing:
            await self._load()
            place = self.find_current_id(chat)
            if self._closed.pop(place, None) is not None:
                log.info("a chat is open to the bot again", extra={"action": "chat_opened", "chat": place})
                await self._save()

    async def observe_update(self, update: Update) -> None:
        """Record what `update` says about its chat: a new id, or that it is open or closed to the bot."""
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
        """Return `update` with the id that its chat had at first, in place of a new id that the chat has as a supergroup.

        The conversation therefore keeps its session and its cards.
        """
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
    """Return whether the bot is no longer a member of the chat after this change. A restricted bot may still be a member."""
    member = change.new_chat_member
    return member.status in _OUTSIDE or (isinstance(member, ChatMemberRestricted) and not member.is_member)


NO_ACCESS: Final = "not shown: the person has no access any more"
NO_LEAD: Final = "not shown: the person decides about cards of others no more"
_DECIDING_ROLES: Final = frozenset({"lead", "admin"})
_FOR_STRANGERS: Final = ("people-link-", "people-lost-")
"""Beginnings of the codes of notices about invalid links and lost access, which contain no data of the company."""
_REPLIES_FOR_STRANGERS: Final = frozenset({"no-access-any-more", "stranger", "stranger-seen", "restored-not-worked"})
"""Codes of notices without data of the company: what a person without access may be told in reply to a message."""


def build_admission_check(access: Access) -> Callable[[int], bool]:
    """Return a function that tells for a chat id whether the chat may see company data.

    Groups may, and so may private chats of people who have access.
    """
    return lambda chat: chat < 0 or access.find_actor(chat) is not None


def is_for_anyone(row: OutboxRow, card: CardView | None) -> bool:
    """Return whether even a person without access may see the outbox row (stored message); `card` is the card that it holds, if any.

    Such rows contain no company data: notices about invalid invitation links and lost access, and the final state of a card that was shown
    in the chat before.
    """
    if row.kind == KIND:
        return str(row.body.get("code", "")).startswith(_FOR_STRANGERS)
    if row.kind == "reply":
        return _is_reply_for_strangers(row.body)
    return card is not None and card.card.why == "no-access" and bool(row.sent_ref)


def _is_reply_for_strangers(body: Mapping[str, Any]) -> bool:
    """Return whether the reply consists of one notice that a person without access may read, and of nothing else."""
    notices = [Notice.model_validate(notice) for notice in body.get("notices") or ()]
    return [notice.code in _REPLIES_FOR_STRANGERS for notice in notices] == [True] and body == build_reply(*notices).model_dump(mode="json")


def find_withholding_reason(row: OutboxRow, card: CardView | None, access: Access, now: datetime) -> str:
    """Return why the outbox row (stored message) must not be shown to its reader; "" if it may be shown.

    `card` is the card that it holds, if any. The reader's present rights count, not those at the time when the row was stored. Returns ""
    for every answer to a click (toast), since `Poster`, which sends it, replaces its text if the reader has no access.
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
