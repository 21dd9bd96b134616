from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.outputs import Notice, Passage, Table
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """Exactly one meaning. `target` is "deal:481", or "" if it is no record; `named_by_person`: their own message names it."""

    value: object
    label: str = ""
    target: str = ""
    named_by_person: bool = False


@dataclass(frozen=True, kw_only=True)
class Option:
    """A possible meaning of a reference, shown as a button."""

    value: object
    label: str
    target: str = ""


@dataclass(frozen=True, kw_only=True)
class Ambiguous:
    ask: Notice
    options: tuple[Option, ...]
    is_guess: bool = False
    """Nothing has that name; the options are only spelt like it."""


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    """No usable meaning: nothing or too much has that name, or the value is not allowed."""

    notice: Notice
    detail: str
    """In English, for the model."""


Resolution = Resolved | Ambiguous | Unresolved


@dataclass(frozen=True, kw_only=True)
class DatedParams:
    """`bounds` tells the model what periods were taken for: "DATE_CREATE 2026-10-01..2026-10-31"."""

    params: JsonObject
    bounds: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AskedDate:
    reference: str
    several: Ambiguous


@dataclass(frozen=True, kw_only=True)
class OutcomeView:
    """The model reads `rows` and `text`, the person sees `table`.

    `prose`: free text of others stands in `rows` or `text`. `titles` are by key ("deal:481").
    """

    rows: tuple[JsonObject, ...] = ()
    table: Table | None = None
    total: int | None = None
    sum_text: str = ""
    labels: tuple[str, ...] = ()
    prose: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    passages: tuple[Passage, ...] = ()
    """The person is shown them below the answer."""


@dataclass(frozen=True, kw_only=True)
class ColumnedTable:
    table: Table
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GroupedView:
    """Without a table, `trouble` tells the model why. `prose`: text of others stands in the labels."""

    rows: tuple[JsonObject, ...] = ()
    table: Table | None = None
    labels: tuple[str, ...] = ()
    prose: bool = False
    trouble: str = ""


def build_guess(code: str, words: str, options: tuple[Option, ...]) -> Ambiguous:
    """`code` is that of the question, such as "nearest-user"."""
    return Ambiguous(ask=Notice(code=code, args={"name": words}), options=options, is_guess=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecords:
    """`problem` says why there are none."""

    tables: Sequence[Table] = ()
    problem: Notice | None = None
    is_prose: bool = False


FindRecords = Callable[[str], Awaitable[FoundRecords]]
