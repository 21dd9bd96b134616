"""Each safety rule of a commit is broken on purpose, on every kind of database: the contract tests of the store see it."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import ColumnElement, bindparam, literal, true

from state.journal.store import StoreError
from state.sql import rules, statements
from state.sql.database import Statement, Transaction
from state.sql.tables import effects, leases
from tests.contract import test_store_counting, test_store_freezing, test_store_journal, test_store_postgresql
from tests.contract.store_kit import STORES, World

Check = Callable[[World], object]
FENCE, EFFECTS = test_store_journal.TestFence(), test_store_journal.TestEffects()


def on_a_store(check: Callable[..., object]) -> Check:
    """A contract test that takes a store."""
    return lambda world: check(store=world.open())


EPOCH = on_a_store(FENCE.test_a_late_writer_is_refused)
OWNER = on_a_store(FENCE.test_a_released_lease_writes_no_more)
END = test_store_postgresql.test_what_is_known_of_a_stream_is_checked
SET = on_a_store(EFFECTS.test_an_effect_moves_only_from_where_it_is_expected)
ABSENT = on_a_store(test_store_journal.TestAtomicity().test_a_step_that_conflicts_keeps_nothing)
FREEZE = on_a_store(test_store_freezing.TestSwitch().test_nothing_starts_while_writes_are_frozen)
CAP = on_a_store(test_store_counting.TestCount().test_one_too_many_does_not_start_and_nothing_of_its_commit_is_kept)
DAY = on_a_store(test_store_counting.TestCount().test_only_the_last_24_hours_count)
UNCOUNTED = on_a_store(test_store_counting.TestCount().test_of_whom_nothing_is_counted_the_journal_is_asked)


def any_epoch() -> ColumnElement[bool]:
    """The fence without the epoch."""
    return (leases.c.session == bindparam("at_session")) & (leases.c.owner != "")


def any_owner() -> ColumnElement[bool]:
    """The fence without the owner, who may have given the lease up."""
    return (leases.c.session == bindparam("at_session")) & (leases.c.epoch == bindparam("at_epoch"))


def always(*_: Any) -> ColumnElement[bool]:
    """A rule that nothing breaks."""
    return true()


def any_status(_: int) -> ColumnElement[bool]:
    """Compare and set without compare."""
    return effects.c.status != ""


def one_more() -> ColumnElement[bool]:
    """A cap that lets one through that is too many."""
    return WITHIN() | (bindparam("at_many") == literal(1))


WITHIN = rules.is_below_cap
BROKEN: dict[str, tuple[str, Callable[..., Any], Check]] = {
    "fence, epoch": ("is_held", any_epoch, EPOCH),
    "fence, owner": ("is_held", any_owner, OWNER),
    "compare and set": ("is_expected", any_status, SET),
    "freeze": ("is_not_frozen", always, FREEZE),
    "daily cap": ("is_below_cap", always, CAP),
    "daily cap by one": ("is_below_cap", one_more, CAP),
    "daily cap, day": ("is_below_cap", always, DAY),
}
UNHEEDED = {"fence": EPOCH, "compare and set": SET, "absent": ABSENT, "freeze": FREEZE, "daily cap": CAP, "uncounted": UNCOUNTED}


def is_seen(check: Check, world: World) -> bool:
    """Whether the contract test fails."""
    try:
        check(world)
    except (AssertionError, StoreError, pytest.fail.Exception):
        return True
    return False


def plant(monkeypatch: pytest.MonkeyPatch, name: str, broken: Callable[..., Any]) -> None:
    """Break one condition in the stores that this test opens from now on."""
    monkeypatch.setattr(rules, name, broken)
    monkeypatch.setattr(statements, "_COMPILED", {})


@pytest.mark.req("G2")
@pytest.mark.parametrize("world", STORES, indirect=True)
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_rule_is_seen(world: World, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The condition of one rule is weakened; the test of that rule fails on each kind of database, since both take it from one place."""
    name, broken, check = BROKEN[fault]
    plant(monkeypatch, name, broken)
    assert is_seen(check, world)


@pytest.mark.req("G2")
@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
def test_an_end_that_is_not_compared_is_seen(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only PostgreSQL reads the end of a stream without a lock."""
    plant(monkeypatch, "is_at_end", always)
    assert is_seen(END, world)


@pytest.mark.req("G2")
@pytest.mark.parametrize("world", STORES, indirect=True)
@pytest.mark.parametrize("rule", UNHEEDED)
def test_a_rule_that_nobody_heeds_is_seen(world: World, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statements of all rules are executed, and what they answer is not looked at: neither by this process nor by the server."""
    monkeypatch.setattr(Transaction, "require", lambda self, rule, params, _="": self.run(rule.statement, params))
    monkeypatch.setattr(Statement, "guarded", property(lambda self: self.native))
    if rule == "fence" and world.kind != "postgresql":
        plant(monkeypatch, "is_held", any_epoch)  # SQLite reads the fence under its lock, and then moves the end
    assert is_seen(UNHEEDED[rule], world)


@pytest.mark.parametrize("world", STORES, indirect=True)
@pytest.mark.parametrize("check", [EPOCH, OWNER, SET, ABSENT, FREEZE, CAP, DAY, UNCOUNTED], ids=range(8))
def test_nothing_is_seen_where_nothing_is_broken(world: World, check: Check) -> None:
    """The same checks pass with the rules as they are."""
    assert not is_seen(check, world)
