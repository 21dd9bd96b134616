"""Small talk and help: words only, never a step."""

from functools import partial

from sandbox.model.answers import Answer
from sandbox.model.rules.base import Handler, asking
from sandbox.model.wishes import Wish

_KEYS = ("talk.yes", "talk.no", "talk.thanks", "talk.hello", "talk.who", "talk.help")


def _talk(key: str, wish: Wish) -> Answer:
    return asking(key, wish)


def unknown(wish: Wish) -> Answer:
    """The honest end: it did not understand, and shows what it does."""
    return asking("talk.unknown", wish)


HANDLERS: dict[str, Handler] = {key: partial(_talk, key) for key in _KEYS}
