"""Reminders as a person wishes them, set and waiting."""

from datetime import timedelta
from typing import Any

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect
from orchestrator.sessions.session import Session
from tests.unit.features.daily.daily_kit import MONDAY, Home
from tests.unit.spine_kit import ANNA, effect

HOUR = timedelta(hours=1)
ELEVEN = "2026-11-27T11:00:00+03:00"
TEXT = "позвонить Ромашке"


class Died(BaseException):
    """The process is gone."""


def wish(slot: str = "t1/1/1", **params: Any) -> Effect:
    return effect("reminder.add", {"at": ELEVEN, "text": TEXT, **params}, slot=slot)


async def kept(home: Home, *, actor: Actor = ANNA, **params: Any) -> Session:
    """A reminder that was asked for in that person's chat on Monday at nine."""
    home.set_clock(MONDAY)
    session = await home.session(actor)
    outcome = await home.world.submit(session, wish(**params), actor=actor)
    assert outcome.status == "succeeded", outcome
    await home.work(session)
    return session
