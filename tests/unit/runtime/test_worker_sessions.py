"""Sessions in the loop: their leases are kept, lost and given up; one that nobody uses leaves the memory."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.runtime import worker
from orchestrator.runtime.worker import Orchestrator
from orchestrator.sessions.session import LEASE
from state.clock import format_iso
from state.journal.store import Commit, Lease, StoreUnwritable
from tests.chain_kit import Verified, verify_stream
from tests.unit.spine_kit import CHAT, World, command, message, opening_of, press, raise_sum, reply, step, until
from tests.unit.spine_portal import Held

TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})


pytestmark = pytest.mark.usefixtures("quick")


def counted(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> list[int]:
    """How often the store was asked that, from now on."""
    method, times = getattr(world.sql, name), [0]

    def counting(*args: Any) -> Any:
        times[0] += 1
        return method(*args)

    monkeypatch.setattr(world.sql, name, counting)
    return times


async def test_a_session_worked_on_elsewhere_is_not_asked_for_without_pause(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the loop is woken meanwhile: one look for each wake, no try at its lease, else two processes would keep a core busy."""
    monkeypatch.setattr(worker, "POLL", 3600)
    await world.session(owner="elsewhere")
    tries, looks = counted(world, monkeypatch, "acquire"), counted(world, monkeypatch, "list_ready_sessions")
    async with world.working():
        for number in range(5):
            await world.orchestrator.receive([message(f"привет {number}")])
        await until(lambda: looks[0] > 0 and not world.orchestrator._lanes)
        for _ in range(40):  # as many turns of the store's threads as a loop without pause would need
            await world.store.get_value("x")
        assert tries[0] == 0
        assert looks[0] <= 7


@pytest.mark.req("S004-A2")
async def test_a_session_given_up_by_one_lane_is_not_opened_beside_another(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a call is on its way, a store error in the other lane does not make recovery call it unknown."""
    held = Held()
    world.portal.will("tasks.task.add", held)
    world.model.will(reply(TASK), reply(text="Готово."))
    commit = world.sql.commit

    def failing(what: Commit) -> Any:
        if what.actor == "tg:1007" and not what.events and what.inbox_done:
            monkeypatch.setattr(world.sql, "commit", commit)
            raise StoreUnwritable("once")
        return commit(what)

    async with world.working():
        await world.orchestrator.receive([message("создай задачу")])
        await held.arrived.wait()
        monkeypatch.setattr(world.sql, "commit", failing)
        await world.orchestrator.receive([command("status")])
        await until(lambda: bool(world.troubles))
        await world.orchestrator.receive([command("mode")])
        await until(world.orchestrator._opening[CHAT].locked)
        for _ in range(40):  # as many turns of the store's threads as a recovery beside the running call would need
            await world.store.get_value("x")
            await world.store.set_value("x", "y")
        held.release.set()
        await world.idle()
    assert "CallOutcomeUnknown" not in world.types()
    assert world.types()[-1] == "TurnFinished"
    assert {"status", "mode", "made"} <= set(world.codes())


async def test_a_session_worked_on_elsewhere_is_left_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process holds the lease: nothing is touched until it is over, then the row is worked."""
    other = await world.session(owner="elsewhere")
    tries, looks = counted(world, monkeypatch, "acquire"), counted(world, monkeypatch, "list_ready_sessions")
    world.model.will(reply())
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await until(lambda: looks[0] >= 3)
        assert world.types() == []
        assert tries[0] == 0
        await other.close()
        await world.idle()
    assert world.codes() == ["reply"]


async def test_a_session_taken_over_is_written_by_one_only(world: World) -> None:
    """The lease ran out during a slow turn and another process finished it: the first writes nothing late."""
    world.model.gate = asyncio.Event()
    world.model.will(reply(text="поздно"), reply(text="вовремя"))
    slow = world.orchestrator
    second = Orchestrator(slow.tools, world.clock, trouble=slow._trouble, owner="second")
    async with world.working():
        await slow.receive([message("привет")])
        await until(lambda: len(world.model.prompts) == 1)
        world.clock.advance(LEASE + timedelta(seconds=1))
        working = asyncio.ensure_future(second.run())
        await until(lambda: len(world.model.prompts) == 2)
        world.model.gate.set()
        await until(lambda: "TurnFinished" in world.types())
        await until(second.is_idle)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert world.types().count("TurnFinished") == 1
    assert world.types().count("ModelAnswered") == 1
    assert isinstance(verify_stream(world.sql, f"session:{CHAT}"), Verified)


async def test_leases_are_kept_while_the_loop_runs_and_given_up_at_its_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renewed in time; free for the next process at once after a clean end."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=0.06))
    world.model.will(reply())
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await world.idle()
        world.clock.advance(timedelta(seconds=50))
        before = world.stored_text()
        await until(lambda: world.stored_text() != before)
        world.clock.advance(timedelta(seconds=20))
        assert world.sql.acquire(CHAT, "other", world.clock.now(), world.clock.now() + LEASE) is None
    assert world.sql.acquire(CHAT, "other", world.clock.now(), world.clock.now() + LEASE) is not None


async def test_a_lease_lost_in_between_is_taken_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process had the session for a while: the next input opens it afresh, with its events."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=0.06))
    world.model.will(reply(), reply(text="снова"))
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await world.idle()
        world.clock.advance(LEASE + timedelta(seconds=1))
        other = world.sql.acquire(CHAT, "elsewhere", world.clock.now(), world.clock.now() + LEASE)  # before this process renews its own
        assert other is not None
        await until(lambda: CHAT not in world.orchestrator._sessions)
        world.sql.release(other)
        await world.orchestrator.receive([message("ещё раз")])
        await world.idle()
    assert world.types().count("TurnFinished") == 2


async def test_a_session_nobody_uses_is_let_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while its lease is given up and its state leaves the memory; the next message loads it again, whole."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=0.06))
    world.model.will(reply(text="раз"), reply(text="два"))
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await world.idle()
        world.clock.advance(worker.IDLE + timedelta(seconds=1))
        await until(lambda: CHAT not in world.orchestrator._sessions)
        assert world.sql.acquire(CHAT, "other", world.clock.now(), world.clock.now()) is not None
        await world.orchestrator.receive([message("ещё раз")])
        await world.idle()
    assert [item.text for item in (await world.session(owner="reader")).state.history] == ["привет", "раз", "ещё раз", "два"]


def _leased_until(world: World) -> str:
    with opening_of(world.sql) as connection:
        return str(connection.execute("select until from leases").fetchone()[0])


async def test_a_session_at_work_is_not_let_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long its turn takes, its lease is kept."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=0.03))
    world.model.gate = asyncio.Event()
    world.model.will(reply())
    async with world.working():
        await world.orchestrator.receive([message("привет")])
        await until(lambda: bool(world.model.prompts))
        kept = world.orchestrator._sessions[CHAT]
        world.clock.advance(worker.IDLE + timedelta(seconds=1))
        await until(lambda: _leased_until(world) > format_iso(world.clock.now()))
        assert world.orchestrator._sessions[CHAT] is kept
        assert world.sql.acquire(CHAT, "other", world.clock.now(), world.clock.now() + LEASE) is None
        world.model.gate.set()
        await world.idle()
    assert world.codes() == ["reply"]


async def _used(world: World, text: str = "раз") -> None:
    """One message, worked to its end."""
    world.model.will(reply(text=text))
    await world.orchestrator.receive([message("привет")])
    await world.idle()


async def _renewed(world: World) -> None:
    """The loop has looked at every session since the clock was moved."""
    before = _leased_until(world)
    world.clock.advance(timedelta(seconds=1))
    await until(lambda: _leased_until(world) > before)


async def test_a_session_used_a_moment_ago_is_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle is counted from the last thing stored, not from its opening."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=0.03))
    async with world.working():
        await _used(world)
        kept = world.orchestrator._sessions[CHAT]
        for _ in range(3):
            world.clock.advance(worker.IDLE - timedelta(seconds=5))
            await _renewed(world)
            await _used(world)
        assert world.orchestrator._sessions[CHAT] is kept


async def test_a_session_with_a_press_at_work_is_not_let_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call of an approved card takes long: either lane keeps the session."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=0.03))
    held = Held()
    world.model.will(reply(raise_sum()))
    await world.work(message("подними сумму сделки 481 до 1 200 000"))
    entry = next(row.body for row in world.outbox() if row.kind == "card")
    world.portal.will("crm.deal.update", held)
    async with world.working():
        await world.orchestrator.receive([press(entry)])
        await held.arrived.wait()
        kept = world.orchestrator._sessions[CHAT]
        world.clock.advance(worker.IDLE + timedelta(seconds=1))
        await _renewed(world)
        assert world.orchestrator._sessions[CHAT] is kept
        held.release.set()
        await world.idle()
    assert "CallSucceeded" in world.types()


async def test_who_writes_while_the_session_is_being_let_go_waits_for_that_and_is_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is given up before it is taken anew: no input meets a session that is half gone."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=0.03))
    order: list[str] = []
    leaving, go = asyncio.Event(), asyncio.Event()
    release, acquire = world.store.release, world.store.acquire

    async def slow(lease: Lease) -> None:
        leaving.set()
        await go.wait()
        order.append("released")
        await release(lease)

    async def noted(*args: Any) -> Lease | None:
        order.append("acquired")
        return await acquire(*args)

    async with world.working():
        await _used(world)
        monkeypatch.setattr(world.store, "release", slow)
        monkeypatch.setattr(world.store, "acquire", noted)
        world.clock.advance(worker.IDLE + timedelta(seconds=1))
        await leaving.wait()
        order.clear()
        world.model.will(reply(text="два"))
        await world.orchestrator.receive([message("ещё раз")])
        await until(lambda: bool(world.orchestrator._lanes))
        for _ in range(40):  # as many turns of the store's threads as an opening would need
            await world.store.get_value("x")
        assert order == []
        go.set()
        await world.idle()
        assert order[:2] == ["released", "acquired"]
    assert world.types().count("TurnFinished") == 2
    assert isinstance(verify_stream(world.sql, f"session:{CHAT}"), Verified)


async def test_a_lease_that_cannot_be_given_up_disturbs_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full when an idle session is let go: the loop lives, and the next message is worked."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=0.03))
    release, tries = world.sql.release, [0]

    def full(lease: Lease) -> None:
        tries[0] += 1
        raise StoreUnwritable("no space left")

    async with world.working():
        await _used(world)
        monkeypatch.setattr(world.sql, "release", full)
        world.clock.advance(worker.IDLE + timedelta(seconds=1))
        await until(lambda: tries[0] == 1)
        await until(lambda: CHAT not in world.orchestrator._sessions)
        monkeypatch.setattr(world.sql, "release", release)
        await _used(world, "два")
    assert world.types().count("TurnFinished") == 2
