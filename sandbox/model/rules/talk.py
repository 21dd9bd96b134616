"""Rules for small talk and help: text only, never a step."""

from functools import partial

from sandbox.model.answers import Answer
from sandbox.model.rules.base import Handler, asking
from sandbox.model.wishes import Wish

_KEYS = ("talk.yes", "talk.no", "talk.thanks", "talk.hello", "talk.who", "talk.help")


def _talk(key: str, wish: Wish) -> Answer:
    return asking(key, wish)


def unknown(wish: Wish) -> Answer:
    """Say that the message was not understood, and what the model can do."""
    return asking("talk.unknown", wish)


HANDLERS: dict[str, Handler] = {key: partial(_talk, key) for key in _KEYS}
