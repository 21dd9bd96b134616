"""What is found of earlier calls is what reading them all one by one gives, for every history and kind of database."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import build_person_key
from orchestrator.features.budgets.change_counter import JournalChangeCounter
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.call.effect import Facts, FirstSums, Target
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.serialization import StoredOrder, encode_call
from orchestrator.gate.decide import sum_history
from orchestrator.sessions.session import MAX_CALLS, Session, open_session
from state.clock import format_iso, parse_iso
from state.events.calls import CallStarted
from state.events.confirmations import ConfirmationRequested
from state.journal.async_store import AsyncStore
from state.journal.daily_count import DAY, StartCount
from state.journal.store import Commit, EffectChange, EffectStatus, Uncounted
from state.sql import SqlStore
from state.sql.checksummed_json import DamagedRow
from state.sql.tables import effects, metadata, values
from tests.contract.store_kit import NOW, World, every_store, lease
from tests.fixed_clock import FixedClock
from tests.unit.gate.gate_kit import call, catalogue

RUNS: Final = 40
DEALS: Final = (481, 482)
PEOPLE: Final = ("tg:7", "tg:8")
AFTER: Final[dict[EffectStatus, Sequence[EffectStatus]]] = {
    "requested": ("approved", "denied", "expired", "superseded"),
    "approved": ("started", "refused", "requested"),
    "started": ("succeeded", "refused", "unknown"),
    "unknown": ("succeeded", "refused"),
}
"""Into which statuses the program brings an effect."""


class Histories:
    """Two processes on one database, the clock that both go by, and the effects that they have made."""

    def __init__(self, world: World) -> None:
        self.clock = FixedClock(NOW)
        while len(world.opened) < (1 if world.kind == "memory" else 2):
            world.open()
        first, last = world.opened[0], world.opened[-1]
        self.stores = [first, last]
        with first._dialect.engine.begin() as connection:  # a new database for each history would take too long
            for table in metadata.sorted_tables:
                connection.execute(table.delete())
        for store in self.stores:
            store._known.clear()
        self.made: dict[str, tuple[str, EffectStatus]] = {}
        self.owned: dict[str, dict[str, Any]] = {}

    def propose(self, process: int, person: str, deal: int, amount: int, how: str) -> None:
        """A card, or a call that starts at once; of one deal, or in a batch with a task and the other deal."""
        effect_id = f"{id(self)}-{len(self.made)}"
        started = how == "direct"
        other = next(one for one in DEALS if one != deal)
        cmd = {name: f"crm.deal.update?id={one}&fields[OPPORTUNITY]={amount}" for name, one in (("a", deal), ("b", other))}
        what = call("batch", {"cmd": cmd}) if how == "batch" else call("crm.deal.update", {"id": deal, "fields": {"OPPORTUNITY": amount}})
        before = {f"deal:{one}": {"ID": str(one), "OPPORTUNITY": str(amount % 7), "CURRENCY_ID": "RUB"} for one in DEALS}
        stored = {"call": encode_call(what), "turn_id": "t", "slot": "t/1/1", "requested_by": person, "approved_by": ""}
        stored |= {"confirmation_id": "" if started else effect_id, "proposed_by": "crm_agent", "before": before, "named": {}}
        common: dict[str, Any] = {"effect_id": effect_id, "turn_id": "t", "slot": "t/1/1", "method": what.method, "call_class": "W"}
        common |= {"params": {}, "fingerprint": effect_id, "requested_by": person, "confirmation_id": stored["confirmation_id"]}
        at = format_iso(self.clock.now())
        card = {"nonce": "n", "essence": "e", "requested_at": at, "expires_at": at}
        event = CallStarted(**common) if started else ConfirmationRequested(**common, **card)
        status: EffectStatus = "started" if started else "requested"
        self.owned[effect_id] = stored | ({"started_at": at} if started else {})
        self._commit(
            process, person, event, EffectChange(effect_id=effect_id, expect=("absent",), status=status, call=self.owned[effect_id])
        )
        self.made[effect_id] = person, status

    def move(self, process: int, which: int, step: int) -> None:
        """One of the effects goes on; nothing happens where none can."""
        can = [one for one, (_, status) in self.made.items() if status in AFTER]
        if not can:
            return
        effect_id = can[which % len(can)]
        person, status = self.made[effect_id]
        becomes = AFTER[status][step % len(AFTER[status])]
        begun = {**self.owned[effect_id], "started_at": format_iso(self.clock.now())} if becomes == "started" else None
        self._commit(process, person, None, EffectChange(effect_id=effect_id, expect=(status,), status=becomes, call=begun))
        self.made[effect_id] = person, becomes

    def erase(self, person: str) -> None:
        """The person asks to be forgotten. Nobody goes on with what waits of theirs."""
        self.stores[1].open_erasure().erase(person, self.clock.now(), digests=(), change=lambda body: body)
        self.made = {one: held for one, held in self.made.items() if held[0] != person} | {
            one: (held[0], "denied") for one, held in self.made.items() if held[0] == person
        }

    def damage(self, which: int) -> None:
        """A disk changes a letter of a call that has not ended. It counts no more."""
        open_ = [one for one, (_, status) in self.made.items() if status in AFTER]
        if open_:
            broken = effects.update().where(effects.c.effect_id == open_[which % len(open_)])
            with self.stores[0]._dialect.engine.begin() as connection:
                connection.execute(broken.values(call=effects.c.call.concat(" ")))

    def _commit(self, process: int, person: str, event: Any, change: EffectChange) -> None:
        store, key = self.stores[process], f"{person}:{process}"
        held = lease(store, key, now=self.clock.now())
        events = [event] if event is not None else []
        store.commit(Commit(stream=f"session:{key}", epoch=held.epoch, actor=person, now=self.clock.now(), events=events, effects=[change]))


def read_first_sums(store: SqlStore, target: Target, now: datetime) -> FirstSums:
    """Every call about the record, read one by one."""
    rows = []
    for one in reversed(store.list_last_index_entries(f"{target[0]}:{target[1]}", "call", MAX_CALLS)):
        with suppress(DamagedRow):
            rows.append(store.find_effect(one.effect_id))
    orders = [
        StoredOrder.from_data(row.call) for row in rows if row and row.status in {"started", "succeeded", "unknown"} and "call" in row.call
    ]
    begun = [one for one in orders if one.started_at and parse_iso(one.started_at) > now - DAY]
    found: dict[str, tuple[object, str]] = {}
    for order in sorted(begun, key=lambda one: one.started_at):
        for key, was in sum_history._list_sums(order, target, catalogue()):
            found.setdefault(key, was)
    return found


def build_deps() -> GateDeps:
    """The part of the gate that is asked here."""
    rest: dict[str, Any] = dict.fromkeys(("records", "names", "ttl", "present", "approvers", "change_counter", "switch"))
    return GateDeps(catalogue=catalogue(), policies=FixedPolicy(Policy(sum_jump=10)), performers={}, **rest)


async def find_first_sums(deps: GateDeps, session: Session, deal: int) -> FirstSums:
    """The answer of the gate for a change of the deal's sum."""
    wanted = call("crm.deal.update", {"id": deal, "fields": {"OPPORTUNITY": 5}})
    facts = Facts(records={("deal", deal): {"ID": str(deal), "OPPORTUNITY": "1", "CURRENCY_ID": "RUB"}})
    return (await sum_history.find_first_sums(wanted, facts, deps, session))[("deal", deal)]


deed = st.one_of(
    st.tuples(
        st.just("propose"),
        st.integers(0, 1),
        st.sampled_from(PEOPLE),
        st.sampled_from(DEALS),
        st.integers(7, 20),
        st.sampled_from(["direct", "card", "batch"]),
    ),
    st.tuples(st.just("move"), st.integers(0, 1), st.integers(0, 50), st.integers(0, 5)),
    st.tuples(st.just("wait"), st.sampled_from([timedelta(microseconds=1), timedelta(hours=7), DAY])),
    st.tuples(st.just("erase"), st.sampled_from(PEOPLE)),
    st.tuples(st.just("damage"), st.integers(0, 50)),
)
few_runs = settings(max_examples=RUNS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.long
@every_store
@few_runs
@example(deeds=[("propose", 0, "tg:7", 481, 8, "direct"), ("move", 0, 0, 0), ("erase", "tg:7")])
@example(deeds=[("propose", 0, "tg:7", 481, 8, "direct"), ("move", 1, 0, 2), ("move", 1, 0, 1)])
@given(deeds=st.lists(deed, max_size=40))
def test_the_first_sums_of_a_day_are_those_of_a_reading_of_all_calls(world: World, deeds: Sequence[tuple[Any, ...]]) -> None:
    """Other processes, statuses that change, erased people, damaged rows, batches, the edge of the day."""
    asyncio.run(_compare_first_sums(world, deeds))


async def _compare_first_sums(world: World, deeds: Sequence[tuple[Any, ...]]) -> None:
    history = Histories(world)
    store, deps = history.stores[0], build_deps()
    asking = AsyncStore(store)
    session = await open_session(asking, history.clock, "tg:1", "asking")
    try:
        for what, *how in deeds:
            act: Callable[..., None] = history.clock.advance if what == "wait" else getattr(history, what)
            act(*how)
            for deal in DEALS:
                assert await find_first_sums(deps, session, deal) == read_first_sums(store, ("deal", deal), history.clock.now())
    finally:
        await session.discard()
        await _end_threads(asking)


async def _end_threads(store: AsyncStore) -> None:
    """End the threads; the database is used again."""
    await store._reader.aclose()
    await store._writer.aclose()


person = st.sampled_from(
    [
        Actor(key="tg:7", name="А", bitrix_user_id=7),
        Actor(key="tg:7", name="А"),
        Actor(key="tg:70", name="А", bitrix_user_id=7),
        Actor(key="tg:8", name="Б", bitrix_user_id=8),
        Actor(key="http:x", name="x"),
    ]
)
act = st.one_of(
    st.tuples(st.just("start"), st.integers(0, 1), person, st.integers(1, 3)),
    st.tuples(st.just("wait"), st.sampled_from([timedelta(microseconds=1), timedelta(hours=7), DAY])),
    st.tuples(st.just("erase"), st.sampled_from(PEOPLE)),
    st.tuples(st.just("lose")),
)


@pytest.mark.long
@every_store
@few_runs
@given(acts=st.lists(act, max_size=30))
def test_the_count_of_a_day_is_that_of_a_reading_of_the_journal(world: World, acts: Sequence[tuple[Any, ...]]) -> None:
    """Of people with and without an employee, of two processes, after an erasure, and where the stored count is lost."""
    asyncio.run(_compare_counts(world, acts))


async def _compare_counts(world: World, acts: Sequence[tuple[Any, ...]]) -> None:
    history = Histories(world)
    stores = [AsyncStore(one) for one in history.stores]
    counters = [JournalChangeCounter(one) for one in stores]
    session = await open_session(stores[0], history.clock, "tg:1", "asking")
    is_mixed = False
    try:
        for number, (what, *how) in enumerate(acts):
            match what:
                case "wait":
                    history.clock.advance(*how)
                case "erase":
                    history.erase(*how)
                case "lose" if not is_mixed:  # what an account started without an employee is then known of that account alone
                    with history.stores[0]._dialect.engine.begin() as connection:
                        connection.execute(values.delete())
                case "start":
                    process, who, many = how
                    is_mixed = is_mixed or who == Actor(key="tg:7", name="А")
                    await _start(history, counters[process], process, who, many, f"{number}", session)
            for who in (
                Actor(key="tg:7", name="А", bitrix_user_id=7),
                Actor(key="tg:8", name="Б", bitrix_user_id=8),
                Actor(key="http:x", name="x"),
            ):
                told = await JournalChangeCounter(stores[0]).list_changes(who, session)
                for counter in counters:
                    assert await counter.count_changes(who, session) == sum(one.many for one in told)
    finally:
        await session.discard()
        for one in stores:
            await _end_threads(one)


async def _start(
    history: Histories, counter: JournalChangeCounter, process: int, who: Actor, many: int, effect_id: str, session: Session
) -> None:
    """Start a call as the executor does."""
    common: dict[str, Any] = {"effect_id": effect_id, "turn_id": "t", "slot": "t/1/1", "method": "x", "call_class": "W", "params": {}}
    event = CallStarted(**common, fingerprint=effect_id, requested_by=who.key, requested_by_user=who.bitrix_user_id, writes=many)
    count = StartCount(person=build_person_key(who.key, who.bitrix_user_id), many=many, limit=1000)
    change = EffectChange(
        effect_id=effect_id, expect=("absent",), status="started", call={"method": "x", "requested_by": who.key}, count=count
    )
    try:
        history._commit(process, who.key, event, change)
    except Uncounted:
        known = await counter.list_changes(who, session)
        history._commit(process, who.key, event, replace(change, count=replace(count, known=known)))
