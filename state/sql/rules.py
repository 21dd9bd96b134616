"""The safety rules of a commit: a statement that must find or change a row, and the error if not.

Fence: who commits holds the lease, and the stream ends where the commit begins. Compare and set: an effect changes only from an expected
status.

Parameters `at_…` are compared, all others written.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Table, and_, bindparam, case, cast, exists, func, literal_column, select, update

from state.journal.store import SWITCH, CapReached, EffectConflict, Uncounted, WriteStopped
from state.sql.database import Contended, Rule, Statement
from state.sql.tables import LIVE, effects, leases, person_keys, values

EFFECT = ("effect_id", "stream", "status", "fingerprint", "call", "updated_at", "outcome")


def is_held() -> ColumnElement[bool]:
    return and_(leases.c.session == bindparam("at_session"), leases.c.owner != "", leases.c.epoch == bindparam("at_epoch"))


def is_at_end() -> ColumnElement[bool]:
    return and_(leases.c.seq == bindparam("at_seq"), leases.c.hash == bindparam("at_hash"))


def is_expected(statuses: int) -> ColumnElement[bool]:
    """The parameters are at_0, at_1 and so on."""
    return effects.c.status.in_([bindparam(f"at_{number}") for number in range(statuses)])


def is_not_frozen() -> ColumnElement[bool]:
    return ~exists().where(values.c.key == SWITCH, values.c.value != "")


def is_below_cap() -> ColumnElement[bool]:
    """Counts what began within a day and begins now."""
    number: ColumnElement[int] = cast(func.coalesce(func.sum(cast(values.c.value, BigInteger)), 0), BigInteger)
    between = and_(values.c.key >= bindparam("at_first"), values.c.key <= bindparam("at_last"))
    begun = select(number).where(between).scalar_subquery()
    return begun + cast(bindparam("at_many"), BigInteger) <= cast(bindparam("at_limit"), BigInteger)


class Rules:
    def __init__(self, compile_: Callable[..., Statement], insert: Callable[[Table], Any]) -> None:
        self._compile = compile_
        self._insert = insert
        self._effects: dict[tuple[bool, int], Rule] = {}
        # The row lock keeps other processes from taking over the session before this commit is done. The key is joined to save a query.
        live = and_(person_keys.c.person == bindparam("at_person"), LIVE)
        ends = select(leases.c.seq, leases.c.hash, person_keys.c.key_id, person_keys.c.secret)
        fence = ends.select_from(leases.outerjoin(person_keys, live)).where(is_held())
        self.fence = compile_(fence.with_for_update(of=leases))
        """No row for whoever does not hold the lease."""
        self.look_at_fence = compile_(fence)
        moved = update(leases).where(is_held(), is_at_end()).values(seq=bindparam("seq"), hash=bindparam("hash"))
        self.head = Rule(
            statement=compile_(moved.returning(leases.c.seq)), error=Contended, text="another commit or another process came in between"
        )
        """Where the fence was read without a lock, this is the fence."""
        known = select(person_keys.c.key_id).where(person_keys.c.key_id == bindparam("at_key"), LIVE)
        self.key = Rule(statement=compile_(known), error=Contended, text="an erasure came in between")
        """A remembered key must not be erased."""
        self.not_frozen = Rule(
            statement=compile_(select(literal_column("1")).where(is_not_frozen())), error=WriteStopped, text="writes are frozen"
        )
        counted = select(values.c.key).where(values.c.key == bindparam("at_key")).with_for_update()
        self.counted = Rule(statement=compile_(counted), error=Uncounted, text="nobody has counted what was begun for this person")
        """Others who start a call for the person wait here."""
        self.below_cap = Rule(
            statement=compile_(select(literal_column("1")).where(is_below_cap())),
            error=CapReached,
            text="as many changes as this person may make within a day were begun",
        )

    def build_effect_rule(self, statuses: int, *, may_be_new: bool) -> Rule:
        key = may_be_new, statuses
        if key not in self._effects:
            change: Any = self._build_insert(statuses) if may_be_new else self._build_update(statuses)
            statement = self._compile(change.returning(effects.c.effect_id))
            self._effects[key] = Rule(statement=statement, error=EffectConflict, text="the effect has another status")
        return self._effects[key]

    def _build_insert(self, statuses: int) -> Any:
        new = self._insert(effects).values({name: bindparam(name) for name in EFFECT} | {"call": bindparam("new_call")})
        if not statuses:
            return new.on_conflict_do_nothing(index_elements=["effect_id"])
        return new.on_conflict_do_update(index_elements=["effect_id"], set_=_build_change(), where=is_expected(statuses))

    def _build_update(self, statuses: int) -> Any:
        return update(effects).where(effects.c.effect_id == bindparam("effect_id"), is_expected(statuses)).values(_build_change())


def _build_change() -> dict[str, Any]:
    fingerprint: ColumnElement[str] = bindparam("fingerprint")
    return {
        "status": bindparam("status"),
        "fingerprint": case((fingerprint == "", effects.c.fingerprint), else_=fingerprint),
        "call": func.coalesce(bindparam("call"), effects.c.call),
        "updated_at": bindparam("updated_at"),
        "outcome": func.coalesce(bindparam("outcome"), effects.c.outcome),
    }
