"""The interface of durable storage: journal, inbox, outbox, effects (proposed calls), snapshots, leases, timers, blobs (large answers).

All changes that belong together are in one `Commit`, which is stored in one transaction or not at all. The methods block, so
`state.journal.async_store` calls them from a thread. `state.sql` implements them (SQLite in memory or in a file; PostgreSQL).
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

EffectStatus = Literal["requested", "approved", "denied", "expired", "superseded", "started", "succeeded", "refused", "unknown"]
Lane = Literal["turn", "express"]
SWITCH = "freeze"
"""The key of the value that freezes (stops) all writes unless it is empty or missing; only a commit sets it (`Commit.switch`)."""


class StoreError(Exception):
    """The store could not do what was requested; if that was a commit, nothing of it is stored."""


class StoreUnwritable(StoreError):
    """The database cannot be written: the disk is full, it is read-only, locked for too long, or gone."""


class StaleEpoch(StoreError):
    """Another process has changed the session or taken it over, so the commit is refused."""


class WriteStopped(StoreError):
    """Writes are frozen (stopped by an operator), so a call that changes anything outside may not start."""


class CapReached(StoreError):
    """The person has already started as many changes as the policy allows within a day."""


class Uncounted(StoreError):
    """The database does not know how many changes the person has started.

    The caller repeats the commit with the person's past starts from the journal (`StartCount.known`).
    """


class EffectConflict(StoreError):
    """The effect (proposed call) does not have the status that the commit expects, because somebody else has changed it."""


class StoredEvent(NamedTuple):
    """One record of the journal; `raw` is the exact stored text that `hash` covers.

    `data` is decrypted and converted to the newest version of the event's fields.
    """

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
    """The part of an event that is readable without a key: `data` is as stored, in its old version, without the encrypted part."""

    id: str
    ts: str
    type: str
    actor: str
    data: Mapping[str, Any]
    stream: str = ""


@dataclass(frozen=True, kw_only=True)
class InboxRow:
    """One input to handle. `source` is unique ("telegram:<bot>:<update_id>", "http:<token>:<request id>", "timer:<id>").

    Rows of one lane are handled in order. Rows of the lane "express" (decisions, /stop) may be handled while a row of the lane "turn" is
    being handled in the same session.
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
        """The key of the person or program that sent the input, "" if nobody did."""
        return str(self.actor.get("key", ""))


class StoredInputs(NamedTuple):
    """The result of `Store.put_inbox`: which inputs are new, and the rows that the same transaction claimed (took for handling)."""

    fresh: list[bool]
    """For each input whether it is new: False if its source was already known."""
    claimed: list[InboxRow]
    """The oldest new row of each requested lane, with this attempt counted; a lane without new rows gives none."""


@dataclass(frozen=True, kw_only=True)
class OutboxRow:
    """A message to deliver to a person, at least once.

    A later row with the same non-empty `key` replaces this one; if this one was sent already, the later row edits its message. `sent_ref`
    is the id of the message last sent for the same key, "" for none.
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
    """The status of one effect, that is, of one proposed call. `effect_id` is unique for ever; `call` is the exact request as JSON data."""

    effect_id: str
    stream: str
    status: EffectStatus
    fingerprint: str
    call: Mapping[str, Any]
    updated_at: datetime
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class EffectChange:
    """A change of one effect (proposed call) within a commit.

    The commit fails if the effect's status is not one of `expect`, in which "absent" stands for an effect without a row.
    """

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
        """Return the row of the effect (proposed call) after this change; `row` is its row before, None for a new effect.

        The change is part of a commit to `stream` at the time `now`.
        """
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
    """Work to be done at `due_at`. In a commit it replaces the stored timer with the same id, or deletes it if `delete` is set."""

    id: str
    due_at: datetime
    session: str
    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)
    delete: bool = False


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The state of a stream after applying its events up to and including the one with number `seq`."""

    stream: str
    seq: int
    state: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The exclusive right of one process to work on a session until `until`.

    Each new owner gets the next `epoch`, and a commit with an older epoch is refused.
    """

    session: str
    owner: str
    epoch: int
    until: datetime


class Commit(NamedTuple):
    """Everything that is written together in one transaction.

    A stream is guarded by a lease (the right of one process to write it): "session:<key>" by the lease of <key>, "run:<id>" (work outside
    of any session) by that of "run:<id>". The commit is refused if `epoch` is not the epoch (number) of the current lease.
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
    blobs: Mapping[str, str] = MappingProxyType({})
    snapshot: Snapshot | None = None
    run: RunRow | None = None
    """The new entry in the index of runs, for a commit that changes the status of a run."""
    definitions: DefinitionChange | None = None
    """The changed rows of a definition; only for the stream of session `definitions`, whose lease guards them."""
    key_owner: str = ""
    """The person whose key encrypts what the program itself notes in the commit; "" for the key of the session."""
    switch: str | None = None
    """The new value of the switch that freezes writes, "" to release them, None to leave it. Frozen: only `though_frozen` calls start."""
    after: int | None = None
    """The seq at which the stream must end before this commit, so that a retry of a commit that was stored after all is refused."""
    earlier: Sequence["Commit"] = ()
    """Earlier commits of the same stream and epoch that are not stored yet: they are written first, in the same transaction."""


class Store(Protocol):
    """The interface of durable storage, which `state.sql.store` implements. Every method may raise StoreUnwritable."""

    @property
    def definitions(self) -> DefinitionReader:
        """Reads the rows of definitions; `state.journal.definitions` has the operations that use them."""

    def put_inbox(self, rows: Sequence[InboxRow], claim: Sequence[tuple[str, Lane]] = ()) -> StoredInputs:
        """Store inputs durably before they are acknowledged to the sender, and claim the oldest new row of each (session, lane) in `claim`.

        A lane is one of a session's two queues. To claim a row is to add one to its `attempts` and return it, as `take_inbox` does; it
        happens in the same transaction, and the row need not be one of `rows`. Nobody else is kept from taking a claimed row: it stays new
        until it has been handled. So only the holder of the session's lease may claim, and only while it handles no other row of the lane.
        """

    def list_ready_sessions(self, owner: str = "", now: datetime | None = None) -> list[tuple[str, Lane]]:
        """Return each (session, lane) that has new (not yet handled) inbox rows, the one with the oldest row first.

        A lane is one of a session's two queues. If `now` is given, sessions that another owner than `owner` has leased at that time are
        left out.
        """

    def take_inbox(self, session: str, lane: Lane) -> InboxRow | None:
        """Return the oldest new (not yet handled) row in the session's queue `lane`, None if there is none; add one to its `attempts`."""

    def return_inbox(self, row_id: str) -> None:
        """Subtract one from the stored `attempts` of an inbox row, because the last attempt failed for a reason outside the input."""

    def list_waiting_inbox(self, session: str, lane: Lane, limit: int = 100) -> list[InboxRow]:
        """Return the new inbox rows in the session's queue `lane`, oldest first, and change none of them.

        A row is new until it has been handled, so the row that is being handled is one of them.
        """

    def find_inbox(self, source: str) -> InboxRow | None:
        """Return the inbox row with the unique `source`, whatever its status; None if there is none."""

    def finish_inbox(self, row_id: str, status: Literal["done", "quarantined"], note: str = "") -> None:
        """Set the final status of an inbox row without storing events: "quarantined" if it cannot be handled, with the reason in `note`."""

    def acquire(self, session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        """Acquire or renew the lease of a session (the right to write it) and return it; None while another owner holds it.

        The lease lasts until the time `until`, or until that of the process that holds it has ended (see `process_lease`). Each new owner
        gets the next epoch (the lease's number); commits with an older epoch are refused.
        """

    def expire_leases(self) -> None:
        """End all leases. Only for a process that holds the database's lock file, so that no other process uses the database."""

    def release(self, lease: Lease) -> None:
        """Release the lease; do nothing if its owner no longer holds it."""

    def commit(self, commit: Commit) -> list[StoredEvent]:
        """Write the commit in one transaction and return its stored events.

        Raises StaleEpoch, EffectConflict, WriteStopped, CapReached or Uncounted; then nothing of it is stored.
        """

    def commit_group(self, commits: Sequence[Commit]) -> list[list[StoredEvent]]:
        """Write commits of any streams in one transaction and return the events of each.

        Raises what `commit` raises for any of them; then nothing of any is stored.
        """

    def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Return those events of a stream (the record of one session) whose number (seq) is above `after`, in order."""

    def read_head(self, stream: str) -> tuple[int, str]:
        """Return the number (seq) and hash that the stream's last event should have; (0, "") if it has no events.

        Both are stored apart from the events, so that missing events are noticed.
        """

    def read_records(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """Return (seq, raw, hash) of the records with seq > `after`, in order. `raw` is the text of the whole record, still encrypted."""

    def read_encrypted(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """Return (seq, type, data) of the records with seq > `after`, in order. `data` is the stored JSON text, still encrypted."""

    def list_heads(self) -> list[tuple[str, int, str]]:
        """Return (stream, seq, hash) for every stream with events: the number (seq) and hash that its last event should have."""

    def list_ends(self) -> list[tuple[str, int, str]]:
        """Return (stream, seq, ts) for every stream with events: the number (seq) of its last event, and when that was written."""

    def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Return events of all streams with id > `after` and one of `types` (all if empty), in order of id, which is nearly time order.

        For look-ups only: a commit that is still running may add an event whose id is below ids already returned. `prev` is left empty.
        """

    def scan_back(self, types: Sequence[str] = (), before: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Return events of all streams with id < `before` ("" for all) and one of `types` (all if empty), the newest id first.

        For look-ups only, as `scan`.
        """

    def scan_clear(self, types: Sequence[str], after: str = "", limit: int = 1000) -> list[ClearEvent]:
        """Return what `scan` returns, but only the part readable without a key: much faster, for counting."""

    def list_streams(self) -> list[str]:
        """Return the name of every stream in the journal: "session:<key>", or "run:<id>" for work outside of any session."""

    def load_snapshot(self, stream: str) -> Snapshot | None:
        """Return the newest snapshot of the stream's state, None if there is none."""

    def find_effect(self, effect_id: str) -> EffectRow | None:
        """Return the row of the effect (proposed call) with that id, None if there is none."""

    def list_effects(self, stream: str, status: EffectStatus) -> list[EffectRow]:
        """Return the effects (proposed calls) of a stream that have the status `status`, sorted by the time of their last change."""

    def list_effects_in(self, status: EffectStatus, limit: int = 1000) -> list[EffectRow]:
        """Return at most `limit` effects (proposed calls) of all streams that have the status `status`, the one changed first first.

        It is meant for a status that few effects have: if there are more than `limit`, some of them are left out.
        """

    def find_effects(self, effect_ids: Sequence[str]) -> list[EffectRow]:
        """Return the effects (proposed calls) with these ids, in no order; those without a row or with a damaged one are left out."""

    def count_starts(self, person: str, now: datetime, account: str = "") -> int | None:
        """Return how many changes were started for `person` within the 24 hours before `now`, as commits count them (`StartCount`).

        None if the database has no count of the person yet, or if it has one of `account`, too: a key under which starts of the same person
        may have been counted before, so that some may be in both counts.
        """

    def list_calls_about(self, record: str, after: str, limit: int) -> list[str]:
        """Return the ids of at most `limit` effects meant to change `record`, from events with id > `after`, the newest first."""

    def list_index_entries(self, about: str, what: What, after: str = "", limit: int = 1000) -> list[IndexEntry]:
        """Return the index entries of the kind `what` about `about` (a record or call), from events with id > `after`, oldest first.

        An index entry says that an event is about a record or call, and in which way (`what`); see `state.journal.record_index`.
        """

    def list_last_index_entries(self, about: str, what: What, limit: int) -> list[IndexEntry]:
        """Return the newest `limit` index entries of the kind `what` for the record or call `about`, newest first."""

    def list_runs(self, wanted: RunFilter) -> list[RunRow]:
        """Return the runs that fit `wanted`, the one that was started last first."""

    def remove_run(self, key: str, digests: Sequence[str]) -> int:
        """Remove the index entry and the snapshot of the run "run:<id>", and those blobs among `digests` that belong to it alone.

        Return how many blobs were removed. Its records stay.
        """

    def load_blob(self, digest: str) -> str | None:
        """Return the large answer of the portal that is stored under its SHA-256 `digest`, None if there is none."""

    def list_due_outbox(self, channel: str, now: datetime, limit: int = 50) -> list[OutboxRow]:
        """Return the channel's unsent outbox rows that are due, oldest first. A row waits while its session has an older unsent row."""

    def mark_outbox_sent(self, row_id: str, sent_ref: str) -> None:
        """Mark the outbox row as delivered. `sent_ref` is the id of the sent message, so that it can be edited later."""

    def reschedule_outbox(self, row_id: str, due_at: datetime, note: str) -> None:
        """Record that the outbox row was not delivered, for the reason in `note`, and is to be tried again at `due_at`."""

    def mark_outbox_failed(self, row_id: str, note: str) -> None:
        """Mark the outbox row as undeliverable, for the reason in `note`. Operators can still see it."""

    def find_sent_ref(self, session: str, key: str) -> str:
        """Return the `sent_ref` (id) of the message last sent for an outbox row of `session` with the key `key`, "" if there is none."""

    def list_due_timers(self, now: datetime, limit: int = 100) -> list[Timer]:
        """Return timers whose `due_at` has come, oldest first. A timer stays until a commit deletes it."""

    def list_timers(self, kind: str, after: str = "", limit: int = 1000) -> list[Timer]:
        """Return the timers of one kind with an id above `after`, sorted by id, whether they are due or not."""

    def find_timer(self, timer_id: str) -> Timer | None:
        """Return the timer with this id, None if there is none."""

    def get_value(self, key: str) -> str | None:
        """Return the small value stored under `key` (such as a polling offset), None if there is none."""

    def set_value(self, key: str, value: str) -> None:
        """Store the small value `value` durably under `key`."""

    def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        """If the stored value is `expected` (None: there is none), replace it durably and return True; else return False."""

    def close(self) -> None:
        """Flush to disk and close every connection."""
