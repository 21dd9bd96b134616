"""What a turn says to a person: notices, texts, tables, buttons. Doors render it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from orchestrator.domain.frozen import Frozen


class Notice(Frozen):
    """A sentence for a person as a code with arguments; doors put it into the person's language."""

    code: str
    args: Mapping[str, Any] = Field(default_factory=dict)


class Choice(Frozen):
    """One answer button under a question; pressing it sends `token` back. Never consent to a write."""

    token: str
    label: str


class Action(Frozen):
    """A button of a feature under a reply; pressing it sends `words` back, the first says whose they are. Never consent to a write."""

    words: tuple[str, ...]
    label: Notice


class Row(Frozen):
    """One line of a list shown to a person, made by code."""

    label: str
    url: str = ""


class Text(Frozen):
    """Plain text of the model or of code; doors never read markup in it."""

    kind: Literal["text"] = "text"
    text: str


class Table(Frozen):
    """A list of records with count and sum over all pages, computed by code and never by the model."""

    kind: Literal["table"] = "table"
    rows: tuple[Row, ...] = ()
    shown: int = 0
    total: int = 0
    sum_text: str = ""


class Reply(Frozen):
    """What one turn says to the person. Doors render it; exactly one final reply ends a turn."""

    parts: tuple[Annotated[Text | Table, Field(discriminator="kind")], ...] = ()
    sections: tuple[tuple[Notice, Table], ...] = ()
    """Headed lists made by code (/today)."""
    notices: tuple[Notice, ...] = ()
    choices: tuple[Choice, ...] = ()
    confirmations: tuple[str, ...] = ()
    examples: tuple[Notice, ...] = ()
    """Requests the person may send with one press (first contact, help)."""
    undo: tuple[str, ...] = ()
    """Effects that this turn carried out without a card and that the person may take back with one press."""
    actions: tuple[Action, ...] = ()
    """What a feature offers to do next."""
    turn_id: str = ""

    @property
    def text(self) -> str:
        """The words without lists and notices."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text))


def build_reply(*notices: Notice, text: str = "") -> Reply:
    """A reply of plain words and notices."""
    return Reply(parts=(Text(text=text),) if text else (), notices=notices)
