"""A thousand made-up lives of a card: presses, denials, expiry, crashes, restarts and a wandering clock; never more than one effect."""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import pytest

from orchestrator.domain.effect import Pending
from orchestrator.domain.errors import SessionTaken
from orchestrator.gate.approve import confirmations
from orchestrator.gate.execute import executor
from orchestrator.runtime.recovery import recover
from orchestrator.sessions.session import Session
from orchestrator.turns.decisions import run_decision, run_expiry
from state.journal.store import EffectChange, EffectStatus, InboxRow, StaleEpoch, StoreUnwritable
from state.model.card import NO_CARD, Card
from tests.unit.spine_kit import ANNA, BORIS, VERA, World, a_world, effect, press

OWNERS = itertools.count()
LIVES = 1000
BLOCK = 100
ADD = "crm.deal.add"


class Life:
    """One card and the processes that hold it; a session that died is left and opened anew."""

    def __init__(self, world: World, number: int, *, doomed: dict[str, int]) -> None:
        self.world, self.number, self.doomed = world, number, doomed
        self.chance = random.Random(7919 * number)  # noqa: S311 - a made-up life, the same each time
        self.key = f"tg:{number}"
        self.sessions: list[Session] = []
        self.entry = NO_CARD
        self.approved_by_right = False

    async def begin(self) -> None:
        """The card goes out."""
        session = await self._opened()
        what = effect(ADD, {"fields": {"TITLE": f"N{self.number}", "OPPORTUNITY": 5}}, slot=f"{self.number}/1/1")
        asked = await self.world.gate.submit(what, actor=ANNA, mode="full", turn_id=f"{self.number}", ledger=session)
        assert isinstance(asked, Pending)
        await session.commit(actor=ANNA.key)
        self.entry = session.state.cards[asked.confirmation_id]

    async def live(self) -> None:
        """One to four things, some of them at once."""
        for _ in range(self.chance.randint(1, 2)):
            await asyncio.gather(*(self._safely(self.chance.choice(DEEDS)) for _ in range(self.chance.randint(1, 2))))

    async def end(self) -> None:
        """Whatever was under way is gone on with by the next start."""
        await self.restart()

    async def _safely(self, deed: Callable[["Life"], Awaitable[None]]) -> None:
        try:
            await deed(self)
        except (StoreUnwritable, StaleEpoch, SessionTaken):  # this process is dead or too late; the next one goes on
            self.sessions.clear()

    async def _opened(self) -> Session:
        """A process that holds the session, or one that was paused and believes so."""
        if not self.sessions:
            await self.restart()
        return self.chance.choice(self.sessions)

    async def press(self, *, approve: bool = True) -> None:
        """By anybody, with the right nonce or with another."""
        actor = self.chance.choice((ANNA, ANNA, BORIS, VERA))
        nonce = self.chance.choice((self.entry.nonce,) * 4 + ("ffffffff",))
        self.approved_by_right |= approve and actor is not BORIS and nonce == self.entry.nonce
        row = press(self.entry.with_values(nonce=nonce), approve=approve, actor=actor, key=self.key)
        await run_decision(row, await self._opened(), self.world.tools)

    async def deny(self) -> None:
        """The same with no."""
        await self.press(approve=False)

    async def expire(self) -> None:
        """Its timer, in time or not."""
        body = {"timer": "t", "confirmation_id": self.entry.confirmation_id, "kind": "confirmation_expires"}
        row = InboxRow(
            id="t", source="t", session=self.key, lane="express", kind="timer", actor={}, body=body, received_at=self.world.clock.now()
        )
        await run_expiry(row, await self._opened(), self.world.tools)

    async def restart(self) -> None:
        """The process goes, or is paused past its lease, and another one takes over."""
        if self.chance.random() < 0.5:
            self.sessions.clear()
        await self.world.store.expire_leases()
        session = await self.world.session(self.key, owner=f"process {next(OWNERS)}")
        await recover(session, self.world.tools)
        self.sessions.append(session)

    async def wander(self) -> None:
        """The clock goes on or back."""
        self.world.clock.advance(timedelta(hours=self.chance.choice((-30, -1, 1, 30))))

    async def crash(self) -> None:
        """A press during which the disk fails at a random write."""
        self.doomed[f"session:{self.key}"] = self.chance.randint(0, 2)
        try:
            await self.press()
        finally:
            self.doomed.pop(f"session:{self.key}", None)
        raise StoreUnwritable("killed after all")


@contextmanager
def failing_disk(world: World) -> Iterator[dict[str, int]]:
    """Streams that cannot be written after so many further commits."""
    doomed: dict[str, int] = {}
    commit = world.sql.commit

    def counted(what: Any) -> Any:
        if what.stream in doomed:
            doomed[what.stream] -= 1
            if doomed[what.stream] < 0:
                raise StoreUnwritable("killed")
        return commit(what)

    with patch.object(world.sql, "commit", counted):
        yield doomed


DEEDS: tuple[Callable[[Life], Awaitable[None]], ...] = (
    Life.press, Life.press, Life.press, Life.deny, Life.expire, Life.restart, Life.wander, Life.crash,
)  # fmt: skip


async def lived(world: World, block: int) -> tuple[list[Life], Counter[str]]:
    """The lives of a block, one after the other, and how often each card's call was made."""
    with failing_disk(world) as doomed:
        lives = [Life(world, 1000 * block + number, doomed=doomed) for number in range(1, BLOCK + 1)]
        for life in lives:
            start = world.clock.now()
            await life.begin()
            await life.live()
            await life.end()
            world.clock.advance(start - world.clock.now())
    return lives, Counter(params["fields"]["TITLE"] for _, params in world.portal.written(ADD))


@pytest.mark.long
@pytest.mark.req("G2", "S004-A2")
@pytest.mark.parametrize("block", range(LIVES // BLOCK))
async def test_no_life_of_a_card_has_two_effects(tmp_path: Path, block: int) -> None:
    """At most one call; none without an entitled approval; none after a denial or an end that the journal holds; at most one decision each."""
    async with a_world(tmp_path) as world:
        lives, made = await lived(world, block)
        ends: Counter[str] = Counter()
        for life in lives:
            row = world.sql.find_effect(life.entry.effect_id)
            assert row is not None
            ends[row.status] += 1
            count = made[f"N{life.number}"]
            assert count <= 1, life.number
            assert row.status == "unknown" or count == (row.status == "succeeded"), (life.number, row.status)
            decided = [event.type for event in world.events(key=life.key) if event.type.startswith("Confirmation")]
            assert len(decided) <= 2, (life.number, decided)
            assert count == 0 or (life.approved_by_right and "ConfirmationApproved" in decided), life.number
        assert {"succeeded", "denied", "requested", "expired"} <= set(ends), ends


@pytest.mark.long
@pytest.mark.req("G2")
async def test_these_lives_would_see_missing_safeguards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a second press is not objected to, a decision takes a card in any status, and its call may start anew: some have two effects."""

    def closing(entry: Card, event: Any, status: EffectStatus, *expect: str) -> confirmations.Closing:
        change = EffectChange(effect_id=entry.effect_id, expect=get_args(EffectStatus), status=status)
        return confirmations.Closing(event=event, change=change)

    stored = executor.build_stored_call
    monkeypatch.setattr(executor, "build_stored_call", lambda order: stored(order) | {"actor": ANNA.model_dump(mode="json")})
    monkeypatch.setattr(confirmations, "find_objection", lambda *_: None)
    monkeypatch.setattr(confirmations, "build_closing", closing)
    async with a_world(tmp_path) as world:
        _, made = await lived(world, 0)
        assert max(made.values()) > 1
