"""A person who loses access while a run of theirs is played: the run ends before its next piece of work, not only when it is next woken."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runs.function_kit import ended
from tests.unit.runs.runs_kit import a_run_world, events, start, steps
from tests.unit.spine_kit import ANNA

READ = {"write": "crm.deal.get", "params": {"id": 481}}
NEXT: Mapping[str, Mapping[str, Any]] = {
    "a write that asks nobody": {
        "write": "crm.timeline.comment.add",
        "params": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "!"}},
    },
    "a write that asks": {"write": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}},
    "a read": READ,
    "a model": {"model": "что дальше?"},
    "a question": {"ask": "Как зовут клиента?"},
    "another run": {"child": "inner"},
    "a turn": {"turn": "подними сумму сделки 481 до 1 200 000"},
    "a message": {"say": "Дальше"},
}


@pytest.mark.req("G1")
@pytest.mark.parametrize("what", NEXT)
async def test_nothing_more_is_begun_for_who_has_lost_access(tmp_path: Path, what: str) -> None:
    """Access ends while the portal answers the first read."""
    gone = False

    async def watch(method: str, _params: Mapping[str, Any]) -> None:
        nonlocal gone
        gone = gone or method == "crm.deal.get"

    async with a_run_world(tmp_path, {"plan": steps(READ, NEXT[what]), "inner": steps({"say": "внутри"})}) as world:
        world.portal.watch = watch
        world.orchestrator.tools = replace(world.tools, refresh_actor=lambda actor: None if gone and actor.key == ANNA.key else actor)
        await world.work(start("plan"))
        assert gone
        assert ended(world) == [("failed", "run-owner-gone")]
        assert events(world, "ConfirmationRequested", "RunWaits", "CallStarted") == []
        assert [one.data["node"] for one in events(world, "NodeDone")] == ["s0"]
        assert [method for method, _ in world.portal.requests] == ["crm.deal.get"] * 2, "whose deal it is, and the deal"
        assert (world.portal.written(), world.model.prompts) == ([], [])
