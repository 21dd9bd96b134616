"""The one port of durable memory: journal, inbox, outbox, effects, snapshots, leases, timers, blobs.

Everything a step changes travels in one `Commit` and lands in one transaction, or not at all. Synchronous; `state.journal.async_store`
drives it from a thread. Implementations: `state.sql` (SQLite, in memory or a file; PostgreSQL).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from state.events.codec import EncodedEvent
from state.events.core import Event
from state.journal.daily_count import StartCount
from state.journal.record_index import IndexEntry, What

EffectStatus = Literal["requested", "approved", "denied", "expired", "superseded", "started", "succeeded", "refused", "unknown"]
Lane = Literal["turn", "express"]
SWITCH = "freeze"
"""The value that freezes writes unless it is empty or was never set; only a commit sets it (`Commit.switch`)."""


SET_ASIDE = 1_000_000
"""An input that was tried more often than this came back with a backup: it may have been worked on since, and is not worked again."""
RESTORED_CARD = "came_back"
"""In the stored call of a card that came with a backup: when that was. Before it runs, the portal is asked whether it has run."""
RESTORED = "restored"
"""The named value that tells, as JSON, of the last restore: `made_at` of the backup, and `restored_at`."""


class StoreError(Exception):
    """The store could not do what was asked; nothing of the commit is kept."""


class StoreUnwritable(StoreError):
    """Disk full, read-only, locked for too long, or the database is gone."""


class StaleEpoch(StoreError):
    """Another process took this session over; the late write is refused."""


class WriteStopped(StoreError):
    """Writes are frozen: a call that changes anything outside may not start."""


class CapReached(StoreError):
    """As many changes as this person may make within a day were begun already."""


class Uncounted(StoreError):
    """The database keeps no count of this person: the start has to tell what the journal knows (`Count.known`)."""


class EffectConflict(StoreError):
    """The effect is not in the status that this step needs: somebody else was first."""


@dataclass(frozen=True, kw_only=True)
class StoredEvent:
    """One line of the journal. `data` is opened and upcast to today's shape; `raw` is the exact stored text that `hash` covers."""

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
    """Its person was erased: what was personal in `data` is blank and cannot be read any more."""


class ClearEvent(NamedTuple):
    """What of an event can be read without a key: `data` is as it was stored, in the shape of its time, without what is sealed."""

    id: str
    ts: str
    type: str
    actor: str
    data: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class InboxRow:
    """One input to work on. `source` is unique ("telegram:<bot>:<update_id>", "http:<token>:<request id>", "timer:<id>").

    `lane` "express" (decisions, /stop) may overtake a running turn of the same session; within a lane order is kept.
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


class StoredInputs(NamedTuple):
    """What became of new inputs, and the rows that were claimed along with them."""

    fresh: list[bool]
    """For each input whether it is new: False where its source was known."""
    claimed: list[InboxRow]
    """Of each lane that was asked for the oldest new row, its attempt counted; none of a lane in which nothing waits."""


@dataclass(frozen=True, kw_only=True)
class OutboxRow:
    """Something to deliver to a person, at least once.

    `key` identifies it: a second row with the same key replaces an unsent
    first one and, once sent, edits the same message (`sent_ref`).
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
    """Where one effect stands. `effect_id` is unique for ever; `call` is the frozen request as canonical JSON data."""

    effect_id: str
    stream: str
    status: EffectStatus
    fingerprint: str
    call: Mapping[str, Any]
    updated_at: datetime
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class EffectChange:
    """Compare-and-set of one effect: it must stand in one of `expect` ("absent" = no row yet), else the commit fails."""

    effect_id: str
    expect: tuple[str, ...]
    status: EffectStatus
    fingerprint: str = ""
    call: Mapping[str, Any] | None = None
    outcome: Mapping[str, Any] | None = None
    though_frozen: bool = False
    """It may start while writes are frozen, since it changes nothing outside; else WriteStopped."""
    count: StartCount | None = None
    """What this start counts for its person; CapReached where it is too much, Uncounted where the count must be told first."""


@dataclass(frozen=True, kw_only=True)
class Timer:
    """Something due later. Setting one with a known id replaces it; `delete` drops it."""

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
    """The right to work on a session until `until`; every append is fenced by `epoch`."""

    session: str
    owner: str
    epoch: int
    until: datetime


@dataclass(frozen=True, kw_only=True)
class Commit:
    """All that one step changes, written in one transaction. `epoch` fences it: it must be the session's current one.

    Streams "session:<key>" are fenced by the lease of <key>, streams "run:<id>" by the lease of "run:<id>".
    """

    stream: str
    epoch: int
    actor: str
    now: datetime
    events: Sequence[Event] = ()
    encoded_events: Sequence[EncodedEvent] = ()
    """The same events as they go into the journal, where the caller has made that of them already."""
    effects: Sequence[EffectChange] = ()
    outbox: Sequence[OutboxRow] = ()
    timers: Sequence[Timer] = ()
    inbox_done: Sequence[str] = ()
    inbox_new: Sequence[InboxRow] = ()
    """New inputs. One whose source waits already gives that one another body, and keeps its place in the lane."""
    blobs: Mapping[str, str] = field(default_factory=dict)
    snapshot: Snapshot | None = None
    switch: str | None = None
    """What the switch that freezes writes stands at from now on, "" = writes may start; once it is stored none starts that may not."""
    after: int | None = None
    """The seq at which the stream must end before it: a step whose first try was stored after all is refused, never stored twice."""
    earlier: Sequence["Commit"] = ()
    """Steps of the same stream and epoch that nobody has stored yet: they go first, in this very transaction."""


class Store(Protocol):
    """See the module docstring. Every method may raise StoreUnwritable."""

    def put_inbox(self, rows: Sequence[InboxRow], claim: Sequence[tuple[str, Lane]] = ()) -> StoredInputs:
        """Store inputs durably before they are acknowledged; in the same transaction do as `next_inbox` for the lanes of `claim`.

        A claimed row is nobody's: it stays new, `give_back` takes its attempt back, and whoever looks for ready sessions finds it again.
        So only who holds the session, and works nothing else of that lane until the row is done, may claim. It need not be one of `rows`.
        """
        ...

    def list_ready_sessions(self, owner: str = "", now: datetime | None = None) -> list[tuple[str, Lane]]:
        """The sessions and lanes with new inbox rows, oldest first; with `owner` only those that nobody else holds at `now`."""
        ...

    def take_inbox(self, session: str, lane: Lane) -> InboxRow | None:
        """The oldest new row of that lane; counts the attempt durably."""
        ...

    def return_inbox(self, row_id: str) -> None:
        """Take the attempt back: it came to nothing for a reason that lies not in the input."""
        ...

    def list_waiting_inbox(self, session: str, lane: Lane, limit: int = 100) -> list[InboxRow]:
        """The new rows of that lane, oldest first, the one at work too; counts no attempt."""
        ...

    def find_inbox(self, source: str) -> InboxRow | None:
        """The input with that source, whatever has become of it; None where nobody has sent it."""
        ...

    def finish_inbox(self, row_id: str, status: Literal["done", "quarantined"], note: str = "") -> None:
        """Close a row without events (a poison row is quarantined with its reason, never dropped)."""
        ...

    def acquire(self, session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        """Take or renew the lease: same owner keeps the epoch, a free or expired one goes over with epoch + 1, else None."""
        ...

    def expire_leases(self) -> None:
        """End every lease at once. Only for a process that knows it is the only one on this database (it holds its lock file)."""
        ...

    def release(self, lease: Lease) -> None:
        """Give the lease up if it is still ours."""
        ...

    def commit(self, commit: Commit) -> list[StoredEvent]:
        """Write the commit in one transaction; StaleEpoch, EffectConflict, WriteStopped, CapReached or Uncounted keep nothing of it."""
        ...

    def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Events of the stream with seq > after, in order."""
        ...

    def read_head(self, stream: str) -> tuple[int, str]:
        """The seq and hash the stream should end at, kept apart from its events; (0, "") for one without events."""
        ...

    def read_records(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """(seq, raw, hash) of the records with seq > after, in order, exactly as stored: nothing of them is decoded or understood."""
        ...

    def read_encrypted(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """(seq, type, data) of the records with seq > after, in order: what is sealed stays so."""
        ...

    def list_heads(self) -> list[tuple[str, int, str]]:
        """(stream, seq, hash) that every stream with events should end at."""
        ...

    def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Events of all streams with id > after, of these types (all without), in the order of their ids, which is nearly that of time.

        For looking something up: an event of a commit under way may later appear before one that was read. `prev` is left empty.
        """
        ...

    def scan_clear(self, types: Sequence[str], after: str = "", limit: int = 1000) -> list[ClearEvent]:
        """As `scan`, but only what is readable without a key: much faster, for counting."""
        ...

    def list_streams(self) -> list[str]:
        """Every stream of the journal."""
        ...

    def load_snapshot(self, stream: str) -> Snapshot | None:
        """The newest snapshot, or None."""
        ...

    def find_effect(self, effect_id: str) -> EffectRow | None:
        """One effect."""
        ...

    def list_effects(self, stream: str, status: EffectStatus) -> list[EffectRow]:
        """The effects of a stream in that status, oldest change first."""
        ...

    def list_index_entries(self, about: str, what: What, after: str = "", limit: int = 1000) -> list[IndexEntry]:
        """Where the journal speaks of that record or call in that way, by events with an id > after, the oldest first."""
        ...

    def list_last_index_entries(self, about: str, what: What, limit: int) -> list[IndexEntry]:
        """The same, the youngest first."""
        ...

    def load_blob(self, digest: str) -> str | None:
        """A stored large answer."""
        ...

    def list_due_outbox(self, channel: str, now: datetime, limit: int = 50) -> list[OutboxRow]:
        """Unsent rows that are due, oldest first; a row waits while an older unsent row of its session exists."""
        ...

    def mark_outbox_sent(self, row_id: str, sent_ref: str) -> None:
        """Delivered; `sent_ref` names the message for later edits."""
        ...

    def reschedule_outbox(self, row_id: str, due_at: datetime, note: str) -> None:
        """Not delivered: try again at `due_at`."""
        ...

    def mark_outbox_failed(self, row_id: str, note: str) -> None:
        """Given up; kept for ops."""
        ...

    def find_sent_ref(self, session: str, key: str) -> str:
        """Where the row with that key was last delivered, or ""."""
        ...

    def list_due_timers(self, now: datetime, limit: int = 100) -> list[Timer]:
        """Timers that are due, oldest first; they stay until a commit deletes them."""
        ...

    def get_value(self, key: str) -> str | None:
        """A small named value (polling offset, rotated token)."""
        ...

    def set_value(self, key: str, value: str) -> None:
        """Set a small named value durably."""
        ...

    def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        """Set it durably if it is `expected` now (None: not set yet); else change nothing and return False."""
        ...

    def close(self) -> None:
        """Flush and close."""
        ...
