"""The switch that freezes writes, over every kind of database: once it is set no call starts, whatever process would start it."""

import threading
from collections.abc import Callable
from itertools import count

import psycopg
import pytest

from state.events.calls import CallStarted
from state.events.conversation import ModelAnswered
from state.journal import freeze_switch
from state.journal.freeze_switch import SwitchOperator
from state.journal.store import SWITCH, EffectChange, StoreError, WriteStopped
from state.sql import SqlStore
from state.sql.statements import SWITCH_LOCK
from tests import chain_kit
from tests.contract.store_kit import NOW, STREAM, World, every_store, lasting_store, lease, said, step
from tests.postgres_kit import libpq

OLGA = SwitchOperator(key="tg:1", name="Ольга", via="telegram", at=NOW)
OPS = SwitchOperator(key="cli:root", name="root", via="cli", at=NOW)


def start(effect_id: str = "e1", *, though_frozen: bool = False) -> EffectChange:
    """The change that starts a call."""
    return EffectChange(effect_id=effect_id, expect=("absent",), status="started", call={"method": "x"}, though_frozen=though_frozen)


@every_store
class TestSwitch:
    @pytest.mark.req("S004-28")
    def test_nothing_starts_while_writes_are_frozen(self, store: SqlStore) -> None:
        """The whole commit is kept back; what is exempt starts, and after the release everything does."""
        held = lease(store)
        assert freeze_switch.find_freeze(store) is None
        store.commit(step(held, effects=[start("before")]))

        assert freeze_switch.freeze_writes(store, OLGA, "проверка").changed
        with pytest.raises(WriteStopped):
            store.commit(step(held, said(), effects=[start("during")]))
        store.commit(step(held, effects=[start("reminder", though_frozen=True)]))
        store.commit(step(held, said(), effects=[EffectChange(effect_id="before", expect=("started",), status="succeeded")]))

        assert store.find_effect("during") is None
        assert [item.type for item in store.read_events(STREAM)] == ["MessageReceived"]
        assert store.find_effect("before").status == "succeeded"  # type: ignore[union-attr]
        assert freeze_switch.release_writes(store, OPS).changed
        store.commit(step(held, said(), effects=[start("during")]))
        assert chain_kit.verify_stream(store, STREAM).seq == 2

    def test_who_when_and_why_are_known_and_journalled(self, store: SqlStore) -> None:
        """The value holds no name; a second freeze changes nothing, and a button of an earlier freeze lifts no later one."""
        freeze_switch.freeze_writes(store, OLGA, "проверка")
        now = freeze_switch.find_freeze(store)
        assert now is not None
        assert (now.by, now.name, now.reason, now.seq, now.at[:19]) == ("tg:1", "Ольга", "проверка", 1, "2026-11-21T12:00:00")
        assert "Ольга" not in str(store.get_value(SWITCH))
        assert "проверка" not in str(store.get_value(SWITCH))
        assert freeze_switch.freeze_writes(store, OPS, "ещё раз") == freeze_switch.SwitchResult(changed=False, state=now)

        assert freeze_switch.release_writes(store, OPS, 1).changed
        assert not freeze_switch.release_writes(store, OPS).changed
        freeze_switch.freeze_writes(store, OPS)
        late = freeze_switch.release_writes(store, OLGA, 1)
        assert not late.changed
        assert late.state is not None
        assert late.state.seq == 3
        events = store.read_events(freeze_switch.STREAM)
        assert [(item.type, item.actor) for item in events] == [
            ("WritesFrozen", "tg:1"),
            ("WritesReleased", "cli:root"),
            ("WritesFrozen", "cli:root"),
        ]

    @pytest.mark.parametrize("value", ["x", "{}", '{"at": 1}', "[]", '{"at":"","by":"","seq":99}', " "])
    def test_a_value_that_cannot_be_read_freezes(self, store: SqlStore, value: str) -> None:
        """Fail closed: only nothing at all lets writes start; and it can be lifted."""
        held = lease(store)
        store.set_value(SWITCH, value)
        assert freeze_switch.find_freeze(store) is not None
        with pytest.raises(WriteStopped):
            store.commit(step(held, effects=[start()]))
        assert freeze_switch.release_writes(store, OPS).changed
        store.commit(step(held, effects=[start()]))

    def test_a_commit_of_a_lost_session_moves_no_switch(self, store: SqlStore) -> None:
        """The switch is fenced as everything is."""
        held = lease(store, freeze_switch.SESSION)
        store.release(held)
        with pytest.raises(StoreError):
            store.commit(step(held, switch="x"))
        assert freeze_switch.find_freeze(store) is None

    def test_a_hand_that_never_lets_go_is_waited_for(self, store: SqlStore) -> None:
        """Somebody who died in the middle holds it for seconds; nothing changes meanwhile."""
        lease(store, freeze_switch.SESSION)
        with pytest.raises(freeze_switch.SwitchBusy):
            freeze_switch.freeze_writes(store, OLGA)
        assert freeze_switch.find_freeze(store) is None


@lasting_store
@pytest.mark.req("S004-28")
def test_no_process_starts_a_write_after_the_freeze_returned(world: World) -> None:
    """Writers on stores of their own start calls as fast as they can; none that asks after the switch returned gets through."""
    frozen, breath = threading.Event(), threading.Event()
    late, started, refused = list[str](), list[str](), list[str]()
    ready = threading.Barrier(4)

    def write(name: str, store: SqlStore) -> None:
        held = lease(store, f"tg:{name}")
        ready.wait()
        for number in count():
            breath.wait(0.002)  # SQLite lets those starve who ask while others never pause
            after, effect = frozen.is_set(), f"{name}-{number}"
            event = CallStarted(
                **dict.fromkeys(("effect_id", "turn_id", "slot", "method", "call_class", "fingerprint", "requested_by"), effect), params={}
            )
            try:
                store.commit(step(held, event, effects=[start(effect)]))
            except WriteStopped:
                refused.append(effect)
                if after:
                    return
            else:
                started.append(effect)
                if after:
                    late.append(effect)
                    return

    threads = [threading.Thread(target=write, args=(name, world.open())) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    mine = world.open()
    ready.wait()
    _until(lambda: len(started) > 30)
    freeze_switch.freeze_writes(mine, OPS)
    journalled = len(mine.scan(("CallStarted",), limit=100_000))  # the database at the moment in which the switch returned
    frozen.set()
    for thread in threads:
        thread.join(10)

    assert late == []
    assert len(refused) >= 3
    assert len(mine.scan(("CallStarted",), limit=100_000)) == journalled == len(started)


@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
def test_a_start_under_way_and_a_freeze_wait_for_each_other(world: World) -> None:
    """Whoever starts a write waits for a freeze that is being stored and sees it; a freeze waits for a start that is being stored."""
    store, watch = world.open(), world.open()
    held = lease(store)
    store.commit(step(held, said()))
    ended: list[object] = []

    def starts() -> None:
        try:
            ended.append(store.commit(step(held, effects=[start()])))
        except WriteStopped as error:
            ended.append(error)

    def freezes() -> None:
        ended.append(freeze_switch.freeze_writes(watch, OPS))

    with psycopg.connect(libpq(world.url), autocommit=True) as look, psycopg.connect(libpq(world.url)) as other:
        for work, lock, value in ((starts, "pg_advisory_xact_lock", "x"), (freezes, "pg_advisory_xact_lock_shared", "")):
            other.execute(f"SELECT {lock}({SWITCH_LOCK})")
            if value:
                other.execute(
                    'INSERT INTO "values" VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value', (SWITCH, value)
                )
            thread = threading.Thread(target=work)
            thread.start()
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            _until(lambda query=waiting: look.execute(query).fetchone() == (1,))  # type: ignore[misc]
            assert ended == []
            other.commit()
            thread.join(10)
            found = ended.pop()
            if work is starts:
                assert isinstance(found, WriteStopped)
                assert freeze_switch.release_writes(watch, OPS).changed
            else:
                assert found.changed  # type: ignore[attr-defined]


@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
def test_a_commit_statement_by_statement_obeys_too(world: World) -> None:
    """The way PostgreSQL takes when others keep coming between knows the switch as the short way does."""
    store = world.open()
    store._gathers = False
    held = lease(store)
    assert freeze_switch.freeze_writes(store, OPS).changed
    with pytest.raises(WriteStopped):
        store.commit(step(held, effects=[start()]))
    assert freeze_switch.release_writes(store, OPS).changed
    store.commit(step(held, effects=[start()]))


@every_store
def test_what_is_readable_without_a_key_is_read_without_one(store: SqlStore) -> None:
    """For counting: in the order of ids, by type, from an id on; nothing personal is in it."""
    held = lease(store)
    told = [ModelAnswered(turn_id=f"t{n}", iteration=1, text="тайна", prompt_tokens=n, user=7, month=202611) for n in range(5)]
    stored = store.commit(step(held, said("тайна"), *told))
    found = store.scan_clear(("ModelAnswered",))
    assert [item[:4] for item in found] == sorted((item.id, item.ts, item.type, item.actor) for item in stored[1:])
    assert sorted(item.data["prompt_tokens"] for item in found) == [0, 1, 2, 3, 4]
    assert "тайна" not in str(found)
    assert store.scan_clear(("ModelAnswered",), found[1].id, 2) == found[2:4]


def _until(check: Callable[[], bool]) -> None:
    stop = threading.Event()
    for _ in range(2000):
        if check():
            return
        stop.wait(0.005)
    raise AssertionError("it did not come about in time")
