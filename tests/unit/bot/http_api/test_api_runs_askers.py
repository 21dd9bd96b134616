"""For whom the portal is asked: a person who waits, a run, a program, and nobody any more."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitrix.limits.askers import find_asker
from bitrix.limits.limiter import Priority
from tests.unit.bot.http_api.api_kit import OWN, Api, an_api
from tests.unit.runs.runs_kit import events, start, steps
from tests.unit.spine_kit import ANNA, message, reply, step, until

READ = {"write": "crm.deal.get", "params": {"id": 481}}
DOCUMENTS = {
    ("steps", "look"): steps(READ),
    ("steps", "write"): steps(
        {"write": "crm.timeline.comment.add", "params": {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "Звонил"}}}
    ),
}
Asked = tuple[str, Priority]


def watch(api: Api) -> list[Asked]:
    """For whom each read of a deal is made from now on."""
    asked: list[Asked] = []

    async def note(method: str, _: Mapping[str, Any]) -> None:
        asker = find_asker()
        if method == "crm.deal.get":
            asked.append((asker.source, asker.urgency))

    api.world.portal.watch = note
    return asked


async def test_each_read_says_for_whom_it_is(tmp_path: Path) -> None:
    """A program over HTTP, the run of a person and a person who waits are told apart, whichever layer reads."""
    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        asked = watch(api)
        assert (await api.post("/runs", {"engine": "steps", "definition": "look"})).status_code == 202
        await api.world.idle()
        program = ("http:site", Priority.PROGRAM)
        assert set(asked) == {program}
        for row, expected in (
            (start("look"), (ANNA.key, Priority.RUN)),
            (message("покажи сделку 481"), (ANNA.key, Priority.INTERACTIVE)),
            (message("покажи сделку 481", actor=api.clients["site"].actor, key=OWN), program),
        ):
            asked.clear()
            if row.kind == "message":
                api.world.model.will(reply(step("crm.deal.get", {"id": 481})), reply())
            await api.world.orchestrator.receive([row])
            await api.world.idle()
            assert set(asked) == {expected}


async def test_a_cancelled_run_gives_up_its_read(tmp_path: Path) -> None:
    """A run that waits for a slow portal is cancelled at once, and the portal's answer is waited for no more."""
    given_up = asyncio.Event()
    reading = asyncio.Event()

    async def hang(*_: object) -> None:
        reading.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            given_up.set()
            raise

    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        api.world.portal.watch = hang
        run_id = (await api.post("/runs", {"engine": "steps", "definition": "look"})).json()["id"]
        await asyncio.wait_for(reading.wait(), 5)
        cancelled = await api.post(f"/runs/{run_id}/cancel")
        assert cancelled.json()["status"] == "cancelled"
        await asyncio.wait_for(given_up.wait(), 5)
        api.world.portal.watch = None
        await until(api.world.orchestrator.is_idle)
        assert len(api.world.portal.requests) == 1


async def test_a_cancelled_run_finishes_its_write(tmp_path: Path) -> None:
    """A write that is under way when its run is cancelled is neither given up nor left unread: its outcome is stored."""
    writing, answers = asyncio.Event(), asyncio.Event()

    async def hold(method: str, _: object) -> None:
        if method == "crm.timeline.comment.add":
            writing.set()
            await answers.wait()

    async with an_api(tmp_path, documents=DOCUMENTS) as api:
        api.world.portal.watch = hold
        run_id = (await api.post("/runs", {"engine": "steps", "definition": "write"})).json()["id"]
        await asyncio.wait_for(writing.wait(), 5)
        assert (await api.post(f"/runs/{run_id}/cancel")).json()["status"] == "cancelled"
        answers.set()
        await api.world.idle()
        assert [method for method, _ in api.world.portal.ledger] == ["crm.timeline.comment.add"]
        types = [event.type for event in events(api.world, key=f"run:{run_id}")]
        assert "CallSucceeded" in types
        assert "CallUnknown" not in types
