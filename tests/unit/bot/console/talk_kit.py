"""What the tests of conversations and of the audit share: requests with cards, and records of a stream as they are."""

from datetime import timedelta

from orchestrator.domain.actor import Actor
from state.events.base import Event
from state.events.conversation import MessageReceived, TurnFinished
from state.events.fold import list_open_confirmations
from state.journal.journal import load_state, to_stream
from state.journal.store import Commit, StoredEvent
from state.model.card import Card
from tests.unit.spine_kit import ANNA, CHAT, World, message, press, raise_sum, reply

HOSTILE = "<img src=x onerror=alert(1)> **жирно** [тут](javascript:alert(1)) \u202egnp.exe "
"""Text that would run, or would look like another one, where it is not shown as text."""


def put(world: World, key: str, *events: Event, actor: str = "") -> list[StoredEvent]:
    """Store these events in the stream of a session."""
    now = world.clock.now()
    lease = world.sql.acquire(key, "the test", now, now + timedelta(hours=1))
    assert lease is not None
    stored = world.sql.commit(Commit(stream=to_stream(key), epoch=lease.epoch, actor=actor or key, now=now, events=events))
    world.sql.release(lease)
    return stored


def put_turn(world: World, key: str, text: str, answer: str = "Готово.") -> None:
    """Store a turn with a message and its answer."""
    turn_id = f"turn of {text[:40]} in {key}"
    put(world, key, MessageReceived(turn_id=turn_id, text=text), TurnFinished(turn_id=turn_id, reason="answered", text=answer))
    world.clock.advance(timedelta(seconds=1))


async def ask(
    world: World, *, actor: Actor = ANNA, key: str = CHAT, text: str = "подними сумму сделки 481", amount: int = 1_200_000, deal: int = 481
) -> Card:
    """Somebody writes, and the card of it waits."""
    world.model.will(reply(raise_sum(amount, deal), text="Предлагаю изменить сумму."))
    await world.work(message(text, actor=actor, key=key))
    state, _ = load_state(world.sql, to_stream(key))
    return list_open_confirmations(state)[-1]


async def decide(world: World, card: Card, *, approve: bool = True, actor: Actor = ANNA, key: str = CHAT) -> None:
    """Somebody presses a button of the card, and what follows is done."""
    await world.work(press(card, approve=approve, actor=actor, key=key))
