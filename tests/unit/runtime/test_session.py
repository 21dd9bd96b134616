"""A session under its lease: commits that hold or leave nothing, a state that never parts from its journal."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from orchestrator.domain.errors import SessionTaken
from orchestrator.sessions.session import LEASE, Session, open_session
from orchestrator.sessions.steps import INLINE_RESULT
from state.events import fold
from state.events.base import Event
from state.events.calls import CallSucceeded
from state.events.conversation import MessageReceived, TurnFinished
from state.journal.journal import SNAPSHOT_EVERY, load_state
from state.journal.store import Commit, EffectChange, EffectConflict, Lease, StaleEpoch, StoreUnwritable
from tests.chain_kit import Verified, verify_stream
from tests.unit.spine_kit import CHAT, NOW, World

STREAM = f"session:{CHAT}"


def said(number: int, **more: Any) -> MessageReceived:
    return MessageReceived(turn_id=f"t{number}", text=f"сообщение {number}", **more)


def read(result: Any) -> CallSucceeded:
    return CallSucceeded(effect_id="e", turn_id="t", slot="s", method="crm.deal.list", call_class="R", result=result)


@pytest.mark.req("S004-14", "S004-57", "S004-A2")
async def test_events_are_folded_as_they_are_stored(world: World, session: Session) -> None:
    """The state in memory, the fold of the journal, and a session opened anew agree."""
    await session.commit(said(1), actor="a")
    await session.commit(TurnFinished(turn_id="t1", reason="answered", history="ок", targets=["deal:481"]), actor="a")
    assert session.seq == 2
    assert session.state == fold.fold_events(fold.create_state(), ((e.type, dict(e.data), e.ts) for e in world.events()))
    assert (await world.session()).state == session.state
    assert isinstance(verify_stream(world.sql, STREAM), Verified)


async def test_a_refused_commit_leaves_nothing(world: World, session: Session) -> None:
    """Neither event nor state of a commit whose effect was not where it should be."""
    change = EffectChange(effect_id="e1", expect=("approved",), status="started")
    with pytest.raises(EffectConflict):
        await session.commit(said(1), actor="a", effects=[change])
    assert (session.seq, world.types(), session.state.history) == (0, [], [])
    await session.commit(said(2), actor="a")
    assert world.types() == ["MessageReceived"]


async def test_a_failed_write_leaves_nothing(world: World, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disk full: the caller hears of it, the state stays."""
    with monkeypatch.context() as broken:
        broken.setattr(world.sql, "commit", _full)
        with pytest.raises(StoreUnwritable):
            await session.commit(said(1), actor="a")
    assert (session.seq, session.state.turn) == (0, None)


def _full(commit: Commit) -> Any:
    raise StoreUnwritable("no space left")


async def test_a_cancelled_commit_is_stored_and_folded(world: World, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who cancels its caller in the middle gets the cancellation after both: the state never misses a stored event."""
    begun, go = asyncio.Event(), asyncio.Event()
    loop, commit = asyncio.get_running_loop(), world.sql.commit

    def slow(what: Commit) -> Any:
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result(5)
        return commit(what)

    monkeypatch.setattr(world.sql, "commit", slow)
    task = asyncio.ensure_future(session.commit(said(1), actor="a"))
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.types() == ["MessageReceived"]
    assert session.seq == 1
    assert session.state.turn.turn_id == "t1"


@pytest.mark.req("S004-A2")
async def test_who_lost_the_lease_writes_nothing_late(world: World) -> None:
    """After another process took over, the paused one is refused and cannot renew."""
    old = await world.session(owner="one")
    await old.commit(said(1), actor="a")
    with pytest.raises(SessionTaken):
        await world.session(owner="two")
    world.clock.advance(LEASE)
    new = await world.session(owner="two")
    await new.commit(said(2), actor="b")
    with pytest.raises(StaleEpoch):
        await old.commit(said(3), actor="a")
    with pytest.raises(SessionTaken):
        await old.renew()
    assert [item.data["turn_id"] for item in world.events()] == ["t1", "t2"]
    await old.close()
    await new.commit(said(4), actor="b")


async def test_a_lease_is_kept_and_given_up(world: World, session: Session) -> None:
    """Renewed in time it holds; closed, anybody may have it, and the closed session writes no more."""
    world.clock.advance(LEASE - timedelta(seconds=1))
    await session.renew()
    world.clock.advance(timedelta(seconds=30))
    with pytest.raises(SessionTaken):
        await world.session(owner="two")
    await session.close()
    await world.session(owner="two")
    with pytest.raises(StaleEpoch):
        await session.commit(said(1), actor="a")


@pytest.mark.parametrize("size", [INLINE_RESULT - 2, INLINE_RESULT - 1])
async def test_large_answers_lie_once_in_the_blob_table(world: World, session: Session, size: int) -> None:
    """Up to 2 KB they stay in the event; above, the event keeps the digest and the text is stored once."""
    for _ in range(2):
        await session.commit(read("x" * size), actor="a")
    events = world.events()
    inline = size + 2 <= INLINE_RESULT
    assert all((event.data["result"] is not None) is inline for event in events)
    digests = {event.data["result_blob"] for event in events}
    assert digests == {""} if inline else len(digests) == 1
    if not inline:
        assert world.sql.load_blob(digests.pop()) == '"' + "x" * size + '"'


async def test_snapshots_make_opening_fast_and_change_nothing(world: World, session: Session) -> None:
    """A used snapshot stands at most SNAPSHOT_EVERY events behind, and the state read through it is the fold of all events."""
    for number in range(3 * SNAPSHOT_EVERY + 7):
        await session.commit(said(number), actor="a")
    snapshot = world.sql.load_snapshot(STREAM)
    assert session.seq - SNAPSHOT_EVERY <= snapshot.seq <= session.seq
    read_from: list[int] = []
    whole = world.sql.read_events

    def counted(stream: str, after: int = 0, limit: int = 1000) -> Any:
        read_from.append(after)
        return whole(stream, after, limit)

    world.sql.read_events = counted  # type: ignore[method-assign]
    state, seq = load_state(world.sql, STREAM)
    world.sql.read_events = whole  # type: ignore[method-assign]
    assert read_from == [snapshot.seq]
    assert (seq, state) == (session.seq, session.state)
    folded = fold.fold_events(fold.create_state(), ((e.type, dict(e.data), e.ts) for e in whole(STREAM, 0, 1000)))
    assert state == folded


async def test_a_snapshot_that_was_not_stored_is_tried_again(world: World, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit that carried it failed: the next one carries it."""
    for number in range(SNAPSHOT_EVERY):
        await session.commit(said(number), actor="a")
    with monkeypatch.context() as broken:
        broken.setattr(world.sql, "commit", _full)
        with pytest.raises(StoreUnwritable):
            await session.commit(said(99), actor="a")
    await session.commit(said(99), actor="a")
    snapshot = world.sql.load_snapshot(STREAM)
    assert snapshot.seq == SNAPSHOT_EVERY


async def test_an_empty_commit_is_no_event(world: World, session: Session) -> None:
    """Outbox rows alone leave the journal as it is."""
    await session.commit(actor="a")
    assert (session.seq, session.now) == (0, NOW)
    events: list[Event] = []
    await session.commit(*events, actor="a")
    assert world.types() == []


async def test_opening_a_session_needs_the_lease(world: World) -> None:
    """Its error names the session."""
    await world.session()
    with pytest.raises(SessionTaken, match=CHAT):
        await open_session(world.store, world.clock, CHAT, "two")


async def test_a_cancelled_opening_leaves_the_session_to_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program ends while it loads a session: another process need not wait until the lease expires."""
    acquire, asked = world.store.acquire, asyncio.Event()

    async def note_question(session: str, owner: str, now: datetime, until: datetime) -> Lease | None:
        asked.set()
        return await acquire(session, owner, now, until)

    with monkeypatch.context() as noted:
        noted.setattr(world.store, "acquire", note_question)
        opening = asyncio.ensure_future(open_session(world.store, world.clock, CHAT, "one"))
        await asked.wait()
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
    assert opening.cancelled()
    assert (await open_session(world.store, world.clock, CHAT, "two")).key == CHAT
