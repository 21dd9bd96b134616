"""Sends a commit to PostgreSQL in one round trip: one server function gets all changes and the end of the stream as this process knows it.

The function locks the row of the session's lease. If the stream has grown since this process read it, the function undoes everything.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from state.journal.daily_count import CountKeys, StartCount
from state.journal.store import CapReached, EffectConflict, StaleEpoch, StoreError, Uncounted, WriteStopped
from state.sql.database import UNDONE, Contended, Params, Row, Statement, Transaction
from state.sql.server_functions import CAP, COMMIT, CONFLICT, FROZEN, MOVED, STALE, UNCOUNTED
from state.sql.statements import Statements

_MEANING = {
    **UNDONE,
    STALE: StaleEpoch,
    CONFLICT: EffectConflict,
    MOVED: Contended,
    FROZEN: WriteStopped,
    CAP: CapReached,
    UNCOUNTED: Uncounted,
}
Changes = Mapping[str, Sequence[Any]]
"""The changes of a commit as the server function takes them: by kind of change ("events", "outbox"), the list of changes."""


@lru_cache(8)
def _map_lists(statements: Statements) -> dict[int, str]:
    """Return, by statement, the name of the list in which CommitBatch collects the statement's parameters.

    The lists are those of `Changes`, such as "outbox". A statement is named by its Python id().
    """
    named = {
        "outbox": [statements.add_outbox, statements.add_first_with_key],
        "timers": [statements.set_timer, statements.drop_timer],
        "done": [statements.finish_inbox],
        "inbox": [statements.set_inbox],
        "blobs": [statements.add_blob],
        "runs": [statements.set_run],
        "snapshots": [statements.set_snapshot],
    }
    return {id(statement): name for name, several in named.items() for statement in several}


class KnownStream(NamedTuple):
    """What this process knows of a stream after its last commit: the seq and hash of the last event, and keys for encrypting events.

    `keys` holds the key of each person (or chat) that has written to the stream. Another process may have changed all this since that
    commit, so the server function verifies it.
    """

    epoch: int
    seq: int
    hash: str
    keys: Mapping[str, Row]


class CommitCall(Transaction):
    """The transaction that sends the changes of one commit to the server function."""

    def translate_code(self, code: str) -> type[StoreError] | None:
        """Return the error for an error code of PostgreSQL or of the server function; None for other codes."""
        return _MEANING.get(code)


def send_commit(transaction: Transaction, changes: Changes) -> None:
    """Apply all changes of a commit durably, or raise and apply none."""
    transaction.call(COMMIT, orjson.dumps(changes))


class CommitBatch(Transaction):
    """Collects the changes of a commit instead of executing them.

    It assumes that each change will succeed; if one does not, the server function raises the error.
    """

    def __init__(self, cursor: Any, statements: Statements, known: KnownStream | None = None) -> None:
        """Use `cursor` for reading; it may be None if `known` has the encryption keys of all actors, because then nothing is read."""
        super().__init__(cursor)
        self._known = known
        self._keys: dict[str, Row] = {}
        self._statements = statements
        self._fences: dict[str, list[Row]] = {}
        """By person, the rows that the statement `fence` returns: lease, end of the commit's stream, and the person's encryption key."""
        self._lease: dict[str, Any] = {}
        self._changes: dict[str, list[Any]] = {}
        self._lists = _map_lists(statements)

    def fetch_rows(self, statement: Statement, params: Params) -> list[Row]:
        """Execute a query at once and return its rows.

        The query for the end of the stream is answered as if the events collected so far were stored already.
        """
        if statement is self._statements.live_key:
            found = super().fetch_rows(statement, params)
            if found:
                self._remember_key(params["at_person"], found[0])
            return found
        if statement is not self._statements.fence:
            return super().fetch_rows(statement, params)
        person = params["at_person"]
        if person not in self._fences:
            self._fences[person] = self._recall_key(person) or super().fetch_rows(self._statements.look_at_fence, params)
            if self._fences[person] and self._fences[person][0][4] is not None:
                self._keys[person] = self._fences[person][0][4:]
        found = self._fences[person]
        if not found:
            return found
        if not self._lease:
            _, epoch, seq, hash_ = found[0][:4]
            self._lease = {"session": params["at_session"], "epoch": epoch, "seq": seq, "hash": hash_, "to_seq": seq, "to_hash": hash_}
        return [(*found[0][:2], self._lease["to_seq"], self._lease["to_hash"], *found[0][4:])]

    def _recall_key(self, person: str) -> list[Row]:
        known = self._known
        if known is None or person not in known.keys:
            return []
        key = known.keys[person]
        self._changes.setdefault("keys", []).append(key[0])
        return [("ours", known.epoch, known.seq, known.hash, *key)]

    def _remember_key(self, person: str, key: Row) -> None:
        self._keys[person] = key
        self._fences[person] = [(*row[:4], *key) for row in self._fences.get(person, [])]

    def run(self, statement: Statement, params: Params) -> int:
        """Collect the parameters of a statement and return 1, the assumed number of changed rows.

        A statement for which `Changes` has no list is executed at once.
        """
        name = self._lists.get(id(statement))
        if name is not None:
            self._changes.setdefault(name, []).append(params)
        elif statement is self._statements.move_head:
            self._lease |= {"to_seq": params["seq"], "to_hash": params["hash"]}
        else:
            return super().run(statement, params)
        return 1

    def run_many(self, statement: Statement, rows: Iterable[Params]) -> None:
        """Add the rows of new events and of the table `mentions` to the collected changes. Any other statement is executed at once."""
        if statement not in (self._statements.add_event, self._statements.add_mention):
            super().run_many(statement, rows)
            return
        name = "events" if statement is self._statements.add_event else "mentions"
        self._changes.setdefault(name, []).extend(rows)

    def swap_effect(self, add: Params | None, change: Params | None, expected: list[str], told: str) -> None:
        """Collect the change of an effect (proposed call), which is to be made only if the effect's status is in `expected`.

        `add` are the values for a new row, None if no row may be added; `change` those for an existing row, None if none may be changed. If
        neither can be done, the server raises EffectConflict with the message `told`.
        """
        one: dict[str, Any] = {"expected": expected, "told": told}
        one |= {"new": add} if add is not None else {}
        one |= {"old": change} if change is not None else {}
        self._changes.setdefault("effects", []).append(one)

    def set_switch(self, value: str) -> None:
        """Collect the new value of the switch that stops all writes to the portal."""
        self._changes["switch"] = [value]

    def start_a_write(self) -> None:
        """Note that the commit starts a call to the portal, so that the server function refuses it while writes are stopped."""
        self._changes["starts"] = [True]

    def count(self, kept: CountKeys, known: Sequence[tuple[str, str]], count: StartCount) -> None:
        """Collect that a started call is to be counted against the daily limit of its person.

        `kept` are the database keys under which the start is stored and found, `known` the person's past starts as (key, value) pairs; see
        `state.journal.daily_count`.
        """
        one: dict[str, Any] = {**vars(kept), "many": str(count.many)}
        one |= {"known": [{"key": key, "value": value} for key, value in known]} if known else {}
        one |= {"limit": str(count.limit)} if count.limit is not None else {}
        self._changes.setdefault("counts", []).append(one)

    def collect_changes(self) -> dict[str, list[Any]]:
        """Return everything that the server function needs: the collected changes, and the session's lease with the end of its stream."""
        return {"leases": [self._lease], **self._changes}

    def build_known(self) -> KnownStream:
        """Return what this process knows of the stream once this commit is stored: its new end, and the encryption keys.

        The next commit of the stream uses it.
        """
        lease = self._lease
        keys = self._keys if self._known is None else {**self._known.keys, **self._keys}
        return KnownStream(lease["epoch"], lease["to_seq"], lease["to_hash"], keys)
