"""A question as it was understood: every name is of the vocabulary, every time is fixed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from orchestrator.analytics.stretches import Stretch
from orchestrator.analytics.vocabulary import Field, Subject, TimeUnit
from orchestrator.domain.report import Shown
from state.stored import JsonObject

Operator = Literal["in", "not_in", "<", "<=", ">", ">="]
Show = Literal["auto"] | Shown
MOST_GROUPS: int = 2
MOST_MEASURES: int = 5
_MOST_PLAN: Final = 10.0**15


@dataclass(frozen=True, slots=True)
class State:
    code: str
    days: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """`code` is the field's name as it was written, without sign. None among `values` means an empty field."""

    code: str
    field: Field
    operator: Operator
    values: tuple[str | int | None, ...]
    own_field: str = ""
    """A list field of the portal, whose values stand in the mirror's table `choice`."""


@dataclass(frozen=True, slots=True)
class Group:
    """`unit` says that it is a stretch of time, of the date `time` ("" is the one that counts)."""

    code: str
    unit: TimeUnit | None = None
    time: str = ""
    own_field: str = ""


@dataclass(frozen=True, slots=True)
class MeasureChoice:
    """`is_share`: the part of the whole, in hundredths."""

    code: str
    is_share: bool = False

    @property
    def name(self) -> str:
        return f"share:{self.code}" if self.is_share else self.code


@dataclass(frozen=True, slots=True)
class Order:
    place: int = 0
    is_rising: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """In whole units, not hundredths. `total` is None if every person has an own one."""

    total: float | None
    by_person: tuple[tuple[int, float], ...] = ()


def is_plan_amount(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 < number <= _MOST_PLAN


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    subject: Subject
    states: tuple[State, ...] = ()
    conditions: tuple[Condition, ...] = ()
    stretch: Stretch | None = None
    by: str = ""
    groups: tuple[Group, ...] = ()
    measures: tuple[MeasureChoice, ...] = ()
    compared: Stretch | None = None
    compare_how: Literal["", "previous", "year_ago", "other"] = ""
    top: int | None = None
    order: Order | None = None
    plan: Plan | None = None
    funnel: int | None = None
    at_unit: TimeUnit | None = None
    at_moment: datetime | None = None
    is_back: bool = False
    has_classes: bool = False
    is_explained: bool = False
    expects: Literal["", "fall", "rise"] = ""
    per: "Question | None" = None
    show: Show = "auto"
    source: JsonObject
    """The question in the words of the grammar: another report is this with a key changed."""

    @property
    def is_in_own_currency(self) -> bool:
        """Groups of a currency show its own money; classes of A, B and C need one that adds up, and product rows are converted."""
        return any(group.code == "currency" for group in self.groups) and not self.has_classes and self.subject.name != "products"

    @property
    def named(self) -> tuple[Condition, ...]:
        """The conditions that name groups of the only dimension: each is listed, also without records, and is a part of the whole."""
        group = self.groups[0] if len(self.groups) == 1 and self.groups[0].unit is None else None
        dimension = self.subject.dimensions.get(group.code) if group is not None else None
        if group is None or (dimension is None and not group.own_field):
            return ()
        return tuple(
            condition
            for condition in self.conditions
            if condition.operator == "in"
            and (
                condition.own_field == group.own_field
                if group.own_field
                else dimension is not None and condition.field.sql == dimension.sql
            )
        )

    @property
    def time(self) -> Field:
        return self.subject.times[self.by]
