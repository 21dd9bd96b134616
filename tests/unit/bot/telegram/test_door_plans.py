"""Typed answers to the card of a plan, and the same card in a terminal: one word decides all waiting steps."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bot.cli.chat import Terminal
from state.journal.store import OutboxRow
from tests.unit.bot.telegram.door_kit import BOT, opened_door, raw_message
from tests.unit.spine_kit import ANNA as PERSON
from tests.unit.spine_kit import CHAT, World, a_world, message, raise_sum, reply, step, until

TWO = (raise_sum(1_100_000), raise_sum(60_000, deal=482))
GONE = step("crm.deal.delete", {"id": 482})


async def answer_card(world: World, words: str, *steps: Any) -> list[str]:
    """Show the card of a plan, answer it with these words, and let what follows happen; what the waiting input was."""
    world.model.will(reply(*steps))
    await world.work(message("обе суммы"))
    async with opened_door(world) as (door, wire):
        await until(lambda: len(wire.calls("sendMessage")) == 1)
        card = wire.last_id
        await door.delivery.wait_until_empty()
        said = raw_message(words, message_id=card + 2, reply_to_message=raw_message("карточка", via=BOT, message_id=card))
        await asyncio.wait_for(door._intake.take({"update_id": 5, "message": said}), 30)
        kinds = [row.kind for lane in ("express", "turn") for row in world.sql.list_waiting_inbox(CHAT, lane)]  # type: ignore[arg-type]
        async with world.working():
            await world.idle()
    return kinds


@pytest.mark.parametrize(("words", "made"), [("да", [481, 482]), ("нет", []), ("нет, потому что рано", [])])
async def test_a_typed_answer_decides_the_whole_plan(world: World, words: str, made: list[int]) -> None:
    """One message of the chat, one answer, a decision about each step."""
    assert await answer_card(world, words, *TWO) == ["decision"]
    assert [params["id"] for _, params in world.portal.written()] == made
    assert len(world.events("ConfirmationApproved", "ConfirmationDenied")) == 2


async def test_a_typed_yes_does_not_approve_a_plan_with_a_deletion(tmp_path: Path) -> None:
    """One dangerous step, and only the button counts, for all of them."""
    async with a_world(tmp_path, policy={"open_methods": ["crm.deal.delete"]}) as world:
        await answer_card(world, "да", raise_sum(1_100_000), GONE)
        assert world.portal.written() == []
        assert world.events("ConfirmationApproved") == []


@pytest.mark.parametrize(("word", "made"), [("y", [481, 482]), ("n", []), ("", [])])
async def test_the_terminal_shows_one_card_and_asks_once(world: World, word: str, made: list[int]) -> None:
    """With all steps on it; y runs them all, n denies them all, anything else leaves them waiting."""
    shown: list[str] = []
    asked: list[str] = []

    async def read_line(prompt: str) -> str:
        asked.append(prompt)
        return word

    key = "cli:7"
    world.model.will(reply(*TWO))
    await world.work(message("обе суммы", key=key))
    terminal = Terminal(world.store, PERSON, key, read_line=read_line, show=shown.append)
    async with world.working():
        await asyncio.wait_for(terminal._drain(world.orchestrator), 30)
    assert len(asked) == 1
    assert "«Ромашка»" in "".join(shown)
    assert "«Вектор»" in "".join(shown)
    assert [params["id"] for _, params in world.portal.written()] == made
    assert len(world.events("ConfirmationApproved", "ConfirmationDenied", key=key)) == (2 if word else 0)


async def test_the_terminal_overlooks_no_card_that_is_made_while_it_looks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn ends between the look for messages and the question whether all is done: the next line must not be taken for a request."""
    asked: list[str] = []
    look, begun = world.store.list_due_outbox, asyncio.Event()

    async def read_line(prompt: str) -> str:
        asked.append(prompt)
        return "n"

    async def look_too_early(channel: str, now: datetime) -> list[OutboxRow]:
        rows = await look(channel, now)
        if not begun.is_set():
            begun.set()
            await world.idle()
        return rows

    key = "cli:7"
    world.model.will(reply(*TWO))
    terminal = Terminal(world.store, PERSON, key, read_line=read_line, show=lambda _: None)
    async with world.working() as orchestrator:
        await orchestrator.receive([message("обе суммы", key=key)])
        monkeypatch.setattr(world.store, "list_due_outbox", look_too_early)
        await asyncio.wait_for(terminal._drain(orchestrator), 30)
    assert asked == ["[y/n] "]
