import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

PULL_CHANNELS: Final = frozenset({"http"})
CHAT_CHANNELS: Final = frozenset({"tg"})
TALK_CHANNELS: Final = frozenset({"tg", "http", "cli"})
"""Other sessions are internal, and no caller may read them."""
RUN_CHANNEL: Final = "run"
CARD_CHANNELS: Final = TALK_CHANNELS | {RUN_CHANNEL}
CHANNEL_WORDS: Final[Mapping[str, str]] = {
    "tg": "in Telegram",
    "http": "through the API",
    "cli": "in the terminal",
    "console": "in the console",
}
REHEARSAL_PERSON: Final = "tg:1"
"""Whoever has the dialogue of a rehearsal, in which nothing is sent."""
KEY_EXAMPLES: Final = 'a key such as "employee:7", "tg:1007" or "http:site"'
_CHAT: Final = re.compile(r"-?[0-9]{1,20}(?::[0-9]{1,12})?", re.ASCII)
_RUN: Final = re.compile(rf"{RUN_CHANNEL}:[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}", re.ASCII)
_RUN_SIGN: Final = "r"


@dataclass(frozen=True, slots=True)
class Address:
    channel: str
    chat: str
    thread: str = ""

    @staticmethod
    @lru_cache(maxsize=4096)  # a key is asked for two dozen times a turn, and its parts never change
    def parse(session: str) -> "Address":
        channel, _, rest = session.partition(":")
        chat, _, thread = rest.partition(":")
        return Address(channel, chat, thread)

    @property
    def is_messenger(self) -> bool:
        return self.channel in CHAT_CHANNELS

    @property
    def is_group(self) -> bool:
        return self.is_messenger and self.chat.startswith("-")

    @property
    def is_pulled(self) -> bool:
        """The client fetches its messages itself; none are delivered."""
        return self.channel in PULL_CHANNELS

    def format(self) -> str:
        return ":".join(part for part in (self.channel, self.chat, self.thread) if part)


OWN_SESSION: Final = "runs"
"""Of a token: shows its runs and schedules if nobody names another."""


def find_own_chat(person: str) -> str:
    return f"{person}:{OWN_SESSION}" if Address.parse(person).is_pulled else person


def is_chat(session: str) -> bool:
    channel, _, place = session.partition(":")
    return channel in CHAT_CHANNELS and _CHAT.fullmatch(place) is not None


def is_run(session: str) -> bool:
    return _RUN.fullmatch(session) is not None


def is_card_session(session: str) -> bool:
    return is_chat(session) or is_run(session)


def format_place(session: str) -> str:
    """For the data of a button: "-100200300.5" for a chat, "r" and the id for a run. `build_sibling_key` is the inverse."""
    channel, _, rest = session.partition(":")
    return f"{_RUN_SIGN}{rest}" if channel == RUN_CHANNEL else rest.replace(":", ".")


def build_sibling_key(session: str, place: str) -> str:
    """The inverse of `format_place`, in the messenger of `session`."""
    if place.startswith(_RUN_SIGN):
        return f"{RUN_CHANNEL}:{place.removeprefix(_RUN_SIGN)}"
    return f"{Address.parse(session).channel}:{place.replace('.', ':')}"


def list_possible_keys(text: str) -> list[str]:
    return [text, *(f"{channel}:{text}" for channel in sorted(CHAT_CHANNELS))]


def parse_target(text: str) -> tuple[str, int]:
    """ "item:177:5" → ("item:177", 5)."""
    kind, _, number = text.rpartition(":")
    return kind, int(number)
