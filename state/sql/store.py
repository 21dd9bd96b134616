"""`Store` over one SQL database (ring 1). Keeps nothing in memory: two processes may hold stores on one database."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

import orjson

from state import canonical
from state.clock import format_iso
from state.journal.journal import RecordHead, record_text
from state.journal.record_index import IndexEntry, What
from state.journal.store import (
    ClearEvent,
    Commit,
    EffectRow,
    EffectStatus,
    InboxRow,
    Lane,
    Lease,
    OutboxRow,
    Snapshot,
    StoredEvent,
    StoredInputs,
    Timer,
)
from state.sql import commit as outbox
from state.sql import commit as writing
from state.sql import commit_batch, row_mapping, schema, server_functions
from state.sql.commit_batch import Changes, CommitBatch, CommitCall, KnownStream
from state.sql.database import Contended, Database, Params, Row, Statement, translate_errors
from state.sql.dialect import Dialect, open_database, open_read_only
from state.sql.server_functions import Function
from state.sql.statements import compile_statements

if TYPE_CHECKING:
    from state.sql.erasure import Erasure

log = logging.getLogger(__name__)

REMEMBERED = 10_000
"""Streams whose end a process keeps in mind; beyond that it begins anew."""


def open_store(url: str) -> "SqlStore":
    """Open the database behind `url` and bring its schema up to date.

    StoreUnwritable where it cannot be opened; NewerDatabase where a newer program wrote it; ValueError for other kinds.
    """
    with translate_errors(), open_database(url) as dialect:
        try:
            schema.upgrade(dialect)
        except BaseException:
            dialect.engine.dispose()
            raise
        return SqlStore(dialect)


def open_reader(url: str) -> "SqlStore":
    """The database behind `url` to look into, beside those who work with it: creates, migrates and writes nothing.

    StoreUnwritable where it cannot be opened (or is written to after all); StoreError where its schema is not today's.
    """
    with translate_errors(), open_read_only(url) as dialect:
        try:
            schema.check(dialect)
        except BaseException:
            dialect.engine.dispose()
            raise
        return SqlStore(dialect)


class SqlStore:
    """The port of `state.journal.store`, whose docstrings hold here; safe to use from several threads."""

    def __init__(self, dialect: Dialect) -> None:
        """Use an opened database of today's schema; `open_store` makes one."""
        self._dialect = dialect
        self._database = Database(dialect)
        self._gathers = dialect.batches_commits
        self._known: dict[str, KnownStream] = {}
        self.threads = dialect.threads
        """How many calls it is good to have under way."""
        self._statements = compile_statements(dialect)

    def put_inbox(self, rows_: Sequence[InboxRow], claim: Sequence[tuple[str, Lane]] = ()) -> StoredInputs:
        """Store inputs; False where `source` was known already. Claims the oldest new row of each lane of `claim`."""
        if self._gathers:
            given = orjson.dumps({"rows": [row_mapping.to_inbox_params(row) for row in rows_], "claim": claim})
            answer = orjson.loads(self._call(server_functions.RECEIVE, given))
            return StoredInputs(_mark_fresh(rows_, answer["fresh"]), _to_readable_rows(answer["claimed"]))
        with self._database.write() as transaction:
            fresh = writing.put_inbox(transaction, self._statements, rows_)
            lanes = [{"at_session": session, "at_lane": lane} for session, lane in claim]
            claimed = [row for lane in lanes for row in transaction.fetch_rows(self._statements.next_inbox, lane)]
        return StoredInputs(fresh, _to_readable_rows(claimed))

    def list_ready_sessions(self, owner: str = "", now: datetime | None = None) -> list[tuple[str, Lane]]:
        """Sessions and lanes with new inputs, oldest first; with `owner` without those that somebody else holds at `now`."""
        if now is None:
            return [(session, lane) for session, lane in self._fetch_rows(self._statements.ready, {})]
        with self._database.read() as transaction:
            asked = {"at_owner": owner, "at_now": format_iso(now + self._database.measure_skew(transaction))}
            return [(session, lane) for session, lane in transaction.fetch_rows(self._statements.ready_for, asked)]

    def take_inbox(self, session: str, lane: Lane) -> InboxRow | None:
        """The oldest new input of the lane; the attempt is counted before anybody works on it."""
        with self._database.write_one() as transaction:
            found = transaction.fetch_row(self._statements.next_inbox, {"at_session": session, "at_lane": lane})
        return row_mapping.to_inbox_row(found) if found else None

    def return_inbox(self, row_id: str) -> None:
        """Take the attempt at a new input back."""
        self._write(self._statements.give_back, {"at_id": row_id})

    def list_waiting_inbox(self, session: str, lane: Lane, limit: int = 100) -> list[InboxRow]:
        """The new inputs of the lane, oldest first; counts no attempt."""
        wanted = {"at_session": session, "at_lane": lane, "at_most": limit}
        return [row_mapping.to_inbox_row(row) for row in self._fetch_rows(self._statements.waiting_inbox, wanted)]

    def find_inbox(self, source: str) -> InboxRow | None:
        """The input with that source, whatever has become of it."""
        found = self._fetch_rows(self._statements.input_of, {"at_source": row_mapping.to_stored_source(source)})
        return row_mapping.to_inbox_row(found[0]) if found else None

    def finish_inbox(self, row_id: str, status: Literal["done", "quarantined"], note: str = "") -> None:
        """Close an input without events."""
        self._write(self._statements.finish_inbox, {"at_id": row_id, "status": status, "note": note})

    def acquire(self, session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        """Take or renew the lease of the session; None while another owner's runs, by the database's own clock if it has one."""
        with self._database.write_one() as transaction:
            ahead = self._database.measure_skew(transaction)
            asked = {"session": session, "owner": owner, "at_now": format_iso(now + ahead), "until": format_iso(until + ahead)}
            found = transaction.fetch_row(self._statements.acquire, asked)
        return Lease(session=session, owner=owner, epoch=found[0], until=until) if found else None

    def expire_leases(self) -> None:
        """End every lease; the next owner of a session gets a new epoch. What a dead process left in the log is flushed first."""
        self._database.mark_unflushed()
        self._write(self._statements.void_leases, {})

    def release(self, lease: Lease) -> None:
        """Give the lease up if it is still ours; a commit under it is refused from now on."""
        ours = {"at_session": lease.session, "at_owner": lease.owner, "at_epoch": lease.epoch}
        self._known.pop(lease.session, None)
        self._write(self._statements.release, ours)

    def commit(self, commit: Commit) -> list[StoredEvent]:
        """Write one step, and those before it, in one transaction; StaleEpoch or EffectConflict keep nothing of it."""
        steps = [(step, writing.build_drafts(step)) for step in (*commit.earlier, commit)]

        def locked() -> list[StoredEvent]:
            with self._database.write() as transaction:
                return writing.write(transaction, self._statements, steps, commit.after)

        # First with what is remembered; where that no longer holds, with what is read; where others keep coming between, under a lock.
        for _ in range(2 if self._gathers else 0):
            with suppress(Contended):
                return self._commit_batch(commit, steps)
        return self._database.retry(locked)

    def _commit_batch(self, commit: Commit, steps: Sequence[writing.Step]) -> list[StoredEvent]:
        session = writing.to_lease_key(commit.stream)
        known = self._known.pop(session, None)  # whatever fails is read anew
        if known is not None and (known.epoch != commit.epoch or commit.after not in (None, known.seq)):
            known = None
        if known is not None and all(writing.find_key_owner(step) in known.keys for step, _ in steps):
            gathering = CommitBatch(None, self._statements, known)
            stored = writing.write(gathering, self._statements, steps, commit.after)
        else:
            with self._database.begin(partial(CommitBatch, statements=self._statements, known=known)) as gathering:
                stored = writing.write(gathering, self._statements, steps, commit.after)
        self._send(gathering.collect_changes())
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[session] = gathering.build_known()
        return stored

    def _send(self, changes: Changes) -> None:
        with self._database.begin(CommitCall) as transaction:
            commit_batch.send(transaction, changes)

    def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """Events of the stream with seq > after, in order; UnknownEvent where a newer program wrote one."""
        wanted = {"at_stream": stream, "at_seq": after, "at_most": limit + 1}
        found, prev = [], ""
        journal, secrets = self._fetch_journal_rows(self._statements.events_from, wanted)
        for row in journal:
            if row[1] > after:
                found.append(row_mapping.to_stored_event(row, prev, secrets))
            prev = row[-1]
        return found[:limit]

    def read_head(self, stream: str) -> tuple[int, str]:
        """The seq and hash that the stream should end at."""
        found = self._fetch_rows(self._statements.head, {"at_session": writing.to_lease_key(stream)})
        return (found[0][0], found[0][1]) if found else (0, "")

    def read_records(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """(seq, raw, hash) of the records with seq > after, in order, exactly as stored."""
        wanted = {"at_stream": stream, "at_seq": after + 1, "at_most": limit}
        return [
            (row[1], record_text(RecordHead(*row[:7]), row[7]), row[8]) for row in self._fetch_rows(self._statements.events_from, wanted)
        ]

    def read_encrypted(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        """(seq, type, data) of the records with seq > after, in order: what is sealed stays so."""
        wanted = {"at_stream": stream, "at_seq": after + 1, "at_most": limit}
        return [(row[1], row[4], row[7]) for row in self._fetch_rows(self._statements.events_from, wanted)]

    def list_heads(self) -> list[tuple[str, int, str]]:
        """(stream, seq, hash) that every stream with events should end at."""
        return [(writing.to_stream(key), seq, hash_) for key, seq, hash_ in self._fetch_rows(self._statements.heads, {})]

    def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        """Events of all streams with id > after, of these types (all without), in the order of their ids; `prev` is empty."""
        wanted = {"at_id": after, "at_most": limit, **{f"at_{number}": name for number, name in enumerate(types)}}
        journal, secrets = self._fetch_journal_rows(self._statements.build_scan(len(types)), wanted)
        return [row_mapping.to_stored_event(row, "", secrets) for row in journal]

    def scan_clear(self, types: Sequence[str], after: str = "", limit: int = 1000) -> list[ClearEvent]:
        """As `scan`, only what is readable without a key. StoreError where a record is no JSON."""
        wanted = {"at_id": after, "at_most": limit, **{f"at_{number}": name for number, name in enumerate(types)}}
        return [row_mapping.to_clear_event(row) for row in self._fetch_rows(self._statements.build_scan(len(types)), wanted)]

    def list_streams(self) -> list[str]:
        """Every stream that has events."""
        return [stream for stream, _, _ in self.list_heads()]

    def load_snapshot(self, stream: str) -> Snapshot | None:
        """The newest snapshot; None too where it cannot be read, since it can be made again."""
        found = self._fetch_rows(self._statements.snapshot, {"at_stream": stream})
        if not found:
            return None
        seq, text = found[0]
        try:
            return Snapshot(stream=stream, seq=seq, state=canonical.loads(text))
        except orjson.JSONDecodeError:
            log.warning("snapshot of %s is unreadable", stream, extra={"action": "snapshot.unreadable"})
            return None

    def find_effect(self, effect_id: str) -> EffectRow | None:
        """One effect."""
        found = self._fetch_rows(self._statements.effect, {"at_effect_id": effect_id})
        return row_mapping.to_effect_row(found[0]) if found else None

    def list_effects(self, stream: str, status: EffectStatus) -> list[EffectRow]:
        """The effects of a stream in that status, oldest change first."""
        found = self._fetch_rows(self._statements.effects, {"at_stream": stream, "at_status": status})
        return [row_mapping.to_effect_row(row) for row in found]

    def list_index_entries(self, about: str, what: What, after: str = "", limit: int = 1000) -> list[IndexEntry]:
        """Where the journal speaks of it in that way behind that id, the oldest first."""
        wanted = {"at_about": about, "at_what": what, "at_id": after, "at_most": limit}
        return [IndexEntry(*row) for row in self._fetch_rows(self._statements.mentions, wanted)]

    def list_last_index_entries(self, about: str, what: What, limit: int) -> list[IndexEntry]:
        """The same, the youngest first."""
        wanted = {"at_about": about, "at_what": what, "at_most": limit}
        return [IndexEntry(*row) for row in self._fetch_rows(self._statements.last_mentions, wanted)]

    def load_blob(self, digest: str) -> str | None:
        """A stored large answer."""
        found = self._fetch_rows(self._statements.blob, {"at_digest": digest})
        return found[0][0] if found else None

    def list_due_outbox(self, channel: str, now: datetime, limit: int = 50) -> list[OutboxRow]:
        """At most one row a session: its oldest unsent one, if that is due. `sent_ref` tells which message to edit."""
        wanted = {"at_channel": channel, "at_now": format_iso(now), "at_most": limit}
        return [row_mapping.to_outbox_row(row) for row in self._fetch_rows(self._statements.due_outbox, wanted)]

    def mark_outbox_sent(self, row_id: str, sent_ref: str) -> None:
        """Delivered. For a row that was replaced meanwhile only the place is kept, for the edit that follows."""
        if self._gathers:
            self._call(server_functions.SENT, row_id.encode(), sent_ref.encode())
            return
        with self._database.write() as transaction:
            outbox.record_delivery(transaction, self._statements, row_id, sent_ref)

    def reschedule_outbox(self, row_id: str, due_at: datetime, note: str) -> None:
        """Not delivered: it goes first again at `due_at`."""
        self._write(self._statements.outbox_retry, {"at_id": row_id, "due_at": format_iso(due_at), "note": note})

    def mark_outbox_failed(self, row_id: str, note: str) -> None:
        """Given up; kept for ops, and no longer in the way of later rows."""
        self._write(self._statements.outbox_failed, {"at_id": row_id, "note": note})

    def find_sent_ref(self, session: str, key: str) -> str:
        """Where the row with that key was last delivered, or ""."""
        found = self._fetch_rows(self._statements.where_sent, {"at_session": session, "at_key": key})
        return found[0][0] if found else ""

    def list_due_timers(self, now: datetime, limit: int = 100) -> list[Timer]:
        """Timers that are due, oldest first; they stay until a commit deletes them."""
        found = self._fetch_rows(self._statements.due_timers, {"at_now": format_iso(now), "at_most": limit})
        return [row_mapping.to_timer(row) for row in found]

    def get_value(self, key: str) -> str | None:
        """A small named value."""
        found = self._fetch_rows(self._statements.value, {"at_key": key})
        return found[0][0] if found else None

    def set_value(self, key: str, value: str) -> None:
        """Set a small named value durably."""
        self._write(self._statements.set_value, {"key": key, "value": value})

    def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        """Set it if it is `expected` now; of several who try at once one succeeds."""
        with self._database.write_one() as transaction:
            if expected is None:
                return transaction.run(self._statements.add_value, {"key": key, "value": value}) == 1
            return transaction.run(self._statements.swap_value, {"at_key": key, "at_value": expected, "value": value}) == 1

    def open_erasure(self) -> "Erasure":
        """What ops need to find and remove all that is stored of one person."""
        from state.sql.erasure import Erasure  # noqa: PLC0415 - the bot never needs it

        return Erasure(self._dialect)

    def close(self) -> None:
        """Close every connection; every later call raises StoreUnwritable."""
        self._database.close()

    def _call(self, function: Function, *given: bytes) -> bytes:
        """The server's answer to one call; made anew where another transaction came between."""

        def attempt() -> bytes:
            with self._database.write_one() as transaction:
                return transaction.call(function, *given)

        return self._database.retry(attempt)

    def _write(self, statement: Statement, params: Params) -> None:
        with self._database.write_one() as transaction:
            transaction.run(statement, params)

    def _fetch_journal_rows(self, statement: Statement, params: Params) -> tuple[list[Row], dict[str, str]]:
        """Rows of the journal, and the keys they need as they are now: none is kept, since another process may erase it."""
        with self._database.read() as transaction:
            found = transaction.fetch_rows(statement, params)
            return found, writing.fetch_secrets(transaction, self._statements, row_mapping.collect_key_ids(found))

    def _fetch_rows(self, statement: Statement, params: Params) -> list[Row]:
        with self._database.read() as transaction:
            return transaction.fetch_rows(statement, params)


def _mark_fresh(new: Sequence[InboxRow], fresh: Sequence[str]) -> list[bool]:
    """For each input whether it was added; the same once more in one call was known by then."""
    left = set(fresh)
    answer = []
    for row in new:
        answer.append(row.id in left)
        left.discard(row.id)
    return answer


def _to_readable_rows(claimed: Iterable[Row]) -> list[InboxRow]:
    """The rows; one that cannot be read is left to who asks for it by itself: the inputs of this call are stored."""
    found = []
    for row in claimed:
        with suppress(ValueError):
            found.append(row_mapping.to_inbox_row(row))
    return found
