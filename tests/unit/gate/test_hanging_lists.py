"""A list of the portal that hangs costs a call some seconds once: what it would have said is not known, and nobody waits for it again."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.directory import reference_cache
from orchestrator.domain.effect import Effect
from orchestrator.sessions.session import Session
from tests.unit.gate.submit_kit import SUM, decide, yes
from tests.unit.spine_kit import World, effect

HANGS = 600.0
SOON = 60.0
TO_A_STAGE = ("crm.deal.add", {"fields": {"TITLE": "x", "STAGE_ID": "PREPARATION"}})
TO_OTHERS = ("batch", {"cmd": [f"crm.deal.update?id=481&fields[ASSIGNED_BY_ID]={number}" for number in (8, 9)]})


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The patience of this file."""
    monkeypatch.setattr(reference_cache, "READ_TIMEOUTS", {})
    monkeypatch.setattr(reference_cache, "DEFAULT_READ_TIMEOUT", 0.2)


def hang(world: World, hanging: str) -> list[str]:
    """The portal takes requests for one method and says nothing; what it was asked for."""
    asked: list[str] = []

    async def watch(method: str, params: dict[str, Any]) -> None:
        del params
        if method == hanging:
            asked.append(method)
            await asyncio.sleep(HANGS)

    world.portal.watch = watch
    return asked


@pytest.mark.parametrize(
    ("method", "wish"),
    [("crm.deal.fields", SUM), ("crm.status.list", TO_A_STAGE), ("user.get", TO_OTHERS)],
    ids=["fields", "stages", "people"],
)
async def test_a_hanging_list_holds_no_call_up(world: World, session: Session, method: str, wish: tuple[str, dict[str, Any]]) -> None:
    """The card comes, the press runs it, and the list was asked for once."""
    asked = hang(world, method)
    async with asyncio.timeout(SOON):
        entry = await world.asked(session, effect(*wish))
        decided = await decide(world, session, yes(entry))
    assert decided.outcome is not None, decided
    assert asked == [method]


async def test_other_sessions_do_not_queue_behind_it(world: World) -> None:
    """Five at once wait for one read, and not for five after one another."""
    asked = hang(world, "crm.deal.fields")
    sessions = [await world.session(f"tg:{number}") for number in range(1001, 1006)]
    wishes: list[Effect] = [effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": n}}, slot=f"t{n}/1/1") for n in range(5)]
    async with asyncio.timeout(SOON):
        await asyncio.gather(*(world.asked(session, wish) for session, wish in zip(sessions, wishes, strict=True)))
    assert len(asked) == 1


async def test_after_a_rest_it_is_asked_again(world: World, session: Session) -> None:
    """A portal that recovered is believed within a minute."""
    asked = hang(world, "crm.deal.fields")
    await world.asked(session, effect(*SUM))
    world.clock.advance(reference_cache.TIMEOUT_PAUSE - timedelta(seconds=1))
    await world.asked(session, effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 6}}, slot="t1/1/2"))
    assert len(asked) == 1
    world.clock.advance(timedelta(seconds=10))
    await world.asked(session, effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 7}}, slot="t1/1/3"))
    assert len(asked) == 2
