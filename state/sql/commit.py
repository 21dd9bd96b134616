"""One commit, one transaction (ring 1): fenced, numbered, chained; anything that does not hold raises and undoes all of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from state import canonical
from state.clock import iso, new_id
from state.journal import RecordHead, chained, record_text
from state.sql import outbox, rows
from state.sql.database import Transaction
from state.sql.statements import Statements
from state.store import Commit, EffectChange, EffectConflict, InboxRow, StaleEpoch, StoredEvent, Timer


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that still lacks its number."""

    type: str
    v: int
    data: str


def lease_key(stream: str) -> str:
    """The session whose lease guards `stream`; ValueError where the stream is of no known kind."""
    kind, _, key = stream.partition(":")
    if kind == "session" and key and not key.startswith("run:"):
        return key
    if kind == "run" and key:
        return stream
    msg = f"a stream is session:<key> or run:<id>, not {stream!r}"
    raise ValueError(msg)


def stream_of(key: str) -> str:
    """The stream that the lease of `key` guards."""
    return key if key.startswith("run:") else f"session:{key}"


def drafts(commit: Commit) -> list[Draft]:
    """The events as text, made before the transaction begins; NotCanonical where one cannot be stored."""
    return [Draft(type(event).__name__, event.V, canonical.dumps(event.model_dump(mode="json"))) for event in commit.events]


def write(transaction: Transaction, statements: Statements, commit: Commit, made: Sequence[Draft]) -> list[StoredEvent]:
    """Write everything the commit holds; StaleEpoch or EffectConflict where it comes too late."""
    seq, head = _fence(transaction, statements, commit)
    stored = _number(commit, made, seq=seq, head=head)
    if stored:
        texts = [rows.event_params(event, draft.data) for event, draft in zip(stored, made, strict=True)]
        transaction.run_many(statements.add_event, texts)
        last = stored[-1]
        moved = {"at_session": lease_key(commit.stream), "seq": last.seq, "hash": last.hash}
        transaction.run(statements.move_head, moved)
    for change in commit.effects:
        _change_effect(transaction, statements, commit, change)
    for row in commit.outbox:
        outbox.put(transaction, statements, row)
    for timer in commit.timers:
        _set_timer(transaction, statements, timer)
    for row_id in commit.inbox_done:
        transaction.run(statements.finish_inbox, {"at_id": row_id, "status": "done", "note": ""})
    put_inbox(transaction, statements, commit.inbox_new)
    for digest, content in commit.blobs.items():
        transaction.run(statements.add_blob, {"digest": digest, "content": content})
    if commit.snapshot is not None:
        transaction.run(statements.set_snapshot, rows.snapshot_params(commit.snapshot))
    return stored


def put_inbox(transaction: Transaction, statements: Statements, new: Sequence[InboxRow]) -> list[bool]:
    """Add inputs; False for each whose source is known."""
    return [transaction.run(statements.add_inbox, rows.inbox_params(row)) == 1 for row in new]


def _fence(transaction: Transaction, statements: Statements, commit: Commit) -> tuple[int, str]:
    row = transaction.row(statements.fence, {"at_session": lease_key(commit.stream)})
    if row is None or row[0] == "" or row[1] != commit.epoch:
        raise StaleEpoch(f"epoch {commit.epoch} of {commit.stream} is over: another process works on it")
    return row[2], row[3]


def _number(commit: Commit, made: Sequence[Draft], *, seq: int, head: str) -> list[StoredEvent]:
    ts = iso(commit.now)
    stored = []
    for draft in made:
        seq += 1
        record = RecordHead(commit.stream, seq, new_id(), ts, draft.type, draft.v, commit.actor)
        raw = record_text(record, draft.data)
        prev, head = head, chained(head, raw)
        # Read back from the text: a fold of it now and a fold of the journal later see the very same value.
        data = canonical.loads(draft.data)
        stored.append(StoredEvent(**record._asdict(), data=data, raw=raw, prev=prev, hash=head))
    return stored


def _change_effect(transaction: Transaction, statements: Statements, commit: Commit, change: EffectChange) -> None:
    common = {
        "status": change.status,
        "fingerprint": change.fingerprint,
        "epoch": commit.epoch,
        "updated_at": iso(commit.now),
        "outcome": rows.json_or_none(change.outcome),
    }
    if "absent" in change.expect:
        new = {**common, "effect_id": change.effect_id, "stream": commit.stream, "call": rows.json_or_none(change.call or {})}
        if transaction.run(statements.add_effect, new) == 1:
            return
    expected = [status for status in change.expect if status != "absent"]
    if expected:
        found = {f"at_{number}": status for number, status in enumerate(expected)}
        old = {**common, **found, "at_effect_id": change.effect_id, "call": rows.json_or_none(change.call)}
        if transaction.run(statements.change_effect(len(expected)), old) == 1:
            return
    raise EffectConflict(f"effect {change.effect_id} does not stand in {' or '.join(change.expect)}")


def _set_timer(transaction: Transaction, statements: Statements, timer: Timer) -> None:
    if timer.delete:
        transaction.run(statements.drop_timer, {"at_id": timer.id})
    else:
        transaction.run(statements.set_timer, rows.timer_params(timer))
