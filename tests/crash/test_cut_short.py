"""A request of two changes is stopped while the first is being judged: of both the person reads what became of them, after a death too."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.crash import lab as lab_module
from tests.crash.lab import Evidence, World, inbox
from tests.crash.lab_checks import findings
from tests.crash.lab_walk import Lab, death
from tests.crash.lab_wire import Asked

MEETS = {"meets": True}
JUMP = {"jump": {"at": "~CallStarted.*:after", "seconds": 360.0}}
"""The moment of the first change passes between its judgement and its call, so it is not made."""
FIRST, SECOND = "Пихта", "Кедр"
LAST_MOMENTS = ["~Call(Refused|Succeeded).*:before", "~Call(Refused|Succeeded).*:after", "~TurnFinished.*:before", "~TurnFinished.*:after"]


@pytest.fixture(params=["crm.deal.fields"])
def held_up(request: pytest.FixtureRequest, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab whose first look at a change, or its call, waits until the /stop has come and been worked: one outcome can come of it."""
    database = lab.folder / "run" / "sdelka.db"

    class Held(World):
        async def answering(self, asked: Asked) -> tuple[int, bytes] | None:
            if self.generation == 0 and asked.name == "reached":
                await self.reached.wait()
            while self.generation == 0 and asked.name == request.param and not stopped(database):
                self.reached.set()
                await asyncio.sleep(0.005)
            return await super().answering(asked)

    monkeypatch.setattr(lab_module, "World", Held)
    return lab


def stopped(database: Path) -> bool:
    """Whether the /stop is through."""
    return any(source == "stop/stop" and status == "done" for _, source, status in inbox(database))


def told(run: Evidence) -> dict[str, list[str]]:
    """What the answer to the stopped request names, done or not, by its title."""
    asked = next(line["id"] for line in run.lines if line["kind"] == "offered" and line["source"] == "stop/message")
    named: dict[str, list[str]] = {}
    for line in run.lines:
        for notice in line["body"]["notices"] if line["kind"] == "reply" and line["key"] == f"turn:{asked}" else ():
            named.setdefault(notice["code"], []).extend(call["args"]["title"] for call in notice["args"].get("calls", ()))
    return named


@pytest.mark.req("G1")
@pytest.mark.parametrize("at", ["", *LAST_MOMENTS])
async def test_what_was_not_made_of_a_stopped_request_is_named(at: str, held_up: Lab) -> None:
    """Neither the change whose moment had passed nor the one that was not begun is left out, wherever the process dies then."""
    plan: dict[str, Any] = {"kills": [death(at)]} if at else {}
    run = await held_up.run("stop", more=MEETS | JUMP, **plan)
    assert findings(run) == []
    assert run.deaths == len(plan.get("kills", ()))
    if at != LAST_MOMENTS[0]:  # a refusal that died with the process is told by the look of the recovery
        assert told(run) == {"stopped": [], "not-made": [FIRST, SECOND]}


@pytest.mark.req("G1")
@pytest.mark.parametrize("at", ["", *LAST_MOMENTS])
@pytest.mark.parametrize("held_up", ["crm.deal.add"], indirect=True)
async def test_what_was_made_before_the_stop_is_told_apart_from_what_was_not(at: str, held_up: Lab) -> None:
    """Both are calls of the same method: each is named by itself."""
    plan: dict[str, Any] = {"kills": [death(at)]} if at else {}
    run = await held_up.run("stop", more=MEETS, **plan)
    assert findings(run) == []
    assert run.deaths == len(plan.get("kills", ()))
    assert told(run)["not-made"] == [SECOND]
    assert run.world.written(FIRST) == 1
