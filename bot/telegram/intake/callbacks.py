"""What the buttons carry: at most 64 bytes, short ids and nonces, never the payload. Data of a press is user input. Ring 3."""

import re
from dataclasses import dataclass

_ID = "[0-9A-Za-z-]{1,36}"
_WORD = "[0-9A-Za-z_.=-]{1,40}"
_HOME = r"-?[0-9]{1,16}(?:\.[0-9]{1,10})?"
_CALLBACK_DATA = re.compile(
    rf"c1:{_ID}:[0-9A-Za-z]{{1,20}}:[yn]|c2:[0-9a-f]{{10}}:[0-9a-f]{{8}}:[yn]:{_HOME}"
    rf"|n1:{_ID}:[0-9]{{1,3}}|e1:example-[a-z]{{1,40}}|[ud]1:{_ID}|s1|a1(?::{_WORD})+"
)
"""What `pack` can make, and nothing else: what goes on from here is stored."""
_LONGEST = 64


@dataclass(frozen=True, kw_only=True)
class CardClick:
    """A button of a card; `home` is the session where the card lives when it is shown elsewhere, in the chat of a lead."""

    confirmation_id: str
    nonce: str
    approve: bool
    home: str = ""


@dataclass(frozen=True, kw_only=True)
class ChoiceClick:
    """A button under a question: names one option."""

    question_id: str
    option: int


@dataclass(frozen=True, kw_only=True)
class ExampleClick:
    """A button that says something for the person."""

    code: str


@dataclass(frozen=True, kw_only=True)
class CheckClick:
    """Look again at an unknown outcome."""

    confirmation_id: str


@dataclass(frozen=True, kw_only=True)
class DetailsClick:
    """Show the exact call of a card."""

    confirmation_id: str


@dataclass(frozen=True, kw_only=True)
class StopClick:
    """End what is under way in this conversation, as /stop does."""


@dataclass(frozen=True, kw_only=True)
class ActionClick:
    """A button of a feature: the first word says whose, the others are its own."""

    words: tuple[str, ...]


ButtonClick = CardClick | ChoiceClick | ExampleClick | CheckClick | DetailsClick | StopClick | ActionClick


def pack(press: ButtonClick) -> str:
    """The callback data of a button; ValueError for one that could not be read back or is longer than a button may carry."""
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
            home = press.home.removeprefix("tg:").replace(":", ".")
            return f"c2:{press.confirmation_id}:{press.nonce}:{'y' if press.approve else 'n'}:{home}"
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
    """The press behind callback data; None for anything we never made."""
    if len(data) > _LONGEST or not _CALLBACK_DATA.fullmatch(data):
        return None
    match data.split(":"):
        case ["c1", confirmation_id, nonce, ("y" | "n") as verdict]:
            return CardClick(confirmation_id=confirmation_id, nonce=nonce, approve=verdict == "y")
        case ["c2", confirmation_id, nonce, ("y" | "n") as verdict, home]:
            session = f"tg:{home.replace('.', ':')}"
            return CardClick(confirmation_id=confirmation_id, nonce=nonce, approve=verdict == "y", home=session)
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
