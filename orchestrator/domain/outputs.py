"""What a turn says to a person; `bot` renders it."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from orchestrator.domain.frozen import Frozen, View
from orchestrator.domain.report import ReportAnswer
from state.stored import JsonObject


class Notice(View):
    code: str
    args: Mapping[str, Any] = Field(default_factory=dict)


class Choice(Frozen):
    """Pressing sends `token`. It never approves a write."""

    token: str
    label: str


class Action(Frozen):
    """A click sends `words`, of which the first names the handler. It never approves a write."""

    words: tuple[str, ...]
    label: Notice


MOST_ROWS: Final = 30
FIRST_ROWS: Final = 10


class Row(Frozen):
    """Written by code, never by the model."""

    label: str
    url: str = ""
    target: str = ""
    """Such as "deal:481"; "" for no record."""
    cells: tuple[str, ...] = ()


class Text(Frozen):
    """Written by the model. Its Markdown is rendered; only `links` of the reply can be tapped."""

    kind: Literal["text"] = "text"
    text: str


class Passage(Frozen):
    """A quote of a document; nothing in it can be tapped."""

    kind: Literal["passage"] = "passage"
    title: str
    text: str
    source: str = ""
    """Where it stands: file, place and day."""


class Table(View):
    """Code counts and sums, over all records; the first are listed."""

    kind: Literal["table"] = "table"
    rows: tuple[Row, ...] = ()
    total: int = 0
    fitting: int = 0
    """So many records fit, if only the first were asked for: `total` and the sum are those of the first."""
    sum_text: str = ""
    columns: tuple[str, ...] = ()
    heading: str = ""
    """Names the first column."""
    is_grouped: bool = False
    """Of answers that are older than reports: rows are groups, `total` counts records."""
    is_prose: bool = False
    """The labels are anybody's words: no later prompt shows them."""
    first: int = 1
    place: str = ""
    """As the model names the step: "2.1" is step 1 of iteration 2."""
    fields: tuple[str, ...] = ()
    """The codes of the columns that were asked for."""

    def count_seen(self, *, has_file: bool) -> int:
        """`has_file`: the channel sends a long list as a file, too."""
        if len(self.rows) <= MOST_ROWS:
            return len(self.rows)
        return FIRST_ROWS if has_file else MOST_ROWS


class ReportPart(Frozen):
    """Numbers that code has counted, under which the chat keeps their question."""

    kind: Literal["report"] = "report"
    report_id: str
    answer: ReportAnswer
    has_way_back: bool = False
    is_file: bool = False
    """Sent as a table file, not as a picture."""
    is_text: bool = False
    """In words, with a button that makes it a picture."""


class DayPart(Frozen):
    """A person's day, as /today shows it; `body` is a `DailyBody`."""

    kind: Literal["day"] = "day"
    body: JsonObject


SheetUnit = Literal["text", "number", "money", "date", "moment"]
SheetCell = str | float | None
"""A day or a moment is ISO text, without an offset."""


class SheetColumn(Frozen):
    title: str
    unit: SheetUnit = "text"


class SheetRow(Frozen):
    label: str
    url: str = ""
    cells: tuple[SheetCell, ...] = ()


class SheetPart(Frozen):
    """A list that is sent as a table file alone; `total` counts also the rows that it lacks."""

    kind: Literal["sheet"] = "sheet"
    columns: tuple[SheetColumn, ...]
    rows: tuple[SheetRow, ...]
    total: int


ReplyPart = Text | Table | Passage | ReportPart | DayPart | SheetPart


class Reply(Frozen):
    """A turn ends with exactly one."""

    parts: tuple[Annotated[ReplyPart, Field(discriminator="kind")], ...] = ()
    sections: tuple[tuple[Notice, Table], ...] = ()
    notices: tuple[Notice, ...] = ()
    choices: tuple[Choice, ...] = ()
    confirmations: tuple[str, ...] = ()
    examples: tuple[Notice, ...] = ()
    undo: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    links: tuple[str, ...] | None = None
    """Addresses that may be tapped; None for old replies."""
    turn_id: str = ""

    @property
    def text(self) -> str:
        """Of the model, without lists and notices."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def is_empty(self) -> bool:
        return not (self.parts or self.sections or self.notices or self.choices or self.confirmations or self.undo or self.actions)


MADE_CODES: Final = frozenset({"made", "made-not", "made-unshown"})


def build_reply(*notices: Notice, text: str = "") -> Reply:
    return Reply(parts=(Text(text=text),) if text else (), notices=notices)


class Toast(View):
    callback_id: str = ""
    notice: Notice


class Code(View):
    text: str


class SentFile(View):
    kind: Literal["photo", "document"]
    name: str
    digest: str = ""
    caption: str = ""
