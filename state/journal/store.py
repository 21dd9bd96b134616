"""The interface of durable storage: journal, inbox, outbox, effects, snapshots, leases, timers, blobs.

Everything a step changes is in one `Commit`, stored in one transaction or not at all. Synchronous; `state.journal.async_store` calls it
from a thread. Implemented by `state.sql` (SQLite in memory or in a file; PostgreSQL).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from state.events.base import Event
from state.events.codec import EncodedEvent
from state.journal.daily_count import StartCount
from state.journal.record_index import IndexEntry, What

EffectStatus = Literal["requested", "approved", "denied", "expired", "superseded", "started", "succeeded", "refused", "unknown"]
Lane = Literal["turn", "express"]
SWITCH = "freeze"
"""The key of the value that freezes (stops) all writes unless it is empty or missing; only a commit sets it (`Commit.switch`)."""


SET_ASIDE = 1_000_000
"""An inbox row with more attempts than this was restored from a backup: it may have been handled since, and is not handled again."""
RESTORED_CARD = "came_back"
"""The key in the stored call of a restored card that holds the backup's time; the portal is checked before such a call runs."""
RESTORED = "restored"
"""The key of the value that describes the last restore as JSON: `made_at` of the backup, and `restored_at`."""


class StoreError(Exception):
    """The store could not do what it was called for; if that was a commit, nothing of it is stored."""


class StoreUnwritable(StoreError):
    """Disk full, read-only, locked for too long, or the database is gone."""


class StaleEpoch(StoreError):
    """Another process took the session over; the late commit is refused."""


class WriteStopped(StoreError):
    """Writes are frozen: a call that changes anything outside may not start."""


class CapReached(StoreError):
    """The person has already started as many changes as they may within a day."""


class Uncounted(StoreError):
    """The database has no count for this person: the start must pass the person's past starts from the journal (`StartCount.known`)."""


class EffectConflict(StoreError):
    """The effect does not have the status that this step expects: somebody else was faster."""


@dataclass(frozen=True, kw_only=True)
class StoredEvent:
    """One record of the journal. `data` is decrypted and upcast; `raw` is the exact stored text that `hash` covers."""

    stream: str
    seq: int
    id: str
    ts: str
    type: str
    v: int
    actor: str
    data: Mapping[str, Any]
    raw: str
    prev: str
    hash: str
    erased: bool = False
    """Whether the person whose key encrypted the event was erased: the personal fields of `data` are blank for ever."""


class ClearEvent(NamedTuple):
    """The part of an event that is readable without a key: `data` as it was stored, not upcast, without the encrypted part."""

    id: str
    ts: str
    type: str
    actor: str
    data: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class InboxRow:
    """One input to work on. `source` is unique ("telegram:<bot>:<update_id>", "http:<token>:<request id>", "timer:<id>").

    Rows of lane "express" (decisions, /stop) may overtake a running turn of the same session; within a lane order is kept.
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
        """The key of the person or program that sent it, "" for nobody."""
        return str(self.actor.get("key", ""))


class StoredInputs(NamedTuple):
    """The result of storing inputs, and the rows that were claimed in the same transaction."""

    fresh: list[bool]
    """For each input whether it is new: False if its source was already known."""
    claimed: list[InboxRow]
    """The oldest new row of each requested lane, with this attempt counted; a lane without new rows gives none."""


@dataclass(frozen=True, kw_only=True)
class OutboxRow:
    """Something to deliver to a person, at least once.

    `key` identifies it: a second row with the same key replaces an unsent first one and, once that is sent, edits the same message
    (`sent_ref`).
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
    """The status of one effect. `effect_id` is unique for ever; `call` is the exact request as JSON data."""

    effect_id: str
    stream: str
    status: EffectStatus
    fingerprint: str
    call: Mapping[str, Any]
    updated_at: datetime
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class EffectChange:
    """Compare-and-set of one effect: its status must be one of `expect` ("absent" means no row yet), else the commit fails."""

    effect_id: str
    expect: tuple[str, ...]
    status: EffectStatus
    fingerprint: str = ""
    call: Mapping[str, Any] | None = None
    outcome: Mapping[str, Any] | None = None
    since: datetime | None = None
    """When the effect came into its status, for a change that leaves the status as it is; None for now."""
    though_frozen: bool = False
    """Whether the call may start while writes are frozen, because it changes nothing outside; if not, the commit raises WriteStopped."""
    count: StartCount | None = None
    """The changes to count for a person if this starts a call. The commit raises CapReached above the limit, Uncounted without a count."""

    def apply_to(self, row: EffectRow | None, stream: str, now: datetime) -> EffectRow:
        """Return the row that the effect, now in `row` (None if new), has after a commit to `stream` at `now` with this change."""
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
    """Something to be done at `due_at`. Setting a timer with a known id replaces it; `delete` removes it."""

    id: str
    due_at: datetime
    session: str
    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)
    delete: bool = False


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The folded state of a stream up to and including `seq`."""

    stream: str
    seq: int
    state: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The exclusive right to work on a session until `until`. Each new owner gets the next `epoch`; a commit with an old one is refused."""

    session: str
    owner: str
    epoch: int
    until: datetime


@dataclass(frozen=True, kw_only=True)
class Commit:
    """Everything one step changes, written in one transaction; refused unless `epoch` is the current one of the session's lease.

    Streams "session:<key>" are guarded by the lease of <key>, streams "run:<id>" by the lease of "run:<id>".
    """

    stream: str
    epoch: int
    actor: str
    now: datetime
    events: Sequence[Event] = ()
    encoded_events: Sequence[EncodedEvent] = ()
    """The same events in stored form, if the caller has encoded them already."""
    effects: Sequence[EffectChange] = ()
    outbox: Sequence[OutboxRow] = ()
    timers: Sequence[Timer] = ()
    inbox_done: Sequence[str] = ()
    inbox_new: Sequence[InboxRow] = ()
    """New inputs. One whose source is still waiting replaces the body of that row, which keeps its place in the lane."""
    blobs: Mapping[str, str] = field(default_factory=dict)
    snapshot: Snapshot | None = None
    switch: str | None = None
    """The new value of the switch that freezes writes, "" to release them, None to leave it. Frozen: only `though_frozen` calls start."""
    after: int | None = None
    """The seq at which the stream must end before this commit, so that a retry of a commit that was stored after all is refused."""
    earlier: Sequence["Commit"] = ()
    """Earlier commits of the same stream and epoch that are not stored yet: they are written first, in the same transaction."""


class Store(Protocol):
    """Durable storage. Every method may raise StoreUnwritable."""

    def put_inbox(self, rows: Sequence[InboxRow], claim: Sequence[tuple[str, Lane]] = ()) -> StoredInputs:
        """Store inputs durably before they are acknowledged.

        In the same transaction claim the next row of each lane in `claim`, as `take_inbox` does.

        A claimed row has no owner: it stays new, `return_inbox` uncounts the attempt, and `list_ready_sessions` still finds it. So only
        the holder of the session's lease, while working on nothing else in that lane until the row is done, may claim. The claimed row need
        not be one of `rows`.
        """

    def list_ready_sessions(self, owner: str = "", now: datetime | None = None) -> list[tuple[str, Lane]]:
        """Return the sessions and lanes with new inbox rows, oldest first; with `owner` only those not leased by others at `now`."""

    def take_inbox(self, session: str, lane: Lane) -> InboxRow | None:
        """Return the oldest new row of that lane, None if there is none, and count this attempt at it durably."""

    def return_inbox(self, row_id: str) -> None:
        """Uncount the last attempt at an inbox row, because it failed for a reason that does not lie in the input."""

    def list_waiting_inbox(self, session: str, lane: Lane, limit: int = 100) -> list[InboxRow]:
        """Return the new rows of that lane, oldest first, including the one being worked on; counts no attempt."""

    def find_inbox(self, source: str) -> InboxRow | None:
        """Return the input with that source, whatever its status; None if there is none."""

    def finish_inbox(self, row_id: str, status: Literal["done", "quarantined"], note: str = "") -> None:
        """Close an inbox row without events; one that cannot be handled is quarantined with the reason in `note`, never dropped."""

    def acquire(self, session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        """Acquire or renew the lease of a session; None while another owner holds it. A new owner gets the next epoch."""

    def expire_leases(self) -> None:
        """End every lease at once. Only for a process that knows it is the only one on this database (it holds its lock file)."""

    def release(self, lease: Lease) -> None:
        """Release the lease if this owner still holds it."""

    def commit(self, commit: Commit) -> list[StoredEvent]:
        """Write the commit in one transaction and return its stored events.

        Raises StaleEpoch, EffectConflict, WriteStopped, CapReached or Uncounted; then nothing of it is stored.
        """

    def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Return the events of the stream with seq > `after`, in order."""

    def read_head(self, stream: str) -> tuple[int, str]:
        """Return the seq and hash at which the stream should end, stored apart from its events; (0, "") for a stream without events."""

    def read_records(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """Return (seq, raw, hash) of the records with seq > `after`, in order, exactly as stored: nothing is decoded."""

    def read_encrypted(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """Return (seq, type, data) of the records with seq > `after`, in order, without decrypting them."""

    def list_heads(self) -> list[tuple[str, int, str]]:
        """Return (stream, seq, hash) at which every stream with events should end."""

    def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Return events of all streams with id > `after` and one of `types` (all if empty), in order of id, which is nearly time order.

        For look-ups only: an event of a commit under way may later appear before one that was read. `prev` is left empty.
        """

    def scan_clear(self, types: Sequence[str], after: str = "", limit: int = 1000) -> list[ClearEvent]:
        """Return what `scan` returns, but only the part readable without a key: much faster, for counting."""

    def list_streams(self) -> list[str]:
        """Return every stream of the journal."""

    def load_snapshot(self, stream: str) -> Snapshot | None:
        """Return the newest snapshot of the stream, or None."""

    def find_effect(self, effect_id: str) -> EffectRow | None:
        """Return one effect, or None."""

    def list_effects(self, stream: str, status: EffectStatus) -> list[EffectRow]:
        """Return the effects of a stream in that status, beginning with the one that changed longest ago."""

    def list_index_entries(self, about: str, what: What, after: str = "", limit: int = 1000) -> list[IndexEntry]:
        """Return the index entries of that kind about a record or call, from events with id > `after`, oldest first."""

    def list_last_index_entries(self, about: str, what: What, limit: int) -> list[IndexEntry]:
        """Return the newest index entries of that kind about a record or call, newest first."""

    def load_blob(self, digest: str) -> str | None:
        """Return the large answer of the portal that is stored under its SHA-256 `digest`, or None."""

    def list_due_outbox(self, channel: str, now: datetime, limit: int = 50) -> list[OutboxRow]:
        """Return unsent rows whose `due_at` has come, oldest first; a row waits while an older unsent row of its session exists."""

    def mark_outbox_sent(self, row_id: str, sent_ref: str) -> None:
        """Mark the row as delivered; `sent_ref` names the message for later edits."""

    def reschedule_outbox(self, row_id: str, due_at: datetime, note: str) -> None:
        """Record that the row was not delivered, for the reason in `note`, and is to be tried again at `due_at`."""

    def mark_outbox_failed(self, row_id: str, note: str) -> None:
        """Mark the row as undeliverable, for the reason in `note`; it is kept for operators to see."""

    def find_sent_ref(self, session: str, key: str) -> str:
        """Return the `sent_ref` of the message that last delivered a row with that key, or ""."""

    def list_due_timers(self, now: datetime, limit: int = 100) -> list[Timer]:
        """Return timers whose `due_at` has come, oldest first; they stay until a commit deletes them."""

    def get_value(self, key: str) -> str | None:
        """Return a small named value (polling offset, rotated token), or None."""

    def set_value(self, key: str, value: str) -> None:
        """Set a small named value durably."""

    def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        """Set the value durably and return True if it is `expected` now (None: not set yet); else change nothing and return False."""

    def close(self) -> None:
        """Flush to disk and close every connection."""
