"""Where a conversation takes place: the session key "tg:-100200300:5" as channel, chat and thread."""

from dataclasses import dataclass
from typing import Final

PULL_CHANNELS: Final = frozenset({"http"})
"""Channels to which nothing is delivered: their readers ask for what they are told."""
CHAT_CHANNELS: Final = frozenset({"tg"})
"""Channels of a messenger: people press buttons there, and several may read one chat."""


@dataclass(frozen=True, slots=True)
class Address:
    """One conversation; `thread` is "" outside a topic."""

    channel: str
    chat: str
    thread: str = ""

    @classmethod
    def parse(cls, session: str) -> "Address":
        """The address that a session key names: "tg:1007", "tg:-100200300:5", "http:site:42"."""
        channel, _, rest = session.partition(":")
        chat, _, thread = rest.partition(":")
        return cls(channel, chat, thread)

    @property
    def is_messenger(self) -> bool:
        """Whether people press buttons there."""
        return self.channel in CHAT_CHANNELS

    @property
    def is_group(self) -> bool:
        """Whether several people read there."""
        return self.is_messenger and self.chat.startswith("-")

    @property
    def is_pulled(self) -> bool:
        """Whether its reader asks for what it is told, so that nothing is delivered to it."""
        return self.channel in PULL_CHANNELS

    def format(self) -> str:
        """The session key."""
        return ":".join(part for part in (self.channel, self.chat, self.thread) if part)


def parse_target(text: str) -> tuple[str, int]:
    """The kind and the number of a record: "item:177:5" → ("item:177", 5)."""
    kind, _, number = text.rpartition(":")
    return kind, int(number)
