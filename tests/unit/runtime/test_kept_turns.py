"""A turn that goes on in the process in which it began does so from what this process has stored, which is what the journal holds."""

import re
from typing import Any

import pytest

from orchestrator.sessions import paused_turns
from orchestrator.sessions.paused_turns import MOST_EVENTS, MOST_TURNS, KeptTurns
from orchestrator.turns import turn
from state.journal.store import StoredEvent
from tests.unit.spine_kit import CHAT, World, a_world, message, press, raise_sum, reply, step

__all__ = ["world"]
TASK = step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 7}})
MARKS = re.compile("DATA [0-9a-f]{12}")
"""What encloses data in a prompt is another word each time."""
READ = step("crm.deal.get", {"id": 481})


@pytest.fixture
async def world(tmp_path: Any) -> Any:
    """The whole product on a database in memory."""
    async with a_world(tmp_path) as built:
        yield built


def _event(number: int, kind: str, **data: object) -> StoredEvent:
    return StoredEvent(stream=f"session:{CHAT}", seq=number, id="", ts="", type=kind, v=1, actor="", data=data, raw="", hash="")


async def ask_and_go_on(world: World, *, reopened: bool) -> list[str]:
    """A turn that reads, is refused one step and waits for a card; then the card is decided, in the same session or in a new one."""
    world.model.will(reply(READ, TASK, raise_sum(deal=500), raise_sum()))
    world.model.will_go_on(reply(text="Всё."))
    async with world.working() as orchestrator:
        await orchestrator.receive([message("задача, чужая сделка и сумма")])
        await world.idle()
        if not reopened:
            return await _decide(world, orchestrator)
    async with world.working() as orchestrator:
        return await _decide(world, orchestrator)


async def _decide(world: World, orchestrator: Any) -> list[str]:
    shown = next(row.body for row in world.outbox() if row.kind == "card" and row.body["status"] == "requested")
    await orchestrator.receive([press(shown)])
    await world.idle()
    return [MARKS.sub("DATA", one["content"]) for one in world.model.prompts[-1]]


@pytest.mark.parametrize("reopened", [False, True])
async def test_what_is_kept_is_what_the_journal_holds(world: World, monkeypatch: pytest.MonkeyPatch, *, reopened: bool) -> None:
    """A turn goes on from the same events and the same request, kept or read, and does not read what it has kept."""
    restored: list[paused_turns.RestoredTurn] = []
    reads: list[str] = []
    kept, stored = turn.build_restored_turn, turn.restore_turn

    def keep(events: Any) -> Any:
        found = kept(events)
        assert found is not None
        restored.append(found)
        return found

    async def read(turn_id: str, *args: Any) -> Any:
        reads.append(turn_id)
        found = await stored(turn_id, *args)
        assert found is not None
        restored.append(found)
        return found

    monkeypatch.setattr(turn, "build_restored_turn", keep)
    monkeypatch.setattr(turn, "restore_turn", read)
    await ask_and_go_on(world, reopened=reopened)
    [one] = restored
    assert bool(reads) == reopened
    journal = world.events()
    begin = next(number for number, event in enumerate(journal) if event.type == "MessageReceived")
    end = next(number for number, event in enumerate(journal) if event.type == "TurnResumed")
    mine = [event for event in journal[begin:end] if paused_turns.is_event_of(event, one.turn.turn_id)]
    assert len(mine) > 8
    assert list(one.events) == mine
    assert one.turn.text == mine[0].data["text"]
    assert world.types().count("TurnResumed") == 1


async def test_both_ways_lead_to_the_same_prompt(tmp_path: Any) -> None:
    """The model reads the same after its card, whether its turn was kept or read."""
    prompts = []
    for reopened in (False, True):
        async with a_world(tmp_path / str(reopened)) as world:
            prompts.append(await ask_and_go_on(world, reopened=reopened))
    assert prompts[0] == prompts[1]


async def test_nothing_is_kept_of_a_turn_that_is_over(world: World) -> None:
    """Turns that ended for good are forgotten, so a session that goes on for days stays small."""
    world.model.will(reply(text="Привет."), reply(raise_sum(), text="Прошу подтвердить."))
    async with world.working() as orchestrator:
        for text in ("привет", "сумму"):
            await orchestrator.receive([message(text)])
            await world.idle()
        kept = orchestrator._sessions[CHAT].kept_turns
        [over, waiting] = [event.data["turn_id"] for event in world.events("MessageReceived")]
        assert (bool(kept.find_events(over)), bool(kept.find_events(waiting))) == (False, True)


def test_few_turns_and_few_events_are_kept() -> None:
    """The oldest turn is forgotten when another begins, and one that grows long is read from the journal."""
    kept = KeptTurns()
    turns = [f"t{number}" for number in range(MOST_TURNS + 1)]
    kept.keep_events([_event(number, "MessageReceived", turn_id=one) for number, one in enumerate(turns)])
    assert [bool(kept.find_events(one)) for one in turns] == [False, *[True] * MOST_TURNS]
    kept.keep_events([_event(number, "ModelAnswered", turn_id="t1") for number in range(MOST_EVENTS)])
    assert not kept.find_events("t1")
    kept.keep_events([_event(0, "NodeDone", node="t2#search"), _event(1, "NodeDone", node="t9#search")])
    assert [event.type for event in kept.find_events("t2")] == ["MessageReceived", "NodeDone"]


def test_a_turn_that_answers_a_question_is_read() -> None:
    """What it answers was asked before it began."""
    kept = KeptTurns()
    kept.keep_events([_event(1, "MessageReceived", turn_id="t1", answers="q1"), _event(2, "ModelAnswered", turn_id="t1")])
    assert not kept.find_events("t1")


def test_a_turn_that_ended_without_a_plan_had_none() -> None:
    """The first plan of the turn that goes on is its first: no number is skipped."""
    assert paused_turns.find_told_part([]) == paused_turns.ToldPart()
    ended = [_event(1, "MessageReceived"), _event(2, "TurnFinished")]
    assert paused_turns.find_told_part(ended) == paused_turns.ToldPart(iterations=0, answers=0)
    planned = [_event(1, "PlanRecorded", iteration=2, steps=[]), _event(2, "ModelAnswered", iteration=1), _event(3, "TurnFinished")]
    assert paused_turns.find_told_part(planned) == paused_turns.ToldPart(iterations=2, answers=1)
