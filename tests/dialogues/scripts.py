"""The dialogues as they stand in talks/*.yaml: who speaks, what is said or pressed, what the model answers, and what must come of it."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tests.unit.spine_kit import CHAT

HERE = Path(__file__).resolve().parent
TALKS = HERE / "talks"


class Part(BaseModel):
    """Base class of the parts of a dialogue file; a misspelt key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Call(Part):
    """A call to the portal: one that somebody else makes, or with a part of its params, one that must have been sent."""

    method: str
    params: Mapping[str, Any] = Field(default_factory=dict)


class Fault(Part):
    """The answer that the portal gives to a method during one turn, in place of its own."""

    method: str
    status: int = 400
    body: Mapping[str, Any] = Field(default_factory=dict)


class Turn(Part):
    """What a person says or presses, and what must come of it."""

    say: str = ""
    quoted: str = ""
    """Text of somebody else that comes with the message."""
    replies: bool = False
    """Whether it is written as a reply to the bot's last message."""
    press: str = ""
    """A part of the label of the button that is pressed, in place of `say`; of several the one shown last."""
    by: str = ""
    """Who speaks or presses; the person of the dialogue if it is ""."""
    wait: int = Field(default=1, ge=0)
    """The minutes that pass before this turn."""
    restart: bool = False
    """Whether the program was stopped and started before this turn: only what is stored is left."""
    meanwhile: Sequence[Call] = ()
    """What somebody changes in the portal before this turn."""
    faults: Sequence[Fault] = ()
    answers: Sequence[str] = ()
    """The model's answers, one for each prompt of the turn; after cards, where nothing is left, none is needed."""
    follows: bool = False
    """Whether the request can only be understood from what came before."""
    cards: int | None = None
    """For a request to change something: how many cards it may lead to, with the presses that follow."""
    after: Mapping[str, Mapping[str, Any] | None] = Field(default_factory=dict)
    """The records that this turn changes in the portal, no others, with some of their values afterwards; None for a deleted one."""
    sends: Sequence[Call] = ()
    """Calls that this turn must have sent to the portal."""
    shows: Sequence[str] = ()
    hides: Sequence[str] = ()
    warns: bool = False
    """Whether a warning is right here."""

    @model_validator(mode="after")
    def check_input(self) -> "Turn":
        """Refuse a turn that says and presses, or does neither."""
        if bool(self.say) == bool(self.press):
            msg = f"a turn either says or presses: {self.say!r}, {self.press!r}"
            raise ValueError(msg)
        return self


class Dialogue(Part):
    """One file of talks/."""

    name: str
    about: str
    person: str = "manager"
    chat: str = CHAT
    """The chat: the private one of the person, or a group."""
    policy: Mapping[str, Any] = Field(default_factory=dict)
    given: Sequence[Call] = ()
    """Calls that make the portal ready before the dialogue begins."""
    turns: Sequence[Turn]


@cache
def load_dialogues() -> Mapping[str, Dialogue]:
    """Return all dialogues by name, in the order of their files."""
    return {path.stem: load_dialogue(path) for path in sorted(TALKS.glob("*.yaml"))}


def load_dialogue(path: Path) -> Dialogue:
    """Return the dialogue of a file. Raises pydantic's ValidationError for one that does not fit."""
    return Dialogue(name=path.stem, **yaml.safe_load(path.read_text(encoding="utf-8")))
