"""Standing orders: what a person wants to be told, asked or counted later, by itself. Their terms, and the inputs that carry them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Protocol

from pydantic import Field

from orchestrator.domain.actor import Actor
from orchestrator.domain.frozen import View
from orchestrator.domain.inputs import Click, Input, TimerDue
from state.stored import JsonObject

MOST_ORDERS: Final = 50
"""Of one person."""
MOST_FIRINGS: Final = 20
"""Of one order a day; then it is paused, and the person is told."""
LONGEST_DAYS: Final = 366
QUIET_CRON: Final = "0 9 * * *"
"""Silence is looked for in the morning: nobody wants to be told of it at night."""
NEW: Final = "new"
"""In `OrderTerms.changes`: a record that was made."""
OrderKind = Literal["time", "change", "quiet"]
OrderCounted = Literal["deals", "leads", "tasks"]
OrderReader = Literal["me", "owner"]
OrderDeed = Literal["pause", "resume", "remove"]

WATCHED_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "deals": {
        "STAGE_ID": "stage",
        "CATEGORY_ID": "funnel",
        "OPPORTUNITY": "amount",
        "CURRENCY_ID": "currency",
        "ASSIGNED_BY_ID": "person",
        "CLOSEDATE": "expected",
        "SOURCE_ID": "source",
        "COMPANY_ID": "company",
    },
    "leads": {
        "STATUS_ID": "stage",
        "OPPORTUNITY": "amount",
        "CURRENCY_ID": "currency",
        "ASSIGNED_BY_ID": "person",
        "SOURCE_ID": "source",
    },
    "tasks": {"STATUS": "status", "DEADLINE": "deadline", "RESPONSIBLE_ID": "person"},
}
"""The fields whose changes the mirror notes → its columns."""
RECORD_KINDS: Final[Mapping[str, str]] = {"deals": "deal", "leads": "lead", "tasks": "task"}


class OrderTerms(View):
    """Exactly one of `at` and `cron` for a time, `changes` for a change, `quiet` (days) for silence.

    `question` says which records, in the grammar of reports. Without `text`, `report` and `propose` the person is told of the records.
    """

    at: str = ""
    cron: str = ""
    zone: str = "UTC"
    question: JsonObject = Field(default_factory=dict)
    changes: tuple[str, ...] = ()
    condition: str = ""
    quiet: int = 0
    text: str = ""
    report: JsonObject = Field(default_factory=dict)
    propose: JsonObject = Field(default_factory=dict)
    """{method, params}; placeholders such as {record} are filled for each record."""
    to: tuple[OrderReader, ...] = ("me",)
    until: str = ""

    @property
    def kind(self) -> OrderKind:
        return "change" if self.changes else "quiet" if self.quiet else "time"

    @property
    def counted(self) -> str:
        return str(self.question.get("of") or "deals")

    @property
    def record_kind(self) -> str:
        return RECORD_KINDS[self.counted]

    @property
    def line(self) -> str:
        """The cron line by which it is due; "" for none."""
        return QUIET_CRON if self.quiet else self.cron


class ChangedRecord(View):
    """`before` and `after` by the portal's names of the fields; of silence `state` is the last moment of life."""

    target: str
    before: Mapping[str, str | None] = Field(default_factory=dict)
    after: Mapping[str, str | None] = Field(default_factory=dict)
    state: str
    """Tells this state of the record from others: for one and the same nobody is told twice."""


class OrderAdd(Input, kind="order_add"):
    order: str
    terms: OrderTerms
    words: Mapping[str, str] = Field(default_factory=dict)
    """What code wrote on the card: which records, which report."""


class OrderChange(Input, kind="order_change"):
    order: str
    terms: OrderTerms
    words: Mapping[str, str] = Field(default_factory=dict)


class OrderDo(Click, kind="order_do"):
    order: str
    deed: OrderDeed


class OrderDue(TimerDue):
    order: str
    due: str


class OrderHit(Input, kind="order_hit"):
    """Changes of one look that an order watches for."""

    order: str
    records: tuple[ChangedRecord, ...] = ()
    more: int = 0
    tries: int = 0


class OrderFault(Input, kind="order_fault"):
    """What it watches cannot be looked for any more."""

    order: str
    why: str
    detail: str = ""


class OrdersRestored(Input, kind="orders_restored"):
    """A backup brought them back: paused, as they may have gone on since."""

    made_at: str


class WatchFailed(Exception):
    """`code`: "unclear" cannot be read any more, "closed" the portal gives no such records, "later" may pass by itself."""

    def __init__(self, code: Literal["unclear", "closed", "later"], text: str, detail: str = "") -> None:
        super().__init__(detail or text)
        self.code, self.text = code, text


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordNews:
    """A record that changed: its fields before and now, by the portal's names. `changed` are those that differ, or NEW."""

    counted: str
    record: int
    changed: frozenset[str]
    before: Mapping[str, object]
    now: Mapping[str, object]
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """`name` is the same when the look is repeated after a crash."""

    name: str
    news: Sequence[RecordNews]


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Records that became silent since the last time, as (record, last moment of life); `border` is where the next look goes on."""

    records: Sequence[tuple[int, int]]
    border: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """What an order would have found in the last week. `since` is later than a week ago if no more is known."""

    records: Sequence[int]
    count: int
    standing: int = 0
    """Records that are silent now."""
    since: datetime
    is_whole: bool


class RecordWatch(Protocol):
    async def look(self, tell: Callable[[Look], Awaitable[None]], *, is_urgent: bool = False) -> None:
        """Hand over what has changed since the last look, once over all processes; again if `tell` fails. Raises nothing of the portal."""

    async def select_matching(self, terms: OrderTerms, records: Sequence[int], actor: Actor) -> frozenset[int]:
        """Those that the order is about and the person sees. Raises WatchFailed."""

    async def find_silent(self, terms: OrderTerms, actor: Actor, *, after: int) -> Silence:
        """Raises WatchFailed."""

    async def name_records(self, terms: OrderTerms, actor: Actor) -> str:
        """What the order is about, in words; a single record by its title. Raises WatchFailed, also if the person may not see it."""

    async def name_report(self, question: JsonObject, actor: Actor) -> str:
        """Raises WatchFailed."""

    async def review_week(self, terms: OrderTerms, actor: Actor) -> Week:
        """Raises WatchFailed."""
