"""Rules for small talk and help: text only, never a step."""

from collections.abc import Mapping
from functools import partial

from sandbox.model.answers import Answer
from sandbox.model.lexicon import load
from sandbox.model.rules.base import Handler, asking
from sandbox.model.wishes import Wish

_KEYS = ("talk.yes", "talk.no", "talk.thanks", "talk.hello", "talk.who", "talk.help", "talk.chosen")


def _talk(key: str, wish: Wish) -> Answer:
    return asking(key, wish, **find_examples(wish))


def find_examples(wish: Wish) -> Mapping[str, str]:
    """Return the words that are filled into the help texts, such as the title of a deal, by the name of their place.

    They are in the person's language, and chosen so that every example in the texts works for the person who asks.
    """
    known = load("examples")
    found: Mapping[str, str] = known.get(wish.request.my_id, known["default"])[wish.lang]
    return found


def unknown(wish: Wish) -> Answer:
    """Return an answer that says that the message was not understood, and what the model can do."""
    return asking("talk.unknown", wish, **find_examples(wish))


HANDLERS: dict[str, Handler] = {key: partial(_talk, key) for key in _KEYS}
