"""What a session notes is part of the state at once and of the journal with the next commit, or within a moment; never half."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.sessions import session as sessions
from orchestrator.sessions.session import Session
from state.events import fold
from state.events.base import Event
from state.events.calls import CallRefused, CallSucceeded
from state.events.conversation import MessageReceived, ModelAnswered, TurnFinished
from state.journal.journal import SNAPSHOT_EVERY, load_state
from state.journal.store import Commit, EffectChange, EffectConflict, StaleEpoch, StoreUnwritable
from tests.chain_kit import Verified, verify_stream
from tests.unit.spine_kit import CHAT, World, until

STREAM = f"session:{CHAT}"


def said(number: int) -> MessageReceived:
    return MessageReceived(turn_id=f"t{number}", text=f"сообщение {number}")


def card(effect_id: str, *expect: str, status: Any = "requested") -> EffectChange:
    return EffectChange(effect_id=effect_id, expect=expect, status=status, fingerprint="f", call={"a": 1})


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is stored by itself while a test looks."""
    monkeypatch.setattr(sessions, "BUFFER_SECONDS", 3600)


def answered(number: int, call_class: str = "R") -> CallSucceeded:
    return CallSucceeded(effect_id=f"e{number}", turn_id="t1", slot=f"t1/1/{number}", method="crm.deal.get", call_class=call_class)


@pytest.mark.req("S004-14")
@pytest.mark.parametrize(
    ("event", "effects", "stored"),
    [
        (answered(2), [], False),
        (CallRefused(effect_id="e2", turn_id="t1", slot="t1/1/2", method="crm.deal.get", call_class="R"), [], False),
        (answered(2, "W"), [], True),
        (answered(2), [card("e2", "absent")], True),
        (said(2), [], True),
    ],
)
async def test_before_a_read_all_is_stored_but_the_answers_of_reads(
    world: World, session: Session, event: Event, effects: list[EffectChange], stored: object
) -> None:
    """The plan is stored before its first read; before the next one only what is more than an answer to a read, and then all of it."""
    await session.buffer(said(1), actor="tg:7")
    await session.flush_plan()
    assert world.types() == ["MessageReceived"]
    await session.buffer(answered(1), actor="tg:7")
    await session.buffer(event, actor="tg:7", effects=effects)
    await session.flush_plan()
    assert (len(world.types()) == 3) is stored
    await session.flush()
    assert len(world.types()) == 3


@pytest.mark.req("S004-14", "S004-A2")
async def test_a_note_is_state_at_once_and_goes_with_the_next_commit(world: World, session: Session) -> None:
    """Nothing in the journal before; then one transaction, each event with its own moment and person, and the fold is the state."""
    await session.buffer(said(1), actor="tg:7", effects=[card("e1", "absent")])
    assert (session.state.turn.turn_id, session.seq, world.types()) == ("t1", 1, [])
    assert await world.store.find_effect("e1") is None
    noted = await session.find_effect("e1")
    assert noted.status == "requested"
    world.clock.advance(timedelta(seconds=3))
    commits: list[Commit] = []
    whole = world.sql.commit
    world.sql.commit = lambda commit: commits.append(commit) or whole(commit)  # type: ignore[method-assign,func-returns-value]
    await session.commit(TurnFinished(turn_id="t1", reason="answered"), actor="tg:8")
    assert len(commits) == 1
    events = world.events()
    assert [(item.type, item.actor) for item in events] == [("MessageReceived", "tg:7"), ("TurnFinished", "tg:8")]
    assert events[0].ts < events[1].ts
    assert session.state == fold.fold_events(fold.create_state(), ((e.type, dict(e.data), e.ts) for e in events))
    assert session.seq == 2
    assert isinstance(verify_stream(world.sql, STREAM), Verified)
    stored = await world.store.find_effect("e1")
    assert json.dumps([noted.status, noted.call, noted.fingerprint]) == json.dumps([stored.status, stored.call, stored.fingerprint])


async def test_a_note_that_conflicts_is_refused_when_it_is_made(world: World, session: Session) -> None:
    """Against what is stored and against what is noted; nothing of it is kept."""
    with pytest.raises(EffectConflict):
        await session.buffer(said(1), actor="a", effects=[card("e1", "requested", status="approved")])
    await session.buffer(actor="a", effects=[card("e1", "absent")])
    with pytest.raises(EffectConflict):
        await session.buffer(said(1), actor="a", effects=[card("e1", "absent")])
    await session.flush()
    assert (world.types(), session.state.turn) == ([], None)


async def test_a_conflict_of_a_commit_costs_only_itself(world: World, session: Session) -> None:
    """What was noted before it is stored, and state and journal agree."""
    await session.buffer(said(1), actor="a")
    with pytest.raises(EffectConflict):
        await session.commit(said(2), actor="a", effects=[card("e1", "approved", status="started")])
    assert world.types() == ["MessageReceived"]
    assert session.state == load_state(world.sql, STREAM)[0]
    await session.commit(said(3), actor="a")
    assert [item.data["turn_id"] for item in world.events()] == ["t1", "t3"]


async def test_a_note_that_conflicts_after_all_is_taken_back(world: World, session: Session) -> None:
    """Somebody changed the effect behind the lease: that note is dropped, the others are kept, the state is that of the journal."""
    await session.buffer(said(1), actor="a")
    await session.buffer(ModelAnswered(turn_id="t1", iteration=1, text="да"), actor="a", effects=[card("e1", "absent")])
    with world.sql._database.write() as transaction:
        transaction._cursor.execute(
            "insert into effects (effect_id, stream, status, fingerprint, call, updated_at) values ('e1', 's', 'started', '', '{}', '')"
        )
    with pytest.raises(EffectConflict):
        await session.commit(said(2), actor="a")
    assert world.types() == ["MessageReceived"]
    assert (session.state, session.seq) == load_state(world.sql, STREAM)
    await session.commit(said(3), actor="a")
    assert [item.data["turn_id"] for item in world.events()] == ["t1", "t3"]


async def test_what_could_not_be_stored_waits_on(world: World, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disk full: the note stays noted and goes with the next commit; who has lost the lease stores none of it."""
    await session.buffer(said(1), actor="a")
    with monkeypatch.context() as broken:
        broken.setattr(world.sql, "commit", _full)
        with pytest.raises(StoreUnwritable):
            await session.commit(said(2), actor="a")
    assert session.seq == 1
    await session.commit(said(3), actor="a")
    assert [item.data["turn_id"] for item in world.events()] == ["t1", "t3"]
    await session.buffer(said(4), actor="a")
    world.clock.advance(sessions.LEASE)
    await world.session(owner="two")
    with pytest.raises(StaleEpoch):
        await session.flush()
    assert len(world.events()) == 2


def _full(commit: Commit) -> Any:
    raise StoreUnwritable("no space left")


async def test_a_note_is_stored_by_itself_in_a_moment(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the model thinks or the portal is slow the journal lacks nothing for long; a close stores what waits too."""
    monkeypatch.setattr(sessions, "BUFFER_SECONDS", 0.001)
    session = await world.session()
    await session.buffer(said(1), actor="a")
    await until(lambda: world.types() == ["MessageReceived"])
    monkeypatch.setattr(sessions, "BUFFER_SECONDS", 3600)
    await session.buffer(said(2), actor="a")
    await session.close()
    assert len(world.types()) == 2


async def test_notes_and_commits_of_several_tasks_keep_one_order(world: World, session: Session) -> None:
    """Whatever the order in which they came: the state is the fold of the journal, through snapshots too."""

    async def one(number: int) -> None:
        await (session.buffer if number % 3 else session.commit)(said(number), actor="a")

    await asyncio.gather(*(one(number) for number in range(2 * SNAPSHOT_EVERY + 7)))
    await session.flush()
    assert [item.seq for item in world.events()] == list(range(1, 2 * SNAPSHOT_EVERY + 8))
    state, seq = load_state(world.sql, STREAM)
    assert (session.state, session.seq) == (state, seq)
    assert state == fold.fold_events(fold.create_state(), ((e.type, dict(e.data), e.ts) for e in world.events()))


async def test_a_conflict_that_nobody_waited_for_is_heard_of_by_the_next(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that was dropped as it was stored by itself is told to who flushes or commits next, once; so it is no silent loss."""
    monkeypatch.setattr(sessions, "BUFFER_SECONDS", 0.001)
    for ask_on in ("flush", "commit"):
        session = await world.session()
        await session.buffer(said(1), actor="a", effects=[card(f"e-{ask_on}", "absent")])
        with world.sql._database.write() as transaction:
            transaction._cursor.execute(
                "insert into effects (effect_id, stream, status, fingerprint, call, updated_at) values (?, 's', 'started', '', '{}', '')",
                (f"e-{ask_on}",),
            )
        await until(lambda held=session: held._unreported_conflict is not None)
        with pytest.raises(EffectConflict):
            await (session.flush() if ask_on == "flush" else session.commit(said(2), actor="a"))
        await session.flush()
        assert (session.state, session.seq) == load_state(world.sql, STREAM)
    assert world.types() == []


async def test_how_its_own_effects_stand_a_session_knows_without_asking(
    world: World, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stored them, until they are over; and just as the database has them."""
    await session.buffer(said(1), actor="a", effects=[card("e1", "absent")])
    await session.commit(said(2), actor="a")
    monkeypatch.setattr(sessions, "BUFFER_SECONDS", 0.001)
    await session.buffer(said(3), actor="a", effects=[EffectChange(effect_id="e1", expect=("requested",), status="approved")])
    await until(lambda: len(world.types()) == 3)
    with monkeypatch.context() as blind:
        blind.setattr(world.sql, "find_effect", None)
        known = await session.find_effect("e1")
    assert known == world.sql.find_effect("e1")
    assert known.status == "approved"
    await session.commit(
        said(4), actor="a", effects=[EffectChange(effect_id="e1", expect=("approved",), status="refused", outcome={"why": "x"})]
    )
    assert session._own_effects == {}
    assert await session.find_effect("e1") == world.sql.find_effect("e1")
