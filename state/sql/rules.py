"""The safety rules of a commit, each once, for SQLite and PostgreSQL: a statement that must find or change a row, and the error if not.

The fence: whoever commits holds the session's lease, and the stream ends where the commit begins. Compare and set: an effect (proposed
call) changes only from a status that the commit expects. Freeze: no call starts while an operator has stopped writes. The daily cap: no
call starts that would be one too many for its person.

SQLite executes each statement and looks at its rows. PostgreSQL gets all of a commit in one round trip, and checks the rows itself before
it commits; see `state.sql.pipeline`. Parameters `at_…` are compared in conditions; all others are values to write.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Table, and_, bindparam, case, cast, exists, func, literal_column, select, update

from state.journal.store import SWITCH, CapReached, EffectConflict, Uncounted, WriteStopped
from state.sql.database import Contended, Rule, Statement
from state.sql.tables import LIVE, effects, leases, person_keys, values

EFFECT = ("effect_id", "stream", "status", "fingerprint", "call", "updated_at", "outcome")


def is_held() -> ColumnElement[bool]:
    """Whether somebody holds the session's lease with the epoch of the commit."""
    return and_(leases.c.session == bindparam("at_session"), leases.c.owner != "", leases.c.epoch == bindparam("at_epoch"))


def is_at_end() -> ColumnElement[bool]:
    """Whether the stream ends where the commit begins."""
    return and_(leases.c.seq == bindparam("at_seq"), leases.c.hash == bindparam("at_hash"))


def is_expected(statuses: int) -> ColumnElement[bool]:
    """Whether the status of an effect is among so many expected ones, which are the parameters at_0, at_1 and so on."""
    return effects.c.status.in_([bindparam(f"at_{number}") for number in range(statuses)])


def is_not_frozen() -> ColumnElement[bool]:
    """Whether nobody has stopped the writes to the portal."""
    return ~exists().where(values.c.key == SWITCH, values.c.value != "")


def is_below_cap() -> ColumnElement[bool]:
    """Whether the changes that a person began within a day, and those that begin now, are at most as many as the person may make."""
    number: ColumnElement[int] = cast(func.coalesce(func.sum(cast(values.c.value, BigInteger)), 0), BigInteger)
    between = and_(values.c.key >= bindparam("at_first"), values.c.key <= bindparam("at_last"))
    made = select(number).where(between).scalar_subquery()
    return made + cast(bindparam("at_many"), BigInteger) <= cast(bindparam("at_limit"), BigInteger)


class Rules:
    """The rules compiled for one kind of database."""

    def __init__(self, compile_: Callable[..., Statement], insert: Callable[[Table], Any]) -> None:
        self._compile = compile_
        self._insert = insert
        self._effects: dict[tuple[bool, int], Rule] = {}
        # The row lock keeps other processes from taking over the session before this commit is done. The key is joined to save a query.
        live = and_(person_keys.c.person == bindparam("at_person"), LIVE)
        ends = select(leases.c.seq, leases.c.hash, person_keys.c.key_id, person_keys.c.secret)
        fence = ends.select_from(leases.outerjoin(person_keys, live)).where(is_held())
        self.fence = compile_(fence.with_for_update(of=leases))
        """The end of the stream and the person's key, for whoever holds the lease; no row for all others."""
        self.look_at_fence = compile_(fence)
        moved = update(leases).where(is_held(), is_at_end()).values(seq=bindparam("seq"), hash=bindparam("hash"))
        self.head = Rule(
            statement=compile_(moved.returning(leases.c.seq)), error=Contended, text="another commit or another process came in between"
        )
        """Moves the end of the stream. Where the fence was read without a lock, this is the fence: it must still be as it was read."""
        known = select(person_keys.c.key_id).where(person_keys.c.key_id == bindparam("at_key"), LIVE)
        self.key = Rule(statement=compile_(known), error=Contended, text="an erasure came in between")
        """A key that a process remembers must not have been erased."""
        self.not_frozen = Rule(
            statement=compile_(select(literal_column("1")).where(is_not_frozen())), error=WriteStopped, text="writes are frozen"
        )
        held = select(values.c.key).where(values.c.key == bindparam("at_key")).with_for_update()
        self.counted = Rule(statement=compile_(held), error=Uncounted, text="nobody has counted what was begun for this person")
        """Something must be counted for the person. Whoever else would start a call for this person waits here, and then sees this one."""
        self.below_cap = Rule(
            statement=compile_(select(literal_column("1")).where(is_below_cap())),
            error=CapReached,
            text="as many changes as this person may make within a day were begun",
        )

    def build_effect_rule(self, statuses: int, *, may_be_new: bool) -> Rule:
        """Return the change of an effect that applies only if its status is among so many; with `may_be_new` also if there is no effect."""
        key = may_be_new, statuses
        if key not in self._effects:
            made: Any = self._build_insert(statuses) if may_be_new else self._build_update(statuses)
            statement = self._compile(made.returning(effects.c.effect_id))
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
