"""Defines the results of the directory: the meaning of a reference such as "@deal:Ромашка", and the view of a call's outcome.

A reference is a placeholder that the language model writes in a call's parameters in place of an id, a date or a sum.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.outputs import Notice, Passage, Table
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """The result for a reference ("@deal:Ромашка") with exactly one meaning; `value` replaces the reference in the call's parameters.

    `label` is the meaning as people read it. `target` is the record's key ("deal:481"), or "" if the meaning is no record.
    `named_by_person` is True if the person's own message names the meaning, and False if only the model does.
    """

    value: object
    label: str = ""
    target: str = ""
    named_by_person: bool = False


@dataclass(frozen=True, kw_only=True)
class Option:
    """One of several possible meanings of a reference ("@deal:Ромашка"); the person sees it as a button with the text `label`."""

    value: object
    label: str
    target: str = ""


@dataclass(frozen=True, kw_only=True)
class Ambiguous:
    """The result for a reference ("@deal:Ромашка") with several possible meanings; the person must choose one of `options`."""

    ask: Notice
    options: tuple[Option, ...]
    is_guess: bool = False
    """Whether nothing has that name and the options are only spelt like it."""


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    """The result for a reference without a usable meaning; `notice` tells the person the reason.

    Possible reasons: nothing has that name, too many records have it, or the value is not allowed (a day in the past).
    """

    notice: Notice
    detail: str
    """The reason in English, for the model."""


Resolution = Resolved | Ambiguous | Unresolved


@dataclass(frozen=True, kw_only=True)
class DatedParams:
    """A call's parameters in which the references to days ("@date:вчера") are replaced.

    `bounds` says what the periods in its filter were taken for, as the model is told: "DATE_CREATE 2026-10-01..2026-10-31".
    """

    params: JsonObject
    bounds: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AskedDate:
    """The result for a reference to a day that has several possible meanings, of which the person must choose one."""

    reference: str
    several: Ambiguous


@dataclass(frozen=True, kw_only=True)
class OutcomeView:
    """The outcome of a call, prepared for the language model and for the person.

    The model reads `rows` and `text`, and the person sees `table`. `text` holds what is no row: an answer that is no list, or the details
    of an error. `labels` holds the names and titles that stand in `rows`. `prose` is True if `rows` or `text` contain free text written by
    other people. `titles` maps the key of each record ("deal:481") to its title, so that code can find out which of the records the
    person's message names.
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
    """Passages of documents, which the person is shown below the answer."""


@dataclass(frozen=True, kw_only=True)
class ColumnedTable:
    """A table with the columns that were asked for; `unknown` are the names of columns that its records do not have."""

    table: Table
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GroupedView:
    """A list counted by one field. The model reads `rows` and the person sees `table`; without a table, `trouble` tells the model why.

    `labels` are the names of the groups. `prose` is True if text of other people stands in them.
    """

    rows: tuple[JsonObject, ...] = ()
    table: Table | None = None
    labels: tuple[str, ...] = ()
    prose: bool = False
    trouble: str = ""


def build_guess(code: str, words: str, options: tuple[Option, ...]) -> Ambiguous:
    """Return the question whether the person meant one of `options`, whose names are only similar to `words`.

    `code` is the code of the question's message, such as "nearest-user".
    """
    return Ambiguous(ask=Notice(code=code, args={"name": words}), options=options, is_guess=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecords:
    """The records of the portal that a search found, one table a kind; `problem` says why there are none, `is_prose` marks free text."""

    tables: Sequence[Table] = ()
    problem: Notice | None = None
    is_prose: bool = False


FindRecords = Callable[[str], Awaitable[FoundRecords]]
"""Searches the portal's records by a name."""
