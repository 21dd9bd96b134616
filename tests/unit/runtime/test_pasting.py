"""A paste that the messenger cut into pieces is one request, however the pieces arrive."""

import asyncio
from typing import Any

import pytest

from orchestrator.runtime import worker
from orchestrator.sessions import merge_inputs
from state.journal.store import Commit, StoreUnwritable
from tests.unit.spine_kit import BORIS, CHAT, World, message, reply, until

PIECE = "ж" * 4096


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of the loop are a matter of the real clock: shortened, not mocked away."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    monkeypatch.setattr(merge_inputs, "CUT_PAUSE", 0.02)


async def test_pieces_are_one_turn_and_prose_with_the_first_line_apart(world: World) -> None:
    """The first line says what to do; everything after it is pasted text, and the rows are all done."""
    world.model.will(reply(text="Прочитал."), reply(text="дальше"))
    first = "Сделай задачи по письму:\n" + "а" * 4070
    await world.work(message(first), message(PIECE), message("конец"), message("а теперь покажи сделки"))
    said = world.events("MessageReceived")
    assert [event.data["text"] for event in said] == ["Сделай задачи по письму:", "а теперь покажи сделки"]
    assert said[0].data["quoted"] == "а" * 4070 + "\n" + PIECE + "\nконец"
    assert [row.body["parts"][0]["text"] for row in world.outbox()] == ["Прочитал.", "дальше"]
    assert await world.store.list_waiting_inbox(CHAT, "turn") == []


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        ([message(PIECE)], [PIECE]),
        ([message("ж" * 3999), message("два")], ["ж" * 3999, "два"]),
        ([message("😀" * 2000), message("два")], [""]),
        ([message(PIECE), message("Борис", actor=BORIS)], [PIECE, "Борис"]),
        ([message(PIECE), message("", quoted="переслано")], [PIECE, ""]),
        ([message("", quoted=PIECE), message("моё")], ["", "моё"]),
        ([message(PIECE, origin="button"), message("два")], [PIECE, "два"]),
        ([message(PIECE, at=100), message("создай задачу", at=400)], [PIECE, "создай задачу"]),
        ([message("Уважаемая Анна!\n" + PIECE, at=100), message("с уважением", at=101)], [""]),
    ],
    ids=[
        "alone",
        "shorter",
        "emoji",
        "somebody else",
        "forwarded after",
        "own after forwarded",
        "a button",
        "minutes later",
        "a letter's own greeting",
    ],
)
async def test_only_pieces_of_one_paste_are_joined(world: World, rows: list[Any], texts: list[str]) -> None:
    world.model.will(*[reply()] * len(texts))
    await world.work(*rows)
    assert [event.data["text"] for event in world.events("MessageReceived")] == texts


async def test_a_piece_waits_a_moment_for_the_next(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each arrives in a poll of its own: still one turn."""
    pieces = [message(PIECE), message(PIECE), message("конец")]
    pause = asyncio.sleep

    async def the_next_comes(seconds: float) -> None:
        if seconds == merge_inputs.CUT_PAUSE and pieces:
            await world.orchestrator.receive([pieces.pop(0)])
        await pause(0)

    world.model.will(reply())
    monkeypatch.setattr(merge_inputs, "CUT_PAUSE", 0.0321)
    monkeypatch.setattr("orchestrator.runtime.worker.asyncio.sleep", the_next_comes)
    async with world.working():
        await world.orchestrator.receive([pieces.pop(0)])
        await until(lambda: "TurnFinished" in world.types())
    assert len(world.events("MessageReceived")) == 1
    assert world.events("MessageReceived")[0].data["quoted"].endswith("конец")


async def test_a_paste_too_long_is_told_once(world: World) -> None:
    """A hundred thousand characters: one sentence instead of twenty-five turns, no model is asked."""
    await world.work(*(message(PIECE) for _ in range(24)), message("конец"))
    (row,) = world.outbox()
    assert [(notice["code"], notice["args"]["limit"]) for notice in row.body["notices"]] == [("too-long", 20_000)]
    assert world.types() == []


async def test_joining_stands_or_falls_as_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store gives out in the joining commit, then works again: nothing is lost and nothing comes twice."""
    commit, failures = world.sql.commit, [0]

    def once(what: Commit) -> Any:
        if what.inbox_new and not failures[0]:
            failures[0] += 1
            raise StoreUnwritable("no space left")
        return commit(what)

    monkeypatch.setattr(world.sql, "commit", once)
    world.model.will(reply())
    await world.work(message(PIECE), message("конец"))
    assert failures == [1]
    assert len(world.events("MessageReceived")) == 1
    assert world.events("MessageReceived")[0].data["quoted"] == PIECE + "\nконец"
