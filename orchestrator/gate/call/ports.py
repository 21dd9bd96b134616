"""What the gate needs of the session that it works for, and of performers. Ports: `session` and `performers` implement them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, runtime_checkable

from orchestrator.directory.reference_data import Field
from orchestrator.domain.outcome import CommandReport
from orchestrator.gate.call.effect import Call, Target
from orchestrator.language.money_format import CurrencyBook
from orchestrator.language.text import Locale
from state.events.core import Event, StateChanges
from state.journal.freeze_switch import FreezeState, SwitchOperator, SwitchResult
from state.journal.store import EffectChange, EffectRow, EffectStatus, OutboxRow, Timer


class Ledger(Protocol):
    """A session's journal under its lease; every commit is one transaction, fenced by the epoch."""

    key: str

    @property
    def now(self) -> datetime:
        """The present moment."""
        ...

    def mark(self) -> str:
        """See `state.clock.Clock.mark`."""
        ...

    def measure_since(self, mark: str) -> timedelta | None:
        """See `state.clock.Clock.since`."""
        ...

    @property
    def state(self) -> Mapping[str, Any]:
        """The folded state."""
        ...

    async def commit(
        self,
        *events: Event,
        actor: str,
        effects: Sequence[EffectChange] = (),
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
    ) -> None:
        """Append durably, with all that was noted; raises EffectConflict, StaleEpoch or StoreUnwritable and keeps nothing of it."""
        ...

    async def buffer(
        self,
        *events: Event,
        actor: str,
        effects: Sequence[EffectChange] = (),
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
    ) -> None:
        """Make it part of the state now and durable with the next commit; raises EffectConflict and keeps nothing."""
        ...

    async def flush(self) -> None:
        """Make durable what was noted; raises StaleEpoch or StoreUnwritable."""
        ...

    async def flush_plan(self) -> None:
        """Make durable what was noted, unless it is only what reads have answered; raises as `flush`."""
        ...

    async def find_effect(self, effect_id: str) -> EffectRow | None:
        """One effect's row."""
        ...

    async def list_effects(self, status: EffectStatus) -> list[EffectRow]:
        """The session's effects in that status."""
        ...

    async def find_calls_about(self, record: str, within: timedelta) -> list[EffectRow]:
        """Changes of "deal:481" that came into the journal within that time, some before too, of all sessions, oldest first."""
        ...


@dataclass(frozen=True, kw_only=True)
class Succeeded:
    """The portal said yes."""

    result: Any
    total: int | None = None
    changes: StateChanges = field(default_factory=StateChanges)
    commands: tuple[CommandReport, ...] = ()
    entity: str = ""
    created: str = ""
    unchanged: tuple[str, ...] = ()
    """Fields that a look at the record found as they were, whatever the portal said."""
    note: str = ""
    """What else is to be said of it, in English."""
    sums: Mapping[str, str] | None = None
    """Sums by currency over all rows of a list that is longer than `result`; empty where it could not be added up."""
    foreign_text: bool = False
    """Texts in it (errors of commands, `note`) are not the system's own: somebody may have written them."""


DECLINED = "portal-said-no"
"""The code of a write that the portal answered with a plain false."""


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """Proven not to have happened."""

    code: str
    detail: str
    sent: bool = True
    free_at: datetime | None = None
    """When the portal will take such a call again, where it said so."""
    foreign_text: bool = False


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """It may have happened."""

    detail: str
    foreign_text: bool = False


CallResult = Succeeded | Rejected | Unknown


class Performer(Protocol):
    """Makes one concrete call of one kind. Never retries what may have happened, never judges."""

    portal: str
    is_application: bool
    """Whether calls run as an application, which some methods need."""

    async def execute(self, call: Call) -> CallResult:
        """Make the call once."""
        ...

    async def reconcile(self, call: Call, before: Mapping[str, Any]) -> "Reconciled":
        """Look whether a call of unknown outcome happened; reads only."""
        ...


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    """What a look at the record showed after the portal said yes."""

    unchanged: tuple[str, ...] = ()
    note: str = ""
    foreign_text: bool = False


@runtime_checkable
class ReadsBack(Protocol):
    """A performer that can look whether a change really happened."""

    async def read_back(self, call: Call, before: Mapping[str, Any], done: Succeeded) -> ReadBack:
        """Compare the records with what was written; reads only, and raises nothing of the network."""
        ...


@runtime_checkable
class FindsTraces(Protocol):
    """A performer that can look for what a call without a mark may have left behind."""

    async def find_traces(self, call: Call, since: datetime) -> str:
        """What a call sent at `since` probably made, as a sentence; "" when nothing is seen. Proves nothing; may raise bitrix errors."""
        ...


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """What a look at the portal showed."""

    verdict: str
    detail: str = ""
    changes: StateChanges = field(default_factory=StateChanges)
    commands: Sequence[CommandReport] = ()
    """Of a batch what was seen of each command that writes."""


class FieldLists(Protocol):
    """The portal's own lists of fields, kept for a while."""

    async def load_fields(
        self, entity: str, *, fresh: bool = False, has: Callable[[Mapping[str, Field]], bool] | None = None
    ) -> Mapping[str, Field]:
        """The fields of "deal", "item:2" or "task" by code; a list for which `has` is false is read again once. Raises bitrix errors."""
        ...


class People(Protocol):
    """The portal's employees as they are now."""

    async def is_active(self, user_id: int) -> bool:
        """Whether somebody with this number works here; raises bitrix errors."""
        ...

    async def load_users(self, *, fresh: bool = False) -> Mapping[int, Mapping[str, Any]]:
        """Employees by number, the dismissed too, the first thousands of them; raises bitrix errors."""
        ...


class Reference(FieldLists, People, Protocol):
    """The portal's reference data."""


class Records(Protocol):
    """Reads the present state of records, for before-images and rights, and what fields and employees there are."""

    @property
    def reference(self) -> Reference:
        """Where lists of fields and employees are read."""
        ...

    async def load_records(self, targets: Sequence[Target]) -> Mapping[Target, Mapping[str, Any] | None]:
        """Each target's record, None where it does not exist; raises bitrix errors when the portal cannot be read."""
        ...

    async def load_first_stages(self, wanted: Collection[str]) -> Mapping[str, str]:
        """ "deal:0", "item:177:10" → the first stage of that funnel, as it is now; raises bitrix errors."""
        ...

    def discard_for_call(self, method: str) -> None:
        """Outdate what this call of ours changed, whether or not it succeeded."""
        ...


class FreezeSwitch(Protocol):
    """How the switch stands."""

    async def find_freeze(self) -> FreezeState | None:
        """None while writes may start; it may lag behind other processes for a moment. Raises StoreError."""
        ...

    async def fetch_freeze(self) -> FreezeState:
        """Who stopped a call that has just been stopped; never lags. Raises StoreError."""
        ...

    async def freeze(self, hand: SwitchOperator, reason: str = "") -> SwitchResult:
        """No write starts any more once it returns, in no process. Raises StoreError: nothing has changed."""
        ...

    async def release(self, hand: SwitchOperator, seq: int | None = None) -> SwitchResult:
        """Writes may start again; with `seq` only if that freeze still holds. Raises StoreError: nothing has changed."""
        ...


class Names(Protocol):
    """Names of people, stages and records; may read the portal and then raise BitrixError."""

    async def find_user_name(self, user_id: int) -> str:
        """A colleague's name."""
        ...

    async def find_stage_name(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        """The name of a stage."""
        ...

    async def find_category_name(self, category_id: int, entity: str = "deal") -> str:
        """The name of a funnel."""
        ...

    async def find_kind_name(self, entity: str, locale: Locale) -> str:
        """What a smart process calls its records; "" for the kinds that doors name themselves."""
        ...

    async def find_title(self, entity: str, record_id: int) -> str:
        """What a record is called."""
        ...

    async def find_field_title(self, entity: str, name: str) -> str:
        """What the portal calls a field, "" where it has no title or cannot be asked."""
        ...

    async def describe_field_value(self, entity: str, name: str, value: Any, *, locale: Locale, zone: str) -> str | None:
        """The value of the portal's own field in words; None where the value says all."""
        ...

    async def load_currency_book(self) -> CurrencyBook:
        """How the portal writes its currencies; never fails."""
        ...

    def build_card_url(self, entity: str, record_id: int, *, user: int = 0) -> str:
        """The address of its card as `user` sees it, "" when it has none."""
        ...
