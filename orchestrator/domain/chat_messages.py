from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Rows = tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True, kw_only=True)
class ChatText:
    chat: int
    text: str
    buttons: Rows = ()
    message_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class ChatFile:
    chat: int
    kind: Literal["photo", "document"]
    name: str
    content: bytes
    caption: str = ""
    buttons: Rows = ()


@dataclass(frozen=True, kw_only=True)
class ChatRemoval:
    chat: int
    message_id: int


ChatMessage = ChatText | ChatFile | ChatRemoval


@dataclass(frozen=True, kw_only=True)
class MessageSent:
    """Telegram confirmed the message; `message_id` is its number in the chat."""

    message_id: int
    is_unchanged: bool = False


@dataclass(frozen=True, kw_only=True)
class MessageRefused:
    """Certainly not sent. `code` is for the person, `detail` is English."""

    code: str
    detail: str
    free_at: datetime | None = None
    """Telegram asked to wait until then."""
    sent: bool = True


@dataclass(frozen=True, kw_only=True)
class MessageDoubtful:
    detail: str


MessageResult = MessageSent | MessageRefused | MessageDoubtful


class ChatMessenger(Protocol):
    async def deliver(self, message: ChatMessage, may_send: Callable[[], bool]) -> MessageResult:
        """`may_send` is asked right before. Raises no errors of Telegram; only messages sent so are edited and deleted."""

    async def find_title(self, chat: int) -> str: ...


class KnownPeople(Protocol):
    def find_present_name(self, chat: int) -> str | None: ...
