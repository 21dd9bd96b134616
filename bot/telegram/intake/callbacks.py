"""Packs clicks into callback data (64 bytes at most), which is user input when it comes back.

aiogram's `CallbackData` is slower and reads data that no button carries.
"""

import re
from dataclasses import dataclass

from orchestrator.domain.address import build_sibling_key, format_place

_ID = "[0-9A-Za-z-]{1,36}"
_WORD = "[0-9A-Za-z_.=-]{1,40}"
_HOME = r"(?:-?[0-9]{1,16}(?:\.[0-9]{1,10})?|r[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
"""A chat or run in short form."""
_CALLBACK_DATA = re.compile(
    rf"c1:{_ID}:[0-9A-Za-z]{{1,20}}:[yn]|c2:[0-9a-f]{{10}}:[0-9a-f]{{8}}:[yn]:{_HOME}"
    rf"|n1:{_ID}:[0-9]{{1,3}}|e1:example-[a-z]{{1,40}}|[ud]1:{_ID}|s1|a1(?::{_WORD})+"
)
"""Only what `pack` produces: data that passes is stored."""
_LONGEST = 64


@dataclass(frozen=True, kw_only=True)
class CardClick:
    """`home` is the card's session if it is shown elsewhere (to a lead, outside its topic, of a run), else ""."""

    confirmation_id: str
    nonce: str
    approve: bool
    home: str = ""


@dataclass(frozen=True, kw_only=True)
class ChoiceClick:
    """The number of an option under a question."""

    question_id: str
    option: int


@dataclass(frozen=True, kw_only=True)
class ExampleClick:
    """An example request, processed as if typed; `code` translates it."""

    code: str


@dataclass(frozen=True, kw_only=True)
class CheckClick:
    """Checks an unknown outcome in the portal."""

    confirmation_id: str


@dataclass(frozen=True, kw_only=True)
class DetailsClick:
    confirmation_id: str


@dataclass(frozen=True, kw_only=True)
class StopClick:
    """Does the same as the command /stop."""


@dataclass(frozen=True, kw_only=True)
class ActionClick:
    """`words[0]` names the feature's handler, the others are arguments."""

    words: tuple[str, ...]


ButtonClick = CardClick | ChoiceClick | ExampleClick | CheckClick | DetailsClick | StopClick | ActionClick


def pack(press: ButtonClick) -> str:
    """Raises ValueError for data that `unpack` could not read."""
    data = _format_click(press)
    if len(data) > _LONGEST or not _CALLBACK_DATA.fullmatch(data):
        msg = f"no button can carry {data!r}"
        raise ValueError(msg)
    return data


def _format_click(press: ButtonClick) -> str:
    match press:
        case CardClick(home=""):
            return f"c1:{press.confirmation_id}:{press.nonce}:{'y' if press.approve else 'n'}"
        case CardClick():
            return f"c2:{press.confirmation_id}:{press.nonce}:{'y' if press.approve else 'n'}:{format_place(press.home)}"
        case ChoiceClick():
            return f"n1:{press.question_id}:{press.option}"
        case ExampleClick():
            return f"e1:{press.code}"
        case CheckClick():
            return f"u1:{press.confirmation_id}"
        case DetailsClick():
            return f"d1:{press.confirmation_id}"
        case StopClick():
            return "s1"
        case ActionClick():
            return ":".join(("a1", *press.words))


def unpack(data: str) -> ButtonClick | None:
    if len(data) > _LONGEST or not _CALLBACK_DATA.fullmatch(data):
        return None
    match data.split(":"):
        case ["c1", confirmation_id, nonce, ("y" | "n") as verdict]:
            return CardClick(confirmation_id=confirmation_id, nonce=nonce, approve=verdict == "y")
        case ["c2", confirmation_id, nonce, ("y" | "n") as verdict, home]:
            return CardClick(confirmation_id=confirmation_id, nonce=nonce, approve=verdict == "y", home=build_sibling_key("tg:", home))
        case ["n1", question_id, option]:
            return ChoiceClick(question_id=question_id, option=int(option))
        case ["e1", code]:
            return ExampleClick(code=code)
        case ["u1", confirmation_id]:
            return CheckClick(confirmation_id=confirmation_id)
        case ["d1", confirmation_id]:
            return DetailsClick(confirmation_id=confirmation_id)
        case ["s1"]:
            return StopClick()
        case ["a1", *action]:
            return ActionClick(words=tuple(action))
        case _:
            return None
