"""Stores everything in an SQL database, for several processes.

The end of each stream is remembered, and verified by each commit.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import orjson

from state import canonical
from state.clock import format_iso
from state.journal import daily_count
from state.journal.blobs import get_blob_prefix
from state.journal.journal import RecordHead, record_text, to_lease_key, to_stream
from state.journal.record_index import IndexEntry, What
from state.journal.run_index import MOST, NO_TIME, PREFIX, RunFilter, RunRow
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
from state.sql import row_mapping, schema
from state.sql.checksummed_json import DamagedRow
from state.sql.commit import CommitBatch, KnownStream
from state.sql.database import Contended, Database, Params, Row, Statement, translate_errors
from state.sql.definitions import SqlDefinitions
from state.sql.dialect import Dialect, open_database, open_read_only
from state.sql.pipeline import Answer, Pipeline, Queued
from state.sql.statements import compile_statements

if TYPE_CHECKING:
    from state.sql.erasure import Erasure

log = logging.getLogger(__name__)

REMEMBERED = 10_000
AT_ONCE = (1, 4, 16, 64, 200)
AFTER_ALL = "g"
"""Sorts after the id of every event."""


def open_store(url: str) -> "SqlStore":
    """Raises StoreUnwritable, NewerDatabase, and ValueError for another kind of database."""
    with translate_errors(), open_database(url) as dialect:
        try:
            schema.upgrade_schema(dialect)
        except BaseException:
            dialect.engine.dispose()
            raise
        return SqlStore(dialect)


def open_reader(url: str) -> "SqlStore":
    """Open for reading: every write raises StoreUnwritable.

    Raises StoreUnwritable if it cannot be opened, StoreError for another schema.
    """
    with translate_errors(), open_read_only(url) as dialect:
        try:
            schema.check_schema(dialect)
        except BaseException:
            dialect.engine.dispose()
            raise
        return SqlStore(dialect)


class SqlStore:
    """Implements `state.journal.store.Store`, whose docstrings apply. Safe for several threads."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._database = Database(dialect)
        self._gathers = dialect.batches_commits
        self._known: dict[str, KnownStream] = {}
        self.threads = dialect.threads
        self._statements = compile_statements(dialect)
        self._fetch_rows = self._database.fetch_rows
        self.definitions = SqlDefinitions(self._database, self._statements.definitions)

    def put_inbox(self, rows_: Sequence[InboxRow], claim: Sequence[tuple[str, Lane]] = ()) -> StoredInputs:
        if self._gathers:
            added = [Queued(self._statements.add_inbox, row_mapping.to_inbox_params(row)) for row in rows_]
            claims = [Queued(self._statements.next_inbox, {"at_session": session, "at_lane": lane}) for session, lane in claim]
            answers = self._database.retry(lambda: self._send([*added, *claims]))
            claimed = [row for answer in answers[len(added) :] for row in answer.rows]
            return StoredInputs([answer.changed == 1 for answer in answers[: len(added)]], row_mapping.to_readable_rows(claimed))
        with self._database.write() as transaction:
            fresh = writing.put_inbox(transaction, self._statements, rows_)
            lanes = [{"at_session": session, "at_lane": lane} for session, lane in claim]
            claimed = [row for lane in lanes for row in transaction.fetch_rows(self._statements.next_inbox, lane)]
        return StoredInputs(fresh, row_mapping.to_readable_rows(claimed))

    def list_ready_sessions(self, owner: str = "", now: datetime | None = None) -> list[tuple[str, Lane]]:
        if now is None:
            return [(session, lane) for session, lane in self._fetch_rows(self._statements.ready, {})]
        with self._database.read() as transaction:
            params = {"at_owner": owner, "at_now": format_iso(now + self._database.measure_skew(transaction))}
            return [(session, lane) for session, lane in transaction.fetch_rows(self._statements.ready_for, params)]

    def take_inbox(self, session: str, lane: Lane) -> InboxRow | None:
        with self._database.write_one() as transaction:
            row = transaction.fetch_row(self._statements.next_inbox, {"at_session": session, "at_lane": lane})
        return row_mapping.to_inbox_row(row) if row else None

    def return_inbox(self, row_id: str) -> None:
        self._write(self._statements.give_back, {"at_id": row_id})

    def list_waiting_inbox(self, session: str, lane: Lane, limit: int = 100) -> list[InboxRow]:
        params = {"at_session": session, "at_lane": lane, "at_most": limit}
        return [row_mapping.to_inbox_row(row) for row in self._fetch_rows(self._statements.waiting_inbox, params)]

    def find_inbox(self, source: str) -> InboxRow | None:
        rows = self._fetch_rows(self._statements.input_of, {"at_source": row_mapping.to_stored_source(source)})
        return row_mapping.to_inbox_row(rows[0]) if rows else None

    def finish_inbox(self, row_id: str, status: Literal["done", "quarantined"], note: str = "") -> None:
        self._write(self._statements.finish_inbox, {"at_id": row_id, "status": status, "note": note})

    def acquire(self, session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        """On PostgreSQL the server's clock decides whether a lease has ended."""
        with self._database.write_one() as transaction:
            ahead = self._database.measure_skew(transaction)
            params = {"session": session, "owner": owner, "at_now": format_iso(now + ahead), "until": format_iso(until + ahead)}
            row = transaction.fetch_row(self._statements.acquire, params)
        return Lease(session=session, owner=owner, epoch=row[0], until=until) if row else None

    def expire_leases(self) -> None:
        """What a dead process left in SQLite's log is flushed before."""
        self._database.mark_unflushed()
        self._write(self._statements.void_leases, {})

    def release(self, lease: Lease) -> None:
        ours = {"at_session": lease.session, "at_owner": lease.owner, "at_epoch": lease.epoch}
        self._known.pop(lease.session, None)
        self._write(self._statements.release, ours)

    def commit(self, commit: Commit) -> list[StoredEvent]:
        steps = [(step, writing.build_drafts(step)) for step in (*commit.earlier, commit)]

        def locked() -> list[StoredEvent]:
            with self._database.write() as transaction:
                return writing.write_commit(transaction, self._statements, steps, commit.after)

        # First the commit is tried with the remembered end of the stream, then with the end as read, and at last under a lock. Definitions
        # change seldom: their commits go under a lock at once, so that the rules about their rows are written for one way only.
        for _ in range(2 if self._gathers and not any(step.definitions for step, _ in steps) else 0):
            with suppress(Contended):
                return self._commit_batch(commit, steps)
        return self._database.retry(locked)

    def commit_group(self, commits: Sequence[Commit]) -> list[list[StoredEvent]]:
        """On PostgreSQL under a lock, one statement after the other."""
        prepared = [(commit, [(step, writing.build_drafts(step)) for step in (*commit.earlier, commit)]) for commit in commits]
        for commit in commits:
            self._known.pop(to_lease_key(commit.stream), None)
        with self._database.write() as transaction:
            return [writing.write_commit(transaction, self._statements, steps, one.after) for one, steps in prepared]

    def _commit_batch(self, commit: Commit, steps: Sequence[writing.Step]) -> list[StoredEvent]:
        session = to_lease_key(commit.stream)
        known = self._known.pop(session, None)  # after any failure it is read again
        if known is not None and (known.epoch != commit.epoch or commit.after not in (None, known.seq)):
            known = None
        if known is not None and all(writing.find_key_owner(step) in known.keys for step, _ in steps):
            gathering = CommitBatch(None, self._statements, known)
            stored = writing.write_commit(gathering, self._statements, steps, commit.after)
        else:
            with self._database.begin(partial(CommitBatch, statements=self._statements, known=known)) as gathering:
                stored = writing.write_commit(gathering, self._statements, steps, commit.after)
        self._send(gathering.collect_statements())
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[session] = gathering.build_known()
        return stored

    def _send(self, queued: Sequence[Queued]) -> list[Answer]:
        with self._database.begin(Pipeline) as pipeline:
            return pipeline.send(queued)

    def read_events(self, stream: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        params = {"at_stream": stream, "at_seq": after + 1, "at_most": limit}
        journal, secrets = self._fetch_journal_rows(self._statements.events_from, params)
        return [row_mapping.to_stored_event(row, secrets) for row in journal]

    def read_head(self, stream: str) -> tuple[int, str]:
        rows = self._fetch_rows(self._statements.head, {"at_session": to_lease_key(stream)})
        return (rows[0][0], rows[0][1]) if rows else (0, "")

    def read_records(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        params = {"at_stream": stream, "at_seq": after + 1, "at_most": limit}
        return [
            (row[1], record_text(RecordHead(*row[:7]), row[7]), row[8]) for row in self._fetch_rows(self._statements.events_from, params)
        ]

    def read_encrypted(self, stream: str, after: int = 0, limit: int = 1000) -> list[tuple[int, str, str]]:
        params = {"at_stream": stream, "at_seq": after + 1, "at_most": limit}
        return [(row[1], row[4], row[7]) for row in self._fetch_rows(self._statements.events_from, params)]

    def list_heads(self) -> list[tuple[str, int, str]]:
        return [(to_stream(key), seq, hash_) for key, seq, hash_ in self._fetch_rows(self._statements.heads, {})]

    def list_ends(self) -> list[tuple[str, int, str]]:
        return [(stream, seq, ts) for stream, seq, ts in self._fetch_rows(self._statements.ends, {})]

    def scan(self, types: Sequence[str] = (), after: str = "", limit: int = 1000) -> list[StoredEvent]:
        params = {"at_id": after, "at_most": limit, **{f"at_{number}": name for number, name in enumerate(types)}}
        journal, secrets = self._fetch_journal_rows(self._statements.build_scan(len(types)), params)
        return [row_mapping.to_stored_event(row, secrets) for row in journal]

    def scan_back(self, types: Sequence[str] = (), before: str = "", limit: int = 1000) -> list[StoredEvent]:
        params = {"at_id": before or AFTER_ALL, "at_most": limit, **{f"at_{number}": name for number, name in enumerate(types)}}
        journal, secrets = self._fetch_journal_rows(self._statements.build_scan(len(types), back=True), params)
        return [row_mapping.to_stored_event(row, secrets) for row in journal]

    def scan_clear(self, types: Sequence[str], after: str = "", limit: int = 1000) -> list[ClearEvent]:
        params = {"at_id": after, "at_most": limit, **{f"at_{number}": name for number, name in enumerate(types)}}
        return [row_mapping.to_clear_event(row) for row in self._fetch_rows(self._statements.build_scan(len(types)), params)]

    def list_streams(self) -> list[str]:
        return [stream for stream, _, _ in self.list_heads()]

    def load_snapshot(self, stream: str) -> Snapshot | None:
        """None also if it is unreadable: callers then fold the events."""
        rows = self._fetch_rows(self._statements.snapshot, {"at_stream": stream})
        if not rows:
            return None
        seq, text = rows[0]
        try:
            return Snapshot(stream=stream, seq=seq, state=canonical.loads(text))
        except orjson.JSONDecodeError:
            log.warning("snapshot of %s is unreadable", stream, extra={"action": "snapshot.unreadable"})
            return None

    def find_effect(self, effect_id: str) -> EffectRow | None:
        rows = self._fetch_rows(self._statements.effect, {"at_effect_id": effect_id})
        return row_mapping.to_effect_row(rows[0]) if rows else None

    def list_effects(self, stream: str, status: EffectStatus) -> list[EffectRow]:
        rows = self._fetch_rows(self._statements.effects, {"at_stream": stream, "at_status": status})
        return [row_mapping.to_effect_row(row) for row in rows]

    def list_effects_in(self, status: EffectStatus, limit: int = 1000) -> list[EffectRow]:
        rows = self._fetch_rows(self._statements.effects_in, {"at_status": status, "at_most": limit})
        return [row_mapping.to_effect_row(row) for row in rows]

    def find_effects(self, effect_ids: Sequence[str]) -> list[EffectRow]:
        effect_rows: list[EffectRow] = []
        for first in range(0, len(effect_ids), AT_ONCE[-1]):
            ids = effect_ids[first : first + AT_ONCE[-1]]
            size = next(one for one in AT_ONCE if one >= len(ids))  # few sizes, so that few statements are compiled
            params = {f"at_{number}": ids[min(number, len(ids) - 1)] for number in range(size)}
            for row in self._fetch_rows(self._statements.build_effects_of(size), params):
                with suppress(DamagedRow):
                    effect_rows.append(row_mapping.to_effect_row(row))
        return effect_rows

    def count_starts(self, person: str, now: datetime, account: str = "") -> int | None:
        person_key = daily_count.build_person_key(person)
        first, last = daily_count.build_range(person_key, now)
        others = "" if account in ("", person) else daily_count.build_person_key(account)
        params = {"at_key": person_key, "at_other": others, "at_first": first, "at_last": last}
        is_held, is_doubled, count = self._fetch_rows(self._statements.begun, params)[0]
        return count if is_held and not is_doubled else None

    def list_calls_about(self, record: str, after: str, limit: int) -> list[str]:
        params = {"at_about": record, "at_id": after, "at_most": limit}
        return [effect_id for (effect_id,) in self._fetch_rows(self._statements.calls_about, params)]

    def list_index_entries(self, about: str, what: What, after: str = "", limit: int = 1000) -> list[IndexEntry]:
        params = {"at_about": about, "at_what": what, "at_id": after, "at_most": limit}
        return [IndexEntry(*row) for row in self._fetch_rows(self._statements.mentions, params)]

    def list_last_index_entries(self, about: str, what: What, limit: int) -> list[IndexEntry]:
        params = {"at_about": about, "at_what": what, "at_most": limit}
        return [IndexEntry(*row) for row in self._fetch_rows(self._statements.last_mentions, params)]

    def list_runs(self, criteria: RunFilter) -> list[RunRow]:
        by = {name: value for name in ("run_id", "engine", "definition", "home", "owner") if (value := getattr(criteria, name))}
        params: dict[str, Any] = {f"at_{name}": value for name, value in by.items()}
        params |= {f"at_{number}": status for number, status in enumerate(criteria.statuses)}
        params |= {"at_before": criteria.before or NO_TIME, "at_started": criteria.after[0], "at_after": criteria.after[1]}
        params |= {"at_most": min(criteria.limit, MOST)}
        return [RunRow(*row) for row in self._fetch_rows(self._statements.build_runs(tuple(by), len(criteria.statuses)), params)]

    def remove_run(self, key: str, digests: Sequence[str]) -> int:
        prefix = get_blob_prefix(key)
        own = {"at_prefix": prefix, "at_length": len(prefix)}
        with self._database.write() as transaction:
            transaction.run(self._statements.drop_run, {"at_run": key.removeprefix(PREFIX)})
            transaction.run(self._statements.drop_snapshot, {"at_stream": key})
            return sum(transaction.run(self._statements.drop_own_blob, {"at_digest": digest, **own}) for digest in digests)

    def load_blob(self, digest: str) -> str | None:
        rows = self._fetch_rows(self._statements.blob, {"at_digest": digest})
        return rows[0][0] if rows else None

    def list_due_outbox(self, channel: str, now: datetime, limit: int = 50) -> list[OutboxRow]:
        params = {"at_channel": channel, "at_now": format_iso(now), "at_most": limit}
        return [row_mapping.to_outbox_row(row) for row in self._fetch_rows(self._statements.due_outbox, params)]

    def mark_outbox_sent(self, row_id: str, sent_ref: str) -> None:
        if self._gathers:
            batch = CommitBatch(None, self._statements)
            outbox.record_delivery(batch, self._statements, row_id, sent_ref)
            self._database.retry(lambda: self._send(batch.queued))
            return
        with self._database.write() as transaction:
            outbox.record_delivery(transaction, self._statements, row_id, sent_ref)

    def reschedule_outbox(self, row_id: str, due_at: datetime, note: str) -> None:
        self._write(self._statements.outbox_retry, {"at_id": row_id, "due_at": format_iso(due_at), "note": note})

    def mark_outbox_failed(self, row_id: str, note: str) -> None:
        self._write(self._statements.outbox_failed, {"at_id": row_id, "note": note})

    def find_sent_ref(self, session: str, key: str) -> str:
        rows = self._fetch_rows(self._statements.where_sent, {"at_session": session, "at_key": key})
        return rows[0][0] if rows else ""

    def list_due_timers(self, now: datetime, limit: int = 100) -> list[Timer]:
        rows = self._fetch_rows(self._statements.due_timers, {"at_now": format_iso(now), "at_most": limit})
        return [row_mapping.to_timer(row) for row in rows]

    def list_timers(self, kind: str, after: str = "", limit: int = 1000) -> list[Timer]:
        rows = self._fetch_rows(self._statements.kind_timers, {"at_kind": kind, "at_after": after, "at_most": limit})
        return [row_mapping.to_timer(row) for row in rows]

    def find_timer(self, timer_id: str) -> Timer | None:
        rows = self._fetch_rows(self._statements.timer, {"at_id": timer_id})
        return row_mapping.to_timer(rows[0]) if rows else None

    def get_value(self, key: str) -> str | None:
        rows = self._fetch_rows(self._statements.value, {"at_key": key})
        return rows[0][0] if rows else None

    def set_value(self, key: str, value: str) -> None:
        self._write(self._statements.set_value, {"key": key, "value": value})

    def swap_value(self, key: str, expected: str | None, value: str) -> bool:
        with self._database.write_one() as transaction:
            if expected is None:
                return transaction.run(self._statements.add_value, {"key": key, "value": value}) == 1
            return transaction.run(self._statements.swap_value, {"at_key": key, "at_value": expected, "value": value}) == 1

    def open_erasure(self) -> "Erasure":
        from state.sql.erasure import Erasure  # noqa: PLC0415 - the bot never needs it

        return Erasure(self._dialect)

    def close(self) -> None:
        """Every later call raises StoreUnwritable."""
        self._database.close()

    def _write(self, statement: Statement, params: Params) -> None:
        with self._database.write_one() as transaction:
            transaction.run(statement, params)

    def _fetch_journal_rows(self, statement: Statement, params: Params) -> tuple[list[Row], dict[str, str]]:
        """Secrets are not cached, for others may erase them."""
        with self._database.read() as transaction:
            rows = transaction.fetch_rows(statement, params)
            return rows, writing.fetch_secrets(transaction, self._statements, row_mapping.collect_key_ids(rows))
