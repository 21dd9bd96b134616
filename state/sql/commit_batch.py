"""A commit for PostgreSQL in one round trip (ring 1): the end of the stream is known from the last one, all changes go to one function.

The function holds the row of the lease while it works, and undoes all of it where the stream no longer ends there.
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
"""What a commit changes, as the function takes it: list by list."""


@lru_cache(8)
def _map_lists(statements: Statements) -> dict[int, str]:
    """In which list of the changes the values of a statement go."""
    named = {
        "outbox": [statements.add_outbox, statements.add_first_with_key],
        "timers": [statements.set_timer, statements.drop_timer],
        "done": [statements.finish_inbox],
        "inbox": [statements.set_inbox],
        "blobs": [statements.add_blob],
        "snapshots": [statements.set_snapshot],
    }
    return {id(statement): name for name, several in named.items() for statement in several}


class KnownStream(NamedTuple):
    """Where a stream ended after a commit of this process, and the keys of those who acted; a guess, which the function checks."""

    epoch: int
    seq: int
    hash: str
    keys: Mapping[str, Row]


class CommitCall(Transaction):
    """The call that makes the changes of one commit."""

    def translate_code(self, code: str) -> type[StoreError] | None:
        """Also what the function itself raises."""
        return _MEANING.get(code)


def send(transaction: Transaction, changes: Changes) -> None:
    """Make all changes of a commit, for good, or raise and make none."""
    transaction.call(COMMIT, orjson.dumps(changes))


class CommitBatch(Transaction):
    """Gathers the changes of a commit. What it cannot know yet it takes for success: else the function raises."""

    def __init__(self, cursor: Any, statements: Statements, known: KnownStream | None = None) -> None:
        """`cursor` is for what has to be read: for nothing, where `known` knows everybody who acts."""
        super().__init__(cursor)
        self._known = known
        self._keys: dict[str, Row] = {}
        self._statements = statements
        self._fences: dict[str, list[Row]] = {}
        """What was read for each person that the steps of this commit speak of; all steps are of one stream."""
        self._lease: dict[str, Any] = {}
        self._changes: dict[str, list[Any]] = {}
        self._lists = _map_lists(statements)

    def fetch_rows(self, statement: Statement, params: Params) -> list[Row]:
        """Read it now; the end of the stream is where this commit has moved it."""
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
        """Gather it; what belongs to no commit is run at once."""
        name = self._lists.get(id(statement))
        if name is not None:
            self._changes.setdefault(name, []).append(params)
        elif statement is self._statements.move_head:
            self._lease |= {"to_seq": params["seq"], "to_hash": params["hash"]}
        else:
            return super().run(statement, params)
        return 1

    def run_many(self, statement: Statement, rows: Iterable[Params]) -> None:
        """Gather events, and what they mention."""
        if statement not in (self._statements.add_event, self._statements.add_mention):
            super().run_many(statement, rows)
            return
        name = "events" if statement is self._statements.add_event else "mentions"
        self._changes.setdefault(name, []).extend(rows)

    def swap_effect(self, add: Params | None, change: Params | None, expected: list[str], told: str) -> None:
        """Gather a compare-and-set."""
        one: dict[str, Any] = {"expected": expected, "told": told}
        one |= {"new": add} if add is not None else {}
        one |= {"old": change} if change is not None else {}
        self._changes.setdefault("effects", []).append(one)

    def set_switch(self, value: str) -> None:
        """Gather what the switch that freezes writes is set to."""
        self._changes["switch"] = [value]

    def start_a_write(self) -> None:
        """Gather that a call starts which may not while writes are frozen."""
        self._changes["starts"] = [True]

    def count(self, kept: CountKeys, known: Sequence[tuple[str, str]], count: StartCount) -> None:
        """Gather a start that counts for a person."""
        one: dict[str, Any] = {**vars(kept), "many": str(count.many)}
        one |= {"known": [{"key": key, "value": value} for key, value in known]} if known else {}
        one |= {"limit": str(count.limit)} if count.limit is not None else {}
        self._changes.setdefault("counts", []).append(one)

    def collect_changes(self) -> dict[str, list[Any]]:
        """All that was gathered."""
        return {"leases": [self._lease], **self._changes}

    def build_known(self) -> KnownStream:
        """What the next commit need not read, once this one is stored."""
        lease = self._lease
        keys = self._keys if self._known is None else {**self._known.keys, **self._keys}
        return KnownStream(lease["epoch"], lease["to_seq"], lease["to_hash"], keys)
