"""Interfaces that the gate needs from other parts: the session's journal, the performers, the readers of the portal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, runtime_checkable

from orchestrator.domain.outcome import CommandReport
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
    """Reads and writes the journal of one session, which this process holds under a lease.

    Every commit is one transaction. It fails once another process has taken the lease over.
    """

    key: str

    @property
    def now(self) -> datetime:
        """The current time."""

    def mark(self) -> str:
        """Return a text that marks the present moment, from which `measure_since` can later measure time; see `state.clock.Clock.mark`."""

    def measure_since(self, mark: str) -> timedelta | None:
        """Return the time that has passed since `mark`, or None if it cannot be known; see `state.clock.Clock.measure_since`."""

    @property
    def state(self) -> SessionState:
        """The state of the session, computed from its events."""

    async def commit(
        self,
        *events: Event,
        actor: str,
        effects: Sequence[EffectChange] = (),
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
    ) -> None:
        """Store the events, effects, messages (`outbox`) and timers durably, together with everything buffered before.

        If it raises, nothing is stored. Raises EffectConflict (an effect does not have the expected status), StaleEpoch (another process
        has taken the session over) or StoreUnwritable.
        """

    async def buffer(
        self,
        *events: Event,
        actor: str,
        effects: Sequence[EffectChange] = (),
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
    ) -> None:
        """Apply the events to the state now, and store all with the next commit. Raises EffectConflict, and then keeps nothing of it."""

    async def flush(self) -> None:
        """Commit what is buffered; raises StaleEpoch or StoreUnwritable."""

    async def flush_plan(self) -> None:
        """Commit what is buffered, unless it consists only of results of reads. Raises StaleEpoch or StoreUnwritable."""

    async def find_effect(self, effect_id: str) -> EffectRow | None:
        """Return the stored row of one effect, or None."""

    async def list_effects(self, status: EffectStatus) -> list[EffectRow]:
        """Return the session's effects (stored calls) that have this status."""

    async def find_making_call(self, record: str) -> EffectRow | None:
        """Return the call of any session that created `record` ("task:8029"); None if no call of this program did. Raises StoreError."""

    async def find_calls_about(self, record: str, within: timedelta) -> list[EffectRow]:
        """Return the calls of all sessions that changed `record` or were meant to, within `within` (a few older, too), oldest first."""


@dataclass(frozen=True, kw_only=True)
class Succeeded:
    """The result of a call for which the portal reported success."""

    result: Any
    total: int | None = None
    changes: StateChanges = field(default_factory=StateChanges)
    commands: tuple[CommandReport, ...] = ()
    entity: str = ""
    created: str = ""
    unchanged: tuple[str, ...] = ()
    """Fields that a later read of the record showed to be unchanged, whatever the portal reported."""
    note: str = ""
    """Anything else to report to the model and operations staff, in English."""
    sums: Mapping[str, str] | None = None
    """Sums by currency over all rows of a list that is longer than `result`; empty where they could not be computed."""
    foreign_text: bool = False
    """Whether the result contains texts (errors of commands, `note`) that other people may have written."""


DECLINED = "portal-said-no"
"""The error code of a write to which the portal answered a plain false."""


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """The result of a call that certainly did not happen: the portal rejected it, or it was not sent (`sent` is False)."""

    code: str
    detail: str
    sent: bool = True
    free_at: datetime | None = None
    """When the portal will accept such a call again, if it said so."""
    foreign_text: bool = False
    args: Mapping[str, object] = field(default_factory=dict)
    """Arguments of the sentence `code`, in place of `detail` as its text; for codes that are messages of this program."""
    commands: tuple[CommandReport, ...] = ()
    """For a batch of which no command ran: the result of each."""


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """The result of a call that may or may not have happened, for example because the answer was lost."""

    detail: str
    foreign_text: bool = False
    is_unreadable: bool = False
    """Whether an answer came that holds no data."""


CallResult = Succeeded | Rejected | Unknown


class Performer(Protocol):
    """Makes calls of one kind. It never repeats a call that may have happened, and makes no safety decision."""

    portal: str
    is_application: bool
    """Whether calls run as an application, which some methods need."""

    async def execute(self, call: Call) -> CallResult:
        """Make the call once and return its result."""

    async def reconcile(self, call: Call, before: BeforeImage) -> "Reconciled":
        """Read the portal and return whether a call with unknown outcome happened."""


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    """The result of reading the changed records again, after the portal had reported success."""

    unchanged: tuple[str, ...] = ()
    note: str = ""
    foreign_text: bool = False


@runtime_checkable
class ReadsBack(Protocol):
    """A performer that can read the record after a call, to check whether the change really happened."""

    async def read_back(self, call: Call, before: BeforeImage, done: Succeeded) -> ReadBack:
        """Read the changed records and return which fields do not have the values that were written; raises no network errors."""


@runtime_checkable
class ReadsBefore(Protocol):
    """A performer that reads what a call would change, for its card and to see later whether it happened."""

    async def read_before(self, call: Call) -> BeforeImage | Rejected:
        """Return what the call would change, as it is now; `Rejected` if it cannot be read, or if the call cannot be made. Never raises."""


@runtime_checkable
class FindsTraces(Protocol):
    """A performer that can search for what a call of unknown outcome may have created without an origin mark."""

    async def find_traces(self, call: Call, since: datetime) -> str:
        """Return a sentence that hints at what a call sent at `since` created, "" if nothing was found. May raise bitrix errors."""


class OwnRecord(NamedTuple):
    """A record of the portal that this program created: its kind, its number, and the id of the effect that created it."""

    entity: str
    number: int
    effect_id: str


@runtime_checkable
class FindsOwnRecords(Protocol):
    """A performer that can search the portal for records that this program created, also for those that its journal has lost."""

    async def find_own_records(self, call: Call, since: datetime) -> Sequence[OwnRecord]:
        """Return records of the kind that `call` creates and this program created after `since`, oldest first. May raise bitrix errors."""


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """What reading the portal showed about a call of unknown outcome; `verdict` is "done", "not_done" or "unclear"."""

    verdict: str
    detail: str = ""
    changes: StateChanges = field(default_factory=StateChanges)
    commands: Sequence[CommandReport] = ()
    """For a batch, what was found about each command that writes."""


class FreezeSwitch(Protocol):
    """The switch by which operations staff stop ("freeze") all writes to the portal."""

    async def find_freeze(self) -> FreezeState | None:
        """Return who froze all writes, None while they are allowed; may be slightly out of date. Raises StoreError."""

    async def fetch_freeze(self) -> FreezeState:
        """Return who froze writes, read anew, for a call that was stopped by the freeze. Raises StoreError."""

    async def freeze(self, hand: SwitchOperator, reason: str = "") -> SwitchResult:
        """Stop all writes by order of `hand`: once this returns, none starts in any process. Raises StoreError if nothing was changed."""

    async def release(self, hand: SwitchOperator, seq: int | None = None) -> SwitchResult:
        """Allow writes again, with `seq` only if the present freeze has this number. Raises StoreError if nothing was changed."""


class Names(Protocol):
    """Finds names of people, stages and records; may read the portal and then raises BitrixError if that fails."""

    async def find_user_name(self, user_id: int) -> str:
        """Return the name of an employee."""

    async def find_stage_name(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        """Return the name of a stage."""

    async def find_category_name(self, category_id: int, entity: str = "deal") -> str:
        """Return the name of a funnel."""

    async def find_kind_name(self, entity: str, locale: Locale) -> str:
        """Return the name of a smart process (custom record type); "" for other kinds of record, which `bot` names itself."""

    async def find_title(self, entity: str, record_id: int) -> str:
        """Return the title of a record."""

    async def find_name_by_read(self, method: str, params: JsonObject, number: int, locale: Locale) -> str:
        """Return the name that the read method `method`, called with `params`, gives for the id `number`; "" if there is none."""

    async def find_payee(self, requisite_id: int) -> str:
        """Return whose details these are: the record that they belong to, the organisation and its tax number; "" if nothing is known."""

    async def find_field_title(self, entity: str, name: str) -> str:
        """Return the portal's title of a field; "" if it has none or the portal cannot be read."""

    async def describe_field_value(self, entity: str, name: str, value: object, *, locale: Locale, zone: str) -> list[str] | None:
        """Return the value of a custom field in words, several values as several texts; None if the portal has no words for it."""

    async def load_currency_book(self) -> CurrencyBook:
        """Return the portal's currencies and their formats; must never fail."""

    def build_card_url(self, entity: str, record_id: int, *, user: int = 0) -> str:
        """Return the address of the record's page as `user` sees it, "" if it has none."""
