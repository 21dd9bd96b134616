"""The interface of durable storage, which `state.sql` implements.

The methods block; `state.journal.async_store` calls them from threads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from state.events.base import Event
from state.events.codec import EncodedEvent
from state.journal.daily_count import StartCount
from state.journal.definition_rows import DefinitionChange, DefinitionReader
from state.journal.record_index import IndexEntry, What
from state.journal.run_index import RunFilter, RunRow

SET_ASIDE = 1_000_000
"""More attempts than this: restored, and not handled again."""
RESTORED_CARD = "came_back"
"""Key of the backup's time in a restored card's call; the portal is checked before it runs."""
RESTORED = "restored"
"""Key of JSON with `made_at` of the backup and `restored_at`."""


EffectStatus = Literal["requested", "approved", "denied", "expired", "superseded", "started", "succeeded", "refused", "unknown"]
Lane = Literal["turn", "express"]
SWITCH = "freeze"
"""The value's key: not empty means frozen. Only `Commit.switch` sets it."""


class StoreError(Exception):
    """The request failed; of a commit nothing is stored."""


class StoreUnwritable(StoreError):
    """The disk is full, or the database read-only, locked for too long, or gone."""


class StaleEpoch(StoreError):
    """Another process has changed the session or taken it over."""


class WriteStopped(StoreError):
    """Writes are frozen: nothing that changes anything outside may start."""


class CapReached(StoreError):
    """The person has started all changes that the policy allows within a day."""


class Uncounted(StoreError):
    """The caller repeats the commit with `StartCount.known`."""


class EffectConflict(StoreError):
    """The effect does not have the status that the commit expects."""


class StoredEvent(NamedTuple):
    """`raw` is the text that `hash` covers; `data` is decrypted and of the newest version."""

    stream: str
    seq: int
    id: str
    ts: str
    type: str
    v: int
    actor: str
    data: Mapping[str, Any]
    raw: str
    hash: str
    erased: bool = False
    """The key's person was erased: personal fields are blank."""


class ClearEvent(NamedTuple):
    """`data` is in its old version, without the encrypted part."""

    id: str
    ts: str
    type: str
    actor: str
    data: Mapping[str, Any]
    stream: str = ""


@dataclass(frozen=True, kw_only=True)
class InboxRow:
    """`source` is unique ("telegram:<bot>:<update_id>").

    A lane's rows are handled in order; "express" (decisions, /stop) beside "turn".
    """

    id: str
    source: str
    session: str
    lane: Lane
    kind: str
    actor: Mapping[str, Any]
    body: Mapping[str, Any]
    received_at: datetime
    status: Literal["new", "done", "quarantined"] = "new"
    attempts: int = 0

    @property
    def actor_key(self) -> str:
        return str(self.actor.get("key", ""))


class StoredInputs(NamedTuple):
    fresh: list[bool]
    """By input: False if its source was known."""
    claimed: list[InboxRow]
    """The oldest new row of each requested lane."""


@dataclass(frozen=True, kw_only=True)
class OutboxRow:
    """Delivered at least once.

    A later row with the same `key` replaces it, or edits its sent message `sent_ref`.
    """

    id: str
    session: str
    channel: str
    kind: str
    body: Mapping[str, Any]
    key: str = ""
    created_at: datetime
    status: Literal["new", "sent", "failed"] = "new"
    attempts: int = 0
    due_at: datetime
    sent_ref: str = ""


@dataclass(frozen=True, kw_only=True)
class EffectRow:
    """A proposed call; the id is unique for ever, `call` the exact request."""

    effect_id: str
    stream: str
    status: EffectStatus
    fingerprint: str
    call: Mapping[str, Any]
    updated_at: datetime
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class EffectChange:
    """The commit fails unless the status is one of `expect`; "absent" is no row."""

    effect_id: str
    expect: tuple[str, ...]
    status: EffectStatus
    fingerprint: str = ""
    call: Mapping[str, Any] | None = None
    outcome: Mapping[str, Any] | None = None
    since: datetime | None = None
    """When it came into its status; None for now."""
    though_frozen: bool = False
    """Because it changes nothing outside; others raise WriteStopped."""
    count: StartCount | None = None
    """The commit raises CapReached or Uncounted."""

    def apply_to(self, row: EffectRow | None, stream: str, now: datetime) -> EffectRow:
        """`row` is None for a new effect."""
        return EffectRow(
            effect_id=self.effect_id,
            stream=row.stream if row else stream,
            status=self.status,
            fingerprint=self.fingerprint or (row.fingerprint if row else ""),
            call=self.call if self.call is not None else (row.call if row else {}),
            updated_at=self.since or now,
            outcome=self.outcome if self.outcome is not None else (row.outcome if row else None),
        )


@dataclass(frozen=True, kw_only=True)
class Timer:
    """In a commit it replaces the timer with its id, or deletes it."""

    id: str
    due_at: datetime
    session: str
    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)
    delete: bool = False


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    stream: str
    seq: int
    state: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to a session until `until`; commits with an older `epoch` are refused."""

    session: str
    owner: str
    epoch: int
    until: datetime


class Commit(NamedTuple):
    """Written in one transaction; refused if `epoch` is not that of the stream's lease."""

    stream: str
    epoch: int
    actor: str
    now: datetime
    events: Sequence[Event] = ()
    encoded_events: Sequence[EncodedEvent] = ()
    """`events` in stored form, if the caller has encoded them."""
    effects: Sequence[EffectChange] = ()
    outbox: Sequence[OutboxRow] = ()
    timers: Sequence[Timer] = ()
    inbox_done: Sequence[str] = ()
    inbox_new: Sequence[InboxRow] = ()
    """One whose source still waits replaces that row's body."""
    blobs: Mapping[str, str] = MappingProxyType({})
    snapshot: Snapshot | None = None
    run: RunRow | None = None
    """The new entry, if the run's status changes."""
    definitions: DefinitionChange | None = None
    """Only for the stream of session `definitions`."""
    key_owner: str = ""
    """Whose key encrypts what the program notes; "" for the session's."""
    switch: str | None = None
    """"" releases writes, None leaves the switch."""
    after: int | None = None
    """The last seq before, so that a retry of a stored commit is refused."""
    earlier: Sequence["Commit"] = ()
    """Commits of the same stream and epoch, written first in the same transaction."""


class Store(Protocol):
    """Every method may raise StoreUnwritable. A row is new until it is handled; a lane is one of a session's two queues."""

    @property
    def definitions(self) -> DefinitionReader: ...

    def put_inbox(self, rows: Sequence[InboxRow], claim: Sequence[tuple[str, Lane]] = ()) -> StoredInputs:
        """Store inputs durably, and claim the oldest new row of each (session, lane), counting an attempt.

        Only the holder of the session's lease may claim, while it handles no other row of the lane.
        """

    def list_ready_sessions(self, owner: str = "", now: datetime | None = None) -> list[tuple[str, Lane]]:
        """The oldest row first; with `now`, without sessions leased to others than `owner`."""

    def take_inbox(self, session: str, lane: Lane) -> InboxRow | None:
        """Return the oldest new row and count an attempt."""

    def return_inbox(self, row_id: str) -> None:
        """Uncount an attempt that failed for a reason outside the input."""

    def list_waiting_inbox(self, session: str, lane: Lane, limit: int = 100) -> list[InboxRow]:
        """Oldest first; changes none."""

    def find_inbox(self, source: str) -> InboxRow | None: ...

    def finish_inbox(self, row_id: str, status: Literal["done", "quarantined"], note: str = "") -> None:
        """Set the final status without events; "quarantined" if it cannot be handled."""

    def acquire(self, session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        """Return None while another owner holds it.

        It lasts until `until`, or until its process's lease ended. Each new owner gets the next epoch.
        """

    def expire_leases(self) -> None:
        """Only for a process that holds the database's lock file."""

    def release(self, lease: Lease) -> None:
        """Nothing happens if its owner no longer holds it."""

    def commit(self, commit: Commit) -> list[StoredEvent]:
        """Raises StaleEpoch, EffectConflict, WriteStopped, CapReached or Uncounted; then nothing is stored."""

    def commit_group(self, commits: Sequence[Commit]) -> list[list[StoredEvent]]:
        """Write commits of any streams in one transaction; raises as `commit`, then nothing is stored."""

    def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Return those with seq > `after`, in order."""

    def read_head(self, stream: str) -> tuple[int, str]:
        """Return what the last event should have, stored apart; (0, "") for none."""

    def read_records(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """Return (seq, raw, hash) in order; `raw` is the whole record, still encrypted."""

    def read_encrypted(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """Return (seq, type, data) in order, still encrypted."""

    def list_heads(self) -> list[tuple[str, int, str]]:
        """Return (stream, seq, hash) that each last event should have."""

    def list_ends(self) -> list[tuple[str, int, str]]: ...

    def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Return events in order of id, of `types` (empty: all).

        For look-ups: running commits may add smaller ids.
        """

    def scan_back(self, types: Sequence[str] = (), before: str = "", limit: int = 1000) -> list[StoredEvent]:
        """As `scan`, the newest first."""

    def scan_clear(self, types: Sequence[str], after: str = "", limit: int = 1000) -> list[ClearEvent]:
        """As `scan`, without what is encrypted: much faster."""

    def list_streams(self) -> list[str]:
        """ "session:<key>", or "run:<id>" for work outside of any session."""

    def load_snapshot(self, stream: str) -> Snapshot | None: ...

    def find_effect(self, effect_id: str) -> EffectRow | None: ...

    def list_effects(self, stream: str, status: EffectStatus) -> list[EffectRow]:
        """Sorted by their last change."""

    def list_effects_in(self, status: EffectStatus, limit: int = 1000) -> list[EffectRow]:
        """The first changed comes first; more than `limit` are left out."""

    def find_effects(self, effect_ids: Sequence[str]) -> list[EffectRow]:
        """In no order; missing and damaged ones are left out."""

    def count_starts(self, person: str, now: datetime, account: str = "") -> int | None:
        """Count the starts of 24 hours.

        None without a count, or if there is also one of `account`: some may be in both.
        """

    def list_calls_about(self, record: str, after: str, limit: int) -> list[str]:
        """Ids of effects meant to change `record`, newest first."""

    def list_index_entries(self, about: str, what: What, after: str = "", limit: int = 1000) -> list[IndexEntry]:
        """From events with id > `after`, oldest first."""

    def list_last_index_entries(self, about: str, what: What, limit: int) -> list[IndexEntry]:
        """Newest first."""

    def list_runs(self, criteria: RunFilter) -> list[RunRow]:
        """The latest start comes first."""

    def remove_run(self, key: str, digests: Sequence[str]) -> int:
        """Remove index entry, snapshot and own blobs; return how many blobs. Records stay."""

    def load_blob(self, digest: str) -> str | None: ...

    def list_due_outbox(self, channel: str, now: datetime, limit: int = 50) -> list[OutboxRow]:
        """Oldest first; a row waits for an older unsent one of its session."""

    def mark_outbox_sent(self, row_id: str, sent_ref: str) -> None:
        """`sent_ref` is the message's id, by which it can be edited."""

    def reschedule_outbox(self, row_id: str, due_at: datetime, note: str) -> None: ...

    def mark_outbox_failed(self, row_id: str, note: str) -> None: ...

    def find_sent_ref(self, session: str, key: str) -> str:
        """Return the last message's id, "" for none."""

    def list_due_timers(self, now: datetime, limit: int = 100) -> list[Timer]:
        """Oldest first; a timer stays until a commit deletes it."""

    def list_timers(self, kind: str, after: str = "", limit: int = 1000) -> list[Timer]:
        """Due or not, with id > `after`, sorted by id."""

    def find_timer(self, timer_id: str) -> Timer | None: ...

    def get_value(self, key: str) -> str | None: ...

    def set_value(self, key: str, value: str) -> None:
        """It is durable on return."""

    def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        """Replace durably if the value is `expected` (None: missing); return whether it was."""

    def close(self) -> None: ...
