"""What a turn says to a person: notices, texts, tables, buttons. The rendering code in `bot` turns them into messages."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from orchestrator.domain.frozen import Frozen, View


class Notice(View):
    """A sentence for a person as a message code with arguments; `bot` translates it into the person's language."""

    code: str
    args: Mapping[str, Any] = Field(default_factory=dict)


class Choice(Frozen):
    """An answer button under a question; pressing it sends `token` back to the program. It never approves a write."""

    token: str
    label: str


class Action(Frozen):
    """A button that a feature adds to a reply; a click sends `words` back to the program. It never approves a write.

    The first of `words` names the handler of the click, the others are its arguments. `label` is the text on the button.
    """

    words: tuple[str, ...]
    label: Notice


MOST_ROWS: Final = 30
"""The most rows of a list that a message shows."""
FIRST_ROWS: Final = 10
"""The number of rows that a messenger shows of a list with more than `MOST_ROWS` rows, which it also sends as a file."""


class Row(Frozen):
    """One line of a table that is shown to a person, with a link to the record; code writes it, never the language model."""

    label: str
    url: str = ""
    target: str = ""
    """The key of the record ("deal:481"); "" if the line stands for no record."""
    cells: tuple[str, ...] = ()
    """The values in the columns of the table that the model asked for."""


class Text(Frozen):
    """A part of a reply that the language model wrote. Its Markdown is rendered.

    Only the addresses that the reply lists in `links` can be tapped.
    """

    kind: Literal["text"] = "text"
    text: str


class Passage(Frozen):
    """A part of a reply that quotes a document: its title and the passage. A messenger folds the quote; nothing in it can be tapped."""

    kind: Literal["passage"] = "passage"
    title: str
    text: str


class Table(Frozen):
    """A part of a reply that lists records, with their number and the total of their sums.

    Code computes both, never the language model. They cover all records, of which the table shows the first `shown`.
    """

    kind: Literal["table"] = "table"
    rows: tuple[Row, ...] = ()
    shown: int = 0
    total: int = 0
    sum_text: str = ""
    columns: tuple[str, ...] = ()
    """The headings of the columns beside the records' titles; empty if each row is one line of text."""
    heading: str = ""
    """What the titles of the rows are, such as «Менеджер» for groups by person; "" for records."""
    is_grouped: bool = False
    """Whether each row stands for a group of records; `total` then counts the records, and `shown` the groups."""
    groups: int = 0
    """The number of groups, of which `rows` holds the first ones."""
    first: int = 1
    """The number of the first row; more than 1 for a further page of a list."""
    place: str = ""
    """The step of the turn that read the list, as the model names it: "2.1" is step 1 of iteration 2; "" outside of a turn."""

    def count_seen(self, *, has_file: bool) -> int:
        """Return how many rows a person sees in the message; `has_file` tells whether the channel sends a long list as a file, too."""
        if self.is_grouped or len(self.rows) <= MOST_ROWS:
            return len(self.rows)
        return FIRST_ROWS if has_file else MOST_ROWS


class Reply(Frozen):
    """What one turn says to the person. A turn ends with exactly one final reply."""

    parts: tuple[Annotated[Text | Table | Passage, Field(discriminator="kind")], ...] = ()
    sections: tuple[tuple[Notice, Table], ...] = ()
    """Lists with headings, built by code (used by /today)."""
    notices: tuple[Notice, ...] = ()
    choices: tuple[Choice, ...] = ()
    confirmations: tuple[str, ...] = ()
    examples: tuple[Notice, ...] = ()
    """Example requests that the person may send with one press (first contact, help)."""
    undo: tuple[str, ...] = ()
    """Ids of effects that this turn carried out without a card and that the person may undo with one press."""
    actions: tuple[Action, ...] = ()
    """Next steps that a feature offers as buttons."""
    links: tuple[str, ...] | None = None
    """The addresses in the texts that may be tapped; None for a reply that was stored before they were listed."""
    turn_id: str = ""

    @property
    def text(self) -> str:
        """The texts of the language model in this reply, joined; lists and notices are not included."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def is_empty(self) -> bool:
        """Whether the reply shows a person nothing, so that it need not be sent."""
        return not (self.parts or self.sections or self.notices or self.choices or self.confirmations or self.undo or self.actions)


MADE_CODES: Final = frozenset({"made", "made-not", "made-unshown"})
"""The codes of the notices that each tell one change made without a card, or one command of a batch that failed; `effect_id` names it."""


def build_reply(*notices: Notice, text: str = "") -> Reply:
    """Return a reply with the text `text` and the notices `notices`; without a text part if `text` is ""."""
    return Reply(parts=(Text(text=text),) if text else (), notices=notices)


class Toast(View):
    """The short answer to one button click, which a messenger shows for a moment."""

    callback_id: str = ""
    notice: Notice


class Code(View):
    """A message whose text is shown unchanged, as code."""

    text: str


class SentFile(View):
    """A photo or document that a run sends to its chat. Its content is the blob `digest` of the run."""

    kind: Literal["photo", "document"]
    name: str
    digest: str = ""
    caption: str = ""


class File(View):
    """A table that is sent to the person as an Excel or CSV file."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]
    links: Sequence[str] = ()
    """The address for the first column of each row, "" for none."""
    name: str = ""
    format: Literal["xlsx", "csv"] = "xlsx"
    caption: Notice | None = None
