"""Collects a commit for PostgreSQL, so that it can be sent in one round trip, with the end of the stream as this process knows it.

If the stream has grown since this process read it, the server undoes everything.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from state.sql.database import Params, Row, Rule, Statement, Transaction
from state.sql.pipeline import Queued
from state.sql.statements import Statements


class KnownStream(NamedTuple):
    """What this process knows of a stream after its last commit: the seq and hash of the last event, and keys for encrypting events.

    `keys` holds the key of each person (or chat) that has written to the stream. Another process may have changed all this since that
    commit, so the server verifies it.
    """

    epoch: int
    seq: int
    hash: str
    keys: Mapping[str, Row]


class CommitBatch(Transaction):
    """Collects the statements of a commit instead of executing them.

    It assumes that each rule holds; if one does not, the server raises the error.
    """

    def __init__(self, cursor: Any, statements: Statements, known: KnownStream | None = None) -> None:
        """Use `cursor` for reading; it may be None if `known` has the encryption keys of all actors, because then nothing is read."""
        super().__init__(cursor)
        self._known = known
        self._keys: dict[str, Row] = {}
        self._statements = statements
        self._fences: dict[tuple[str, int], list[Row]] = {}
        """By person and epoch, the rows that the statement `fence` returns: the end of the stream, and the person's encryption key."""
        self._head: dict[str, Any] = {}
        """The parameters of the rule `head`."""
        self._recalled: list[str] = []
        """The ids of the keys that were used from memory."""
        self.queued: list[Queued] = []
        """The statements collected so far, without those of the fence."""

    def fetch_rows(self, statement: Statement, params: Params) -> list[Row]:
        """Execute a query at once and return its rows; the fence is answered from memory if it is known."""
        if statement is self._statements.live_key:
            rows = super().fetch_rows(statement, params)
            if rows:
                self._remember_key(params["at_person"], rows[0])
            return rows
        if statement is not self._statements.rules.fence:
            return super().fetch_rows(statement, params)
        asked = params["at_person"], params["at_epoch"]
        if asked not in self._fences:
            self._fences[asked] = self._recall_key(*asked) or super().fetch_rows(self._statements.rules.look_at_fence, params)
            if self._fences[asked] and self._fences[asked][0][2] is not None:
                self._keys[asked[0]] = self._fences[asked][0][2:]
        fence = self._fences[asked]
        if fence and not self._head:
            seq, hash_ = fence[0][:2]
            held = {"at_session": params["at_session"], "at_epoch": params["at_epoch"]}
            self._head = {**held, "at_seq": seq, "at_hash": hash_, "seq": seq, "hash": hash_}
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
        for asked, rows in self._fences.items():
            if asked[0] == person:
                self._fences[asked] = [(*row[:2], *key) for row in rows]

    def run(self, statement: Statement, params: Params) -> int:
        """Collect a statement and return 1, the assumed number of changed rows; a new key is stored at once, for others may use it."""
        if statement is self._statements.add_key:
            return super().run(statement, params)
        self.queued.append(Queued(statement, params))
        return 1

    def run_many(self, statement: Statement, rows: Iterable[Params]) -> None:
        """Collect the statement once per row."""
        self.queued += [Queued(statement, row) for row in rows]

    def require(self, rule: Rule, params: Params, text: str = "") -> None:
        """Collect the statement of a rule, which the server checks before it commits."""
        if rule is self._statements.rules.head:
            self._head = dict(params)
        else:
            self.queued.append(Queued(rule.statement, params, rule, text))

    def collect_statements(self) -> list[Queued]:
        """Return everything that is to be sent. The lease comes first: an erasure takes leases away before it touches a key."""
        rules = self._statements.rules
        keys = [Queued(rules.key.statement, {"at_key": key_id}, rules.key) for key_id in self._recalled]
        return [Queued(rules.head.statement, self._head, rules.head), *keys, *self.queued]

    def build_known(self) -> KnownStream:
        """Return what this process knows of the stream once this commit is stored: its new end, and the encryption keys.

        The next commit of the stream uses it.
        """
        head = self._head
        keys = self._keys if self._known is None else {**self._known.keys, **self._keys}
        return KnownStream(head["at_epoch"], head["seq"], head["hash"], keys)
