"""Defines what the directory returns: the meanings of references ("@deal:Ромашка"), and outcomes of calls as people read them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.domain.outputs import Notice, Table
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A reference ("@deal:Ромашка") with exactly one meaning, `value`.

    `target` is "deal:481" for records, else ""; `named_by_person` says whether the person's own words name it.
    """

    value: object
    label: str = ""
    target: str = ""
    named_by_person: bool = False


@dataclass(frozen=True, kw_only=True)
class Option:
    """One of several meanings of a reference, shown as a button."""

    value: object
    label: str
    target: str = ""


@dataclass(frozen=True, kw_only=True)
class Ambiguous:
    """A reference with several meanings; the person must choose one."""

    ask: Notice
    options: tuple[Option, ...]
    is_guess: bool = False
    """Whether nothing has that name and the options are only spelt like it."""


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    """A reference with no meaning, too many meanings, or an impossible one (a day in the past); `notice` says so to the person."""

    notice: Notice
    detail: str
    """The reason in English, for the model."""


Resolution = Resolved | Ambiguous | Unresolved


@dataclass(frozen=True, kw_only=True)
class OutcomeView:
    """The outcome of a call as the model and the person read it.

    `rows` are shown to the model; `labels` are the names and titles in them, `prose` says whether they contain free text of other people;
    `titles` maps "deal:481" to the record's title, so that code can find out which of the records the person named.
    """

    rows: tuple[JsonObject, ...] = ()
    table: Table | None = None
    total: int | None = None
    sum_text: str = ""
    labels: tuple[str, ...] = ()
    prose: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
