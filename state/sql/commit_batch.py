"""Collects a commit for one round trip to PostgreSQL; the server undoes it if the stream has grown."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from state.sql.database import Params, Row, Rule, Statement, Transaction
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
