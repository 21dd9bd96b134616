"""What the directory answers: names resolved or to be chosen, and records as people read them. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.outputs import Notice, Table


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A reference has exactly one meaning. `target` is "deal:481" for records, else ""; `named` = the person's own words named it."""

    value: Any
    label: str = ""
    target: str = ""
    named_by_person: bool = False


@dataclass(frozen=True, kw_only=True)
class Option:
    """One of several meanings, as a button."""

    value: Any
    label: str
    target: str = ""


@dataclass(frozen=True, kw_only=True)
class Ambiguous:
    """The person must choose."""

    ask: Notice
    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    """Nothing fits, too much fits, or it cannot be meant (a past day): a sentence for the person."""

    notice: Notice
    detail: str
    """English, for the model."""


Resolution = Resolved | Ambiguous | Unresolved


@dataclass(frozen=True, kw_only=True)
class OutcomeView:
    """An outcome as the model and the person read it.

    `rows` go into the observation; `labels` are the texts of others among them; `prose` tells that free text is among them; `titles` maps
    "deal:481" to its title, so that code can tell which of them the person named.
    """

    rows: tuple[Mapping[str, Any], ...] = ()
    table: Table | None = None
    total: int | None = None
    sum_text: str = ""
    labels: tuple[str, ...] = ()
    prose: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
