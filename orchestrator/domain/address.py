"""The address of a conversation: a session key such as "tg:-100200300:5", split into channel, chat and thread."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

PULL_CHANNELS: Final = frozenset({"http"})
"""Channels to which nothing is delivered: their clients fetch the messages themselves."""
CHAT_CHANNELS: Final = frozenset({"tg"})
"""Messenger channels: people press buttons there, and several people may read one chat."""
TALK_CHANNELS: Final = frozenset({"tg", "http", "cli"})
"""Channels in which people talk; other sessions are internal to the program, and no caller may read them."""
RUN_CHANNEL: Final = "run"
"""The first part of the session keys of runs (executions of scenarios, flows and workflows): "run:<id>"."""
CARD_CHANNELS: Final = TALK_CHANNELS | {RUN_CHANNEL}
"""Channels whose sessions hold cards that people decide about: conversations, and runs, whose cards are shown in a conversation."""
CHANNEL_WORDS: Final[Mapping[str, str]] = {
    "tg": "in Telegram",
    "http": "through the API",
    "cli": "in the terminal",
    "console": "in the console",
}
"""How each channel, and the console of the browser, is named in the sentences of reports."""
REHEARSAL_PERSON: Final = "tg:1"
"""The key of whoever has the dialogue of a rehearsal, in which nothing is sent, and of their chat."""
KEY_EXAMPLES: Final = 'a key such as "employee:7", "tg:1007" or "http:site"'
_CHAT: Final = re.compile(r"-?[0-9]{1,20}(?::[0-9]{1,12})?", re.ASCII)
_RUN: Final = re.compile(rf"{RUN_CHANNEL}:[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}", re.ASCII)
_RUN_SIGN: Final = "r"
"""The first character of the short form of a run's key."""


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a session key: the channel ("tg"), the chat and the thread; `thread` is "" outside a topic of a group."""

    channel: str
    chat: str
    thread: str = ""

    @staticmethod
    @lru_cache(maxsize=4096)  # a key is asked for two dozen times a turn, and its parts never change
    def parse(session: str) -> "Address":
        """Return the address of a session key such as "tg:1007", "tg:-100200300:5" or "http:site:42"."""
        channel, _, rest = session.partition(":")
        chat, _, thread = rest.partition(":")
        return Address(channel, chat, thread)

    @property
    def is_messenger(self) -> bool:
        """Whether the channel is a messenger, where people press buttons."""
        return self.channel in CHAT_CHANNELS

    @property
    def is_group(self) -> bool:
        """Whether the chat is a messenger group, which several people read."""
        return self.is_messenger and self.chat.startswith("-")

    @property
    def is_pulled(self) -> bool:
        """Whether the client of this channel fetches its messages itself, as over HTTP; the program then delivers none."""
        return self.channel in PULL_CHANNELS

    def format(self) -> str:
        """Return the session key that has these parts; the inverse of `parse`."""
        return ":".join(part for part in (self.channel, self.chat, self.thread) if part)


OWN_SESSION: Final = "runs"
"""The conversation of a token in which its runs and schedules are shown if nobody names another."""


def find_own_chat(person: str) -> str:
    """Return the session in which what the program does for a person is shown: their private chat, or a session of a token."""
    return f"{person}:{OWN_SESSION}" if Address.parse(person).is_pulled else person


def is_chat(session: str) -> bool:
    """Return whether a session key names a chat of a messenger; a chat with a topic (thread) counts too."""
    channel, _, place = session.partition(":")
    return channel in CHAT_CHANNELS and _CHAT.fullmatch(place) is not None


def is_run(session: str) -> bool:
    """Return whether a session key is that of a run (an execution of a scenario, flow or workflow)."""
    return _RUN.fullmatch(session) is not None


def is_card_session(session: str) -> bool:
    """Return whether a session key names a chat of a messenger or a run: the sessions whose cards are decided with buttons."""
    return is_chat(session) or is_run(session)


def format_place(session: str) -> str:
    """Return the short form of the key of a chat or run, in which the data of a button names it; `build_sibling_key` is the inverse.

    A chat is named without the messenger, and with a dot in place of the colon ("-100200300.5"); a run by "r" and its id.
    """
    channel, _, rest = session.partition(":")
    return f"{_RUN_SIGN}{rest}" if channel == RUN_CHANNEL else rest.replace(":", ".")


def build_sibling_key(session: str, place: str) -> str:
    """Return the key of the chat or run with the short form `place`; a chat is in the same messenger as `session` ("1007" → "tg:1007")."""
    if place.startswith(_RUN_SIGN):
        return f"{RUN_CHANNEL}:{place.removeprefix(_RUN_SIGN)}"
    return f"{Address.parse(session).channel}:{place.replace('.', ':')}"


def list_possible_keys(text: str) -> list[str]:
    """Return the session keys that `text` may stand for: `text` itself, and `text` as the number of a chat in each messenger."""
    return [text, *(f"{channel}:{text}" for channel in sorted(CHAT_CHANNELS))]


def parse_target(text: str) -> tuple[str, int]:
    """Split a record's key into its kind and its number: "item:177:5" → ("item:177", 5)."""
    kind, _, number = text.rpartition(":")
    return kind, int(number)
