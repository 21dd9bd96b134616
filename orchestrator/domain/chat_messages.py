"""Messages that an effect sends to a chat, and what came of sending one. The messenger's door implements `ChatMessenger`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Rows = tuple[tuple[tuple[str, str], ...], ...]
"""Rows of buttons under a message, each button as (text, web address)."""


@dataclass(frozen=True, kw_only=True)
class ChatText:
    """A text to send, or with which to replace the text of the message `message_id`. It is shown as it is, without formatting."""

    chat: int
    text: str
    buttons: Rows = ()
    message_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class ChatFile:
    """A photo or document to send, with its name and a text under it."""

    chat: int
    kind: Literal["photo", "document"]
    name: str
    content: bytes
    caption: str = ""
    buttons: Rows = ()


@dataclass(frozen=True, kw_only=True)
class ChatRemoval:
    """A message of a chat that is to be deleted."""

    chat: int
    message_id: int


ChatMessage = ChatText | ChatFile | ChatRemoval


@dataclass(frozen=True, kw_only=True)
class MessageSent:
    """Telegram confirmed the message; `message_id` is its number in the chat."""

    message_id: int
    is_unchanged: bool = False
    """Whether the message showed that text already."""


@dataclass(frozen=True, kw_only=True)
class MessageRefused:
    """The message was certainly not sent. `code` is the code of the message to the person, `detail` is English."""

    code: str
    detail: str
    free_at: datetime | None = None
    """When Telegram takes messages for the chat again, if it asked for a wait."""
    sent: bool = True
    """Whether Telegram was asked at all."""


@dataclass(frozen=True, kw_only=True)
class MessageDoubtful:
    """Nobody knows whether the message was sent: the answer was lost."""

    detail: str


MessageResult = MessageSent | MessageRefused | MessageDoubtful


class ChatMessenger(Protocol):
    """Sends messages of effects to chats, each at most once."""

    async def deliver(self, message: ChatMessage, may_send: Callable[[], bool]) -> MessageResult:
        """Make the call once and return what came of it; `may_send` is asked right before. Raises no errors of Telegram.

        Only messages that were sent with this method are edited and deleted, so that no effect changes a card or an answer.
        """

    async def find_title(self, chat: int) -> str:
        """Return the name of a chat as Telegram shows it, "" if it cannot be had."""


class KnownPeople(Protocol):
    """Finds the people who use the bot."""

    def find_present_name(self, chat: int) -> str | None:
        """Return the name of the person with this private chat; None if they have no access now."""
