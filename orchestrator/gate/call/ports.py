from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from orchestrator.domain.bulk import BulkDone, BulkFile
from orchestrator.domain.effect import CommandReport
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.language.money_format import CurrencyBook
from orchestrator.language.text import Locale
from state.events.base import Event
from state.events.calls import StateChanges
from state.journal.freeze_switch import FreezeState, SwitchOperator, SwitchResult
from state.journal.store import EffectChange, EffectRow, EffectStatus, OutboxRow, Timer
from state.model.session_state import SessionState
from state.stored import JsonObject


class Ledger(Protocol):
    """Of one session, held under a lease: a commit fails once another process has taken it over."""

    key: str

    @property
    def owner(self) -> str:
        """The process that holds the lease."""

    @property
    def now(self) -> datetime: ...

    def mark(self) -> str:
        """See `state.clock.Clock.mark`."""

    def measure_since(self, mark: str) -> timedelta | None:
        """None if it cannot be known; see `state.clock.Clock.measure_since`."""

    @property
    def state(self) -> SessionState:
        """Computed from the session's events."""

    async def commit(
        self,
        *events: Event,
        actor: str,
        effects: Sequence[EffectChange] = (),
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
    ) -> None:
        """Stores all in one transaction, with what is buffered, or nothing.

        Raises EffectConflict (an effect has not the expected status), StaleEpoch (the session was taken over) or StoreUnwritable.
        """

    async def buffer(
        self,
        *events: Event,
        actor: str,
        effects: Sequence[EffectChange] = (),
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
        blobs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Applies the events now, stores them with the next commit. Raises EffectConflict, and then keeps nothing."""

    async def flush(self) -> None:
        """Raises StaleEpoch or StoreUnwritable."""

    async def flush_plan(self) -> None:
        """Commits unless only results of reads are buffered. Raises StaleEpoch or StoreUnwritable."""

    async def find_effect(self, effect_id: str) -> EffectRow | None: ...

    async def list_effects(self, status: EffectStatus) -> list[EffectRow]: ...

    async def find_making_call(self, record: str) -> EffectRow | None:
        """Of any session, for a record such as "task:8029". Raises StoreError."""

    async def find_calls_about(self, record: str, within: timedelta) -> list[EffectRow]:
        """Of all sessions, oldest first, a few older than `within`."""


@dataclass(frozen=True, kw_only=True)
class Succeeded:
    result: Any
    total: int | None = None
    changes: StateChanges = field(default_factory=StateChanges)
    commands: tuple[CommandReport, ...] = ()
    entity: str = ""
    created: str = ""
    unchanged: tuple[str, ...] = ()
    """Written fields that do not hold what was sent, as a later read shows; in a batch with the command's key."""
    now: Mapping[str, str] = field(default_factory=dict)
    """Of these, in words, the values of those that hold neither the old one nor the one sent."""
    unmet_notice: Notice | None = None
    note: str = ""
    """For the model and operators."""
    sums: Mapping[str, str] | None = None
    """By currency, over all rows of a longer list; empty if not computed."""
    foreign_text: bool = False
    """Whether other people may have written texts in it."""
    file_ids: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """By record and written field, of the files that a later read shows there."""


DECLINED = "portal-said-no"
"""The portal answered a write with a plain false."""


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """It certainly did not happen: rejected, or not sent (`sent` is False)."""

    code: str
    detail: str
    sent: bool = True
    free_at: datetime | None = None
    """When the portal will accept such a call again."""
    foreign_text: bool = False
    args: Mapping[str, object] = field(default_factory=dict)
    """For a `code` that is a message of this program, which then replaces `detail`."""
    commands: tuple[CommandReport, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """It may or may not have happened, for example because the answer was lost."""

    detail: str
    foreign_text: bool = False
    is_unreadable: bool = False
    """An answer came that holds no data."""


CallResult = Succeeded | Rejected | Unknown


class Performer(Protocol):
    """Never repeats a call that may have happened, and makes no safety decision."""

    portal: str
    is_application: bool
    """Some methods need an application."""

    async def execute(self, call: Call) -> CallResult: ...

    async def reconcile(self, call: Call, before: BeforeImage) -> "Reconciled":
        """Reads whether a call with unknown outcome happened."""


@dataclass(frozen=True, kw_only=True)
class UnmetField:
    """A written field that does not hold what was sent."""

    call: Call
    name: str
    record: JsonObject
    is_other: bool
    """It holds a third value: something in the portal has changed it at once."""

    @property
    def code(self) -> str:
        """In a batch with the command's key."""
        return f"{self.call.key}: {self.name}" if self.call.key else self.name


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    unmet: tuple[UnmetField, ...] = ()
    note: str = ""
    foreign_text: bool = False
    file_ids: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)


@runtime_checkable
class ReadsBack(Protocol):
    async def read_back(self, call: Call, before: BeforeImage, done: Succeeded) -> ReadBack:
        """Raises no network errors."""


@runtime_checkable
class ReadsBefore(Protocol):
    """For the card, and to see later whether the call happened."""

    async def read_before(self, call: Call) -> BeforeImage | Rejected:
        """`Rejected` if it cannot be read, or the call cannot be made. Never raises."""


@runtime_checkable
class FindsTraces(Protocol):
    """Searches for what a call of unknown outcome created without an origin mark."""

    async def find_traces(self, call: Call, since: datetime) -> str:
        """Empty if nothing was found. May raise bitrix errors."""


class OwnRecord(NamedTuple):
    entity: str
    number: int
    effect_id: str


@runtime_checkable
class FindsOwnRecords(Protocol):
    """Also records that the journal has lost."""

    async def find_own_records(self, call: Call, since: datetime) -> Sequence[OwnRecord]:
        """Created after `since`, oldest first. May raise bitrix errors."""


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """`verdict` is "done", "not_done" or "unclear"."""

    verdict: str
    detail: str = ""
    changes: StateChanges = field(default_factory=StateChanges)
    commands: Sequence[CommandReport] = ()


@dataclass(frozen=True, slots=True)
class TooMany:
    count: int


class BulkFiles(Protocol):
    """Frozen files of changes of many records, by their SHA-256."""

    async def load(self, digest: str) -> BulkFile | None:
        """None if it is gone. May raise StoreError."""

    async def read_records(self, call: Call, most: int) -> "Sequence[JsonObject] | TooMany | Rejected":
        """All rows of a list; above `most` they are counted with one request and not read.

        Rejected if the portal left out a condition. Raises BitrixError.
        """

    async def read_run(self, run: str) -> BulkDone | None:
        """None if it is not known any more, or not over. May raise StoreError."""

    def hold_turn(self, owner: str) -> AbstractAsyncContextManager[None]:
        """From before the read of a part until after its write; waits while another process than `owner` works on one.

        Raises StoreError.
        """


class NoBulkFiles:
    """Where no portal can be read: nothing is frozen, and no part of anything runs."""

    async def load(self, _digest: str) -> BulkFile | None:
        return None

    async def read_records(self, _call: Call, _most: int) -> "Sequence[JsonObject] | TooMany | Rejected":
        return ()

    async def read_run(self, _run: str) -> BulkDone | None:
        return None

    def hold_turn(self, _owner: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()


class FreezeSwitch(Protocol):
    """Stops ("freezes") all writes to the portal."""

    async def find_freeze(self) -> FreezeState | None:
        """May be slightly out of date. Raises StoreError."""

    async def fetch_freeze(self) -> FreezeState:
        """Read anew, for a call that the freeze stopped. Raises StoreError."""

    async def freeze(self, hand: SwitchOperator, reason: str = "") -> SwitchResult:
        """Once this returns, no write starts in any process. Raises StoreError if nothing was changed."""

    async def release(self, hand: SwitchOperator, seq: int | None = None) -> SwitchResult:
        """With `seq`, only if the present freeze has this number. Raises StoreError if nothing was changed."""


class Names(Protocol):
    """May read the portal, and raises BitrixError if that fails."""

    async def find_user_name(self, user_id: int) -> str: ...

    async def find_stage_name(self, entity: str, stage_id: str, category_id: int = 0) -> str: ...

    async def find_category_name(self, category_id: int, entity: str = "deal") -> str: ...

    async def find_kind_name(self, entity: str, locale: Locale) -> str:
        """Of a smart process; "" for other kinds."""

    async def find_title(self, entity: str, record_id: int) -> str: ...

    async def find_name_by_read(self, method: str, params: JsonObject, number: int, locale: Locale) -> str:
        """Empty if the read method gives none."""

    async def find_payee(self, requisite_id: int) -> str:
        """Record, organisation and tax number behind the details."""

    async def find_field_title(self, entity: str, name: str) -> str:
        """Empty if the field has none or the portal cannot be read."""

    async def describe_field_value(self, entity: str, name: str, value: object, *, locale: Locale, zone: str) -> list[str] | None:
        """Several values as several texts; None if the portal has no words for them."""

    async def load_currency_book(self) -> CurrencyBook:
        """Must never fail."""

    def build_card_url(self, entity: str, record_id: int, *, user: int = 0) -> str:
        """As `user` sees it; "" if the record has no page."""
