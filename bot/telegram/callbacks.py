"""What the buttons carry: at most 64 bytes, short ids and nonces, never the payload. Data of a press is user input. Ring 3."""

import re
from dataclasses import dataclass

_ID = "[0-9A-Za-z-]{1,36}"
_OURS = re.compile(rf"c1:{_ID}:[0-9A-Za-z]{{1,20}}:[yn]|n1:{_ID}:[0-9]{{1,3}}|e1:example-[a-z]{{1,40}}|[ud]1:{_ID}")
"""What `pack` can make, and nothing else: what goes on from here is stored."""


@dataclass(frozen=True, kw_only=True)
class CardPress:
    """A button of a card."""

    confirmation_id: str
    nonce: str
    approve: bool


@dataclass(frozen=True, kw_only=True)
class ChoicePress:
    """A button under a question: names one option."""

    question_id: str
    option: int


@dataclass(frozen=True, kw_only=True)
class ExamplePress:
    """A button that says something for the person."""

    code: str


@dataclass(frozen=True, kw_only=True)
class CheckPress:
    """Look again at an unknown outcome."""

    confirmation_id: str


@dataclass(frozen=True, kw_only=True)
class DetailsPress:
    """Show the exact call of a card."""

    confirmation_id: str


Press = CardPress | ChoicePress | ExamplePress | CheckPress | DetailsPress


def pack(press: Press) -> str:
    """The callback data of a button."""
    match press:
        case CardPress():
            return f"c1:{press.confirmation_id}:{press.nonce}:{'y' if press.approve else 'n'}"
        case ChoicePress():
            return f"n1:{press.question_id}:{press.option}"
        case ExamplePress():
            return f"e1:{press.code}"
        case CheckPress():
            return f"u1:{press.confirmation_id}"
        case DetailsPress():
            return f"d1:{press.confirmation_id}"


def unpack(data: str) -> Press | None:
    """The press behind callback data; None for anything we never made."""
    if not _OURS.fullmatch(data):
        return None
    match data.split(":"):
        case ["c1", confirmation_id, nonce, ("y" | "n") as verdict]:
            return CardPress(confirmation_id=confirmation_id, nonce=nonce, approve=verdict == "y")
        case ["n1", question_id, option]:
            return ChoicePress(question_id=question_id, option=int(option))
        case ["e1", code]:
            return ExamplePress(code=code)
        case ["u1", confirmation_id]:
            return CheckPress(confirmation_id=confirmation_id)
        case ["d1", confirmation_id]:
            return DetailsPress(confirmation_id=confirmation_id)
        case _:
            return None
