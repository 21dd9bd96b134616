"""Writes a commit in one transaction.

A replaced outbox row stays as "replaced" until the new one is sent: it may be in delivery.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from state.clock import format_iso, generate_id
from state.events import codec
from state.events.codec import EncodedEvent
from state.journal import daily_count, encryption
from state.journal.daily_count import StartCount
from state.journal.encryption import PersonKey
from state.journal.journal import RecordHead, hash_record, record_text, to_lease_key
from state.journal.record_index import TYPES, IndexEntry, index_event
from state.journal.store import (
    SWITCH,
    Commit,
    EffectChange,
    InboxRow,
    OutboxRow,
    StaleEpoch,
    StoredEvent,
    StoreError,
    Timer,
)
from state.sql import row_mapping
from state.sql.checksummed_json import encode_checksummed
from state.sql.database import Params, Row, Rule, Statement, Transaction
from state.sql.definitions import write_definitions
from state.sql.pipeline import Queued
from state.sql.statements import Statements


class KnownStream(NamedTuple):
    """A stream as this process left it; the server verifies it."""

    epoch: int
    seq: int
    hash: str
    keys: Mapping[str, Row]


class CommitBatch(Transaction):
    """Assumes that each rule holds; if not, the server raises the error."""

    def __init__(self, cursor: Any, statements: Statements, known: KnownStream | None = None) -> None:
        """`cursor` may be None if `known` has all keys."""
        super().__init__(cursor)
        self._known = known
        self._keys: dict[str, Row] = {}
        self._statements = statements
        self._fences: dict[tuple[str, int], list[Row]] = {}
        self._head: dict[str, Any] = {}
        self._recalled: list[str] = []
        """Ids of keys used from memory."""
        self.queued: list[Queued] = []

    def fetch_rows(self, statement: Statement, params: Params) -> list[Row]:
        """A known fence is answered from memory."""
        if statement is self._statements.live_key:
            rows = super().fetch_rows(statement, params)
            if rows:
                self._remember_key(params["at_person"], rows[0])
            return rows
        if statement is not self._statements.rules.fence:
            return super().fetch_rows(statement, params)
        fence_key = params["at_person"], params["at_epoch"]
        if fence_key not in self._fences:
            self._fences[fence_key] = self._recall_key(*fence_key) or super().fetch_rows(self._statements.rules.look_at_fence, params)
            if self._fences[fence_key] and self._fences[fence_key][0][2] is not None:
                self._keys[fence_key[0]] = self._fences[fence_key][0][2:]
        fence = self._fences[fence_key]
        if fence and not self._head:
            seq, hash_ = fence[0][:2]
            lease_params = {"at_session": params["at_session"], "at_epoch": params["at_epoch"]}
            self._head = {**lease_params, "at_seq": seq, "at_hash": hash_, "seq": seq, "hash": hash_}
        return fence

    def _recall_key(self, person: str, epoch: int) -> list[Row]:
        known = self._known
        if known is None or known.epoch != epoch or person not in known.keys:
            return []
        key = known.keys[person]
        self._recalled.append(key[0])
        return [(known.seq, known.hash, *key)]

    def _remember_key(self, person: str, key: Row) -> None:
        self._keys[person] = key
        for fence_key, rows in self._fences.items():
            if fence_key[0] == person:
                self._fences[fence_key] = [(*row[:2], *key) for row in rows]

    def run(self, statement: Statement, params: Params) -> int:
        """A new key is stored at once, for others may use it."""
        if statement is self._statements.add_key:
            return super().run(statement, params)
        self.queued.append(Queued(statement, params))
        return 1

    def run_many(self, statement: Statement, rows: Iterable[Params]) -> None:
        self.queued += [Queued(statement, row) for row in rows]

    def require(self, rule: Rule, params: Params, text: str = "") -> None:
        if rule is self._statements.rules.head:
            self._head = dict(params)
        else:
            self.queued.append(Queued(rule.statement, params, rule, text))

    def collect_statements(self) -> list[Queued]:
        """The lease comes first: an erasure takes leases away before keys."""
        rules = self._statements.rules
        keys = [Queued(rules.key.statement, {"at_key": key_id}, rules.key) for key_id in self._recalled]
        return [Queued(rules.head.statement, self._head, rules.head), *keys, *self.queued]

    def build_known(self) -> KnownStream:
        """What the next commit of the stream may use once this one is stored."""
        head = self._head
        keys = self._keys if self._known is None else {**self._known.keys, **self._keys}
        return KnownStream(head["at_epoch"], head["seq"], head["hash"], keys)


class Draft(NamedTuple):
    """Without number; `secret` is compressed, not encrypted."""

    event: EncodedEvent
    secret: bytes


Step = tuple[Commit, Sequence[Draft]]


class Fence(NamedTuple):
    """The end of a stream, and the key for the commit's events, if there is one."""

    seq: int
    hash: str
    key: PersonKey | None


def find_key_owner(commit: Commit) -> str:
    return encryption.find_key_owner(commit.actor, commit.key_owner or to_lease_key(commit.stream))


def build_drafts(commit: Commit) -> list[Draft]:
    encoded = commit.encoded_events or [codec.encode(event) for event in commit.events]
    return [Draft(one, encryption.compress_text(one.personal_text) if one.personal_text else b"") for one in encoded]


def write_commit(transaction: Transaction, statements: Statements, steps: Sequence[Step], after: int | None) -> list[StoredEvent]:
    """Write commits of one stream. Raises as `Store.commit`, and StaleEpoch unless the last seq is `after`."""
    numbered: list[tuple[StoredEvent, str]] = []
    index_entries: list[IndexEntry] = []
    # The last step's owner and epoch are used, and the end of the stream is read once: within the transaction nobody else moves it.
    whose: tuple[str, int] | None = None
    start = fence = Fence(0, "", None)
    for commit, drafts in steps:
        ours = find_key_owner(commit), commit.epoch
        if whose != ours:
            whose, end = ours, fence
            fence = _load_fence(transaction, statements, commit, whose[0], after)
            after = None
            if numbered:  # they are written below in one call
                fence = Fence(end.seq, end.hash, fence.key)
            else:
                start = fence
        if fence.key is None and any(draft.secret for draft in drafts):
            fence = fence._replace(key=_create_key(transaction, statements, ours[0], format_iso(commit.now)))
        if drafts:
            fresh = _number(commit, drafts, fence)
            index_entries += _build_index_entries(commit, fresh)
            numbered += fresh
            last, _ = numbered[-1]
            fence = Fence(last.seq, last.hash, fence.key)
    if numbered:
        transaction.run_many(statements.add_event, [row_mapping.to_event_params(event, data) for event, data in numbered])
        lease_params = {"at_session": to_lease_key(steps[0][0].stream), "at_epoch": steps[-1][0].epoch}
        moved = {"at_seq": start.seq, "at_hash": start.hash, "seq": fence.seq, "hash": fence.hash}
        transaction.require(statements.rules.head, {**lease_params, **moved})
    if index_entries:
        transaction.run_many(statements.add_mention, [index_entry._asdict() for index_entry in index_entries])
    for commit, _ in steps:
        _write_rest(transaction, statements, commit)
    return [event for event, _ in numbered]


def _write_rest(transaction: Transaction, statements: Statements, commit: Commit) -> None:
    if commit.switch is not None:
        _set_switch(transaction, statements, commit.switch)
    if commit.effects:
        _change_effects(transaction, statements, commit)
    for row in commit.outbox:
        put_outbox(transaction, statements, row)
    for timer in commit.timers:
        _set_timer(transaction, statements, timer)
    for row_id in commit.inbox_done:
        transaction.run(statements.finish_inbox, {"at_id": row_id, "status": "done", "note": ""})
    for inbox_row in commit.inbox_new:
        transaction.run(statements.set_inbox, row_mapping.to_inbox_params(inbox_row))
    if commit.snapshot is not None or commit.run is not None or commit.blobs or commit.definitions is not None:
        _write_values(transaction, statements, commit)


def _write_values(transaction: Transaction, statements: Statements, commit: Commit) -> None:
    for digest, content in commit.blobs.items():
        transaction.run(statements.add_blob, {"digest": digest, "content": content})
    if commit.definitions is not None:
        write_definitions(transaction, statements.definitions, commit.definitions)
    if commit.run is not None:
        transaction.run(statements.set_run, commit.run._asdict())
    if commit.snapshot is not None:
        transaction.run(statements.set_snapshot, row_mapping.to_snapshot_params(commit.snapshot))


def _change_effects(transaction: Transaction, statements: Statements, commit: Commit) -> None:
    """Statuses change before counts: of two processes that start a call, the slower gets EffectConflict."""
    for change in commit.effects:
        if change.status == "started" and not change.though_frozen:
            _check_frozen(transaction, statements)
            break
    for change in commit.effects:
        _change_effect(transaction, statements, commit, change)
    for change in commit.effects:
        if change.count is not None:
            _count(transaction, statements, commit, change.effect_id, change.count)


def put_inbox(transaction: Transaction, statements: Statements, new: Sequence[InboxRow]) -> list[bool]:
    """Return by row whether its `source` is new."""
    return [transaction.run(statements.add_inbox, row_mapping.to_inbox_params(row)) == 1 for row in new]


def fetch_secrets(transaction: Transaction, statements: Statements, key_ids: Iterable[str]) -> dict[str, str]:
    """Return secrets by key id: "" for an erased one, no entry for an unknown one."""
    padded_ids = sorted(key_ids)
    if not padded_ids:
        return {}
    # The list is padded to a power of two, so that a few compiled statements serve every number of keys.
    padded_ids += padded_ids[:1] * ((1 << (len(padded_ids) - 1).bit_length()) - len(padded_ids))
    rows = transaction.fetch_rows(
        statements.build_secrets(len(padded_ids)), {f"at_{number}": key_id for number, key_id in enumerate(padded_ids)}
    )
    return {key_id: secret.decode(errors="replace") if isinstance(secret, bytes) else secret for key_id, secret in rows}


def _load_fence(transaction: Transaction, statements: Statements, commit: Commit, person: str, after: int | None) -> Fence:
    lease_params = {"at_session": to_lease_key(commit.stream), "at_epoch": commit.epoch}
    row = transaction.fetch_row(statements.rules.fence, {**lease_params, "at_person": person})
    if row is None:
        raise StaleEpoch(f"epoch {commit.epoch} of {commit.stream} is over: another process works on it")
    seq, hash_, key_id, secret = row
    if after is not None and seq != after:
        raise StaleEpoch(f"{commit.stream} ends at {seq}, not at {after}: it has to be read anew")
    return Fence(seq, hash_, None if key_id is None else PersonKey(key_id, secret))


def _create_key(transaction: Transaction, statements: Statements, person: str, now: str) -> PersonKey:
    """Two processes at once both use the key of one."""
    key = encryption.generate_key()
    transaction.run(statements.add_key, {**key._asdict(), "person": person, "created_at": now, "erased_at": ""})
    row = transaction.fetch_row(statements.live_key, {"at_person": person})
    if row is None:  # erased at this very moment
        raise StaleEpoch(f"{person} is being erased")
    return PersonKey(*row)


def _number(commit: Commit, drafts: Sequence[Draft], fence: Fence) -> list[tuple[StoredEvent, str]]:
    ts, seq, head = format_iso(commit.now), fence.seq, fence.hash
    stored = []
    for encoded, secret in drafts:
        seq += 1
        record = RecordHead(commit.stream, seq, generate_id(), ts, encoded.type, encoded.v, commit.actor)
        data = encoded.clear
        if secret and fence.key is not None:
            data = codec.insert_sealed(data, encryption.encrypt(fence.key, secret, row_mapping.build_place(record)))
        raw = record_text(record, data)
        head = hash_record(head, raw)
        stored.append((StoredEvent(*record, data=encoded.data, raw=raw, hash=head), data))
    return stored


def _build_index_entries(commit: Commit, fresh: Sequence[tuple[StoredEvent, str]]) -> list[IndexEntry]:
    calls = {change.effect_id: change.call or {} for change in commit.effects} if commit.effects else {}
    entries: list[IndexEntry] = []
    for event, _ in fresh:
        if event.type in TYPES:
            entries += index_event(event.id, event.type, event.data, calls.get(event.data.get("effect_id", "")))
    return entries


def _change_effect(transaction: Transaction, statements: Statements, commit: Commit, change: EffectChange) -> None:
    place = row_mapping.build_call_place(change.effect_id)
    call = encode_checksummed(place, change.call)
    params: dict[str, Any] = {
        "effect_id": change.effect_id,
        "status": change.status,
        "fingerprint": change.fingerprint,
        "call": call,
        "updated_at": format_iso(change.since or commit.now),
        "outcome": encode_checksummed(row_mapping.build_outcome_place(change.effect_id), change.outcome),
    }
    expected = [status for status in change.expect if status != "absent"]
    params |= {f"at_{number}": status for number, status in enumerate(expected)}
    may_be_new = "absent" in change.expect
    if may_be_new:
        params |= {"stream": commit.stream, "new_call": call or encode_checksummed(place, {})}
    rule = statements.rules.build_effect_rule(len(expected), may_be_new=may_be_new)
    transaction.require(rule, params, f"effect {change.effect_id} does not stand in {' or '.join(change.expect)}")


def _set_switch(transaction: Transaction, statements: Statements, value: str) -> None:
    """On PostgreSQL this waits for transactions that have checked the switch."""
    if statements.lock_switch is not None:
        transaction.run(statements.lock_switch, {})
    transaction.run(statements.set_value, {"key": SWITCH, "value": value})


def _check_frozen(transaction: Transaction, statements: Statements) -> None:
    """Nobody can stop writes before the transaction ends."""
    if statements.share_switch is not None:
        transaction.run(statements.share_switch, {})
    transaction.require(statements.rules.not_frozen, {})


def _count(transaction: Transaction, statements: Statements, commit: Commit, effect_id: str, count: StartCount) -> None:
    """Raises CapReached or Uncounted; others who count for the person wait."""
    keys = daily_count.build_keys(count, effect_id, commit.now)
    for key, value in daily_count.build_known_values(count) if count.known is not None else ():
        transaction.run(statements.add_value, {"key": key, "value": value})
    transaction.require(statements.rules.counted, {"at_key": keys.held})
    if count.limit is not None:
        within = {"at_first": keys.first, "at_last": keys.last, "at_many": count.many, "at_limit": count.limit}
        transaction.require(statements.rules.below_cap, within)
    transaction.run(statements.add_value, {"key": keys.key, "value": str(count.many)})
    transaction.run(statements.drop_values, {"at_first": keys.held, "at_gone": keys.gone})


def _set_timer(transaction: Transaction, statements: Statements, timer: Timer) -> None:
    if timer.delete:
        transaction.run(statements.drop_timer, {"at_id": timer.id})
    else:
        transaction.run(statements.set_timer, row_mapping.to_timer_params(timer))


def put_outbox(transaction: Transaction, statements: Statements, row: OutboxRow) -> None:
    """Replaces the unsent row of its key."""
    params = row_mapping.to_outbox_params(row)
    if not row.key:
        transaction.run(statements.add_outbox, params)
        return
    if statements.put_with_key is not None:
        transaction.run(statements.put_with_key, params)
        return
    if transaction.run(statements.add_first_with_key, params):
        return
    unsent = transaction.fetch_row(statements.unsent_with_key, {"at_session": row.session, "at_key": row.key})
    if unsent is None:  # cannot happen: the insertion saw the row in this transaction
        raise StoreError(f"{row.key} waits in the outbox and is not found there")
    position, old_id = unsent
    transaction.run(statements.replace_outbox, {**params, "at_pos": position})
    transaction.run(statements.add_outbox, {**params, "id": old_id, "status": "replaced", "body": "{}"})


def record_delivery(transaction: Transaction, statements: Statements, row_id: str, sent_ref: str) -> None:
    """Keep `sent_ref` under the row's key."""
    by_id = {"at_id": row_id}
    if statements.lock_outbox is not None:
        transaction.run(statements.lock_outbox, by_id)
    if sent_ref:
        transaction.run(statements.keep_delivery, {**by_id, "sent_ref": sent_ref})
    transaction.run(statements.drop_replaced, by_id)
    transaction.run(statements.drop_outbox, by_id)
