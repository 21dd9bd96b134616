"""An event that names no calendar goes into its owner's, which the portal asks for."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.domain.effect import Pending
from tests.unit.gate.sandbox_kit import Desk, a_desk

EVENT = {"type": "user", "ownerId": 7, "name": "Встреча", "from": "2026-11-26T15:00:00+03:00", "to": "2026-11-26T16:00:00+03:00"}
OWN, NAMED = 107, 12


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A person of the sandbox portal, each of whose people has one calendar."""
    async with a_desk(tmp_path) as made_desk:
        yield made_desk


async def add(desk: Desk, method: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    """What is sent when the card is approved; nothing is sent before."""
    pending = await desk.wish(method, params)
    assert isinstance(pending, Pending)
    assert not desk.wire.writes()
    await desk.approve(pending)
    return [sent for _, sent in desk.wire.writes()]


@pytest.mark.parametrize(("given", "section"), [({}, OWN), ({"section": ""}, OWN), ({"section": NAMED}, NAMED)])
async def test_an_event_without_a_calendar_gets_that_of_its_owner(desk: Desk, given: dict[str, Any], section: int) -> None:
    """A calendar that was named stays."""
    (sent,) = await add(desk, "calendar.event.add", {**EVENT, **given})
    assert sent["section"] == section


async def test_a_command_of_a_batch_gets_its_calendar_too(desk: Desk) -> None:
    """Each command is judged as it would be alone."""
    text = "&".join(f"{name}={value}" for name, value in EVENT.items()).replace("+", "%2B")
    (sent,) = await add(desk, "batch", {"halt": 0, "cmd": {"a": f"calendar.event.add?{text}"}})
    assert f"section={OWN}" in sent["cmd"]["a"]


@pytest.mark.parametrize("answer", [httpx.Response(200, json={"result": []}), httpx.Response(403, json={"error": "ACCESS_DENIED"})])
async def test_a_calendar_that_the_portal_does_not_tell_is_not_guessed(desk: Desk, answer: httpx.Response) -> None:
    """The call stays as it was proposed, and the portal says what it lacks."""
    desk.wire.instead["calendar.section.get"] = answer
    (sent,) = await add(desk, "calendar.event.add", EVENT)
    assert "section" not in sent
