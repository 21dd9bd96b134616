"""Random plans and random presses: no step runs without an approval of its own that follows a press which showed exactly this step."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.gate.approve.confirmations import calculate_second_nonce
from tests.unit.features.cards.cards_kit import answer, pressing
from tests.unit.runtime.group_kit import ask_plan
from tests.unit.spine_kit import BORIS, CHAT, World, a_world, press, raise_sum, step
from tests.unit.spine_portal import lost, says

GONE = {"error": "ACCESS_DENIED", "error_description": "нет прав"}


def draw_plan(chance: random.Random) -> list[Mapping[str, Any]]:
    steps = [
        raise_sum(1_000_000 + 1000 * chance.randint(1, 99)),
        raise_sum(50_000 + 1000 * chance.randint(1, 9), deal=482),
        step("tasks.task.add", {"fields": {"TITLE": f"Задача {chance.randint(1, 99)}", "RESPONSIBLE_ID": 8}}),
        step("crm.deal.delete", {"id": 482}),
        step("crm.contact.update", {"id": 43, "fields": {"ASSIGNED_BY_ID": 8}}),
    ]
    return chance.sample(steps, chance.randint(2, 4))


class Player:
    """Plays one chat at random, and remembers what each press showed."""

    def __init__(self, world: World, plan: dict[str, Any], chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.seen: list[dict[str, Any]] = [plan]
        self.covered: set[str] = set()
        """The ids of the cards that stood, waiting, on a message on which the requester pressed «all» or approved the one."""

    async def act(self) -> None:
        """Do one thing to one of the last messages."""
        plan = self.chance.choice(self.seen[-3:])
        one = self.chance.choice(plan.get("members") or [plan])
        presses = {
            "all": [press(plan)],
            "double": [press(plan), press(plan)],
            "second": [press({**plan, "nonce": calculate_second_nonce(plan["nonce"])})],
            "leave out": [press(one, approve=False)],
            "stranger": [press(plan, actor=BORIS)],
            "mixed": [press({**one, "nonce": plan["nonce"]})],
        }
        wish = self.chance.choice(["all", "all", *presses, "edit", "portal"])
        if wish in {"all", "double", "second"}:
            self.covered |= {each["confirmation_id"] for each in plan.get("members") or [plan] if each["status"] == "requested"}
        if wish == "edit":
            await self._edit(one)
        elif wish == "portal":
            self._change_portal()
        await self.world.work(*presses.get(wish, ()))
        self._look()

    async def _edit(self, one: Mapping[str, Any]) -> None:
        await self.world.work(pressing("edit", one["confirmation_id"]))
        self._look()
        question = next((row for row in reversed(self.rows) if row.kind == "edit" and row.body["what"] == "value"), None)
        if question is not None:
            await self.world.work(answer(question, str(1_300_000 + self.chance.randint(1, 9))))

    def _change_portal(self) -> None:
        """Change a record, or let the next call be refused or lost."""
        portal = self.world.portal
        match self.chance.randint(1, 3):
            case 1 if (deal := portal.records.get(("deal", self.chance.choice([481, 482])))) is not None:
                deal["OPPORTUNITY"] = f"{self.chance.randint(1, 900)}000.00"
            case 2:
                portal.will(self.chance.choice(["crm.deal.update", "tasks.task.add"]), lost)
            case _:
                portal.will("crm.deal.update", says(400, GONE))

    def _look(self) -> None:
        self.rows = self.world.outbox()
        self.seen.extend(dict(row.body) for row in self.rows if row.kind == "card" and row.session == CHAT)


@pytest.mark.parametrize("seed", range(24))
async def test_no_step_runs_without_an_approval_that_follows_a_press_on_it(tmp_path: Path, seed: int) -> None:
    """Whatever is pressed, edited, lost or changed in between: who did not see a step did not approve it, and nothing runs twice."""
    chance = random.Random(seed)  # noqa: S311 - a test that can be repeated
    policy = {"open_methods": ["crm.deal.delete"], "halt_on_block": chance.random() < 0.3}
    async with a_world(tmp_path, policy=policy) as world:
        player = Player(world, await ask_plan(world, *draw_plan(chance)), chance)
        for _ in range(12):
            await player.act()
        approved: list[str] = []
        started: list[str] = []
        for event in world.events("ConfirmationApproved", "CallStarted"):
            number = event.data["confirmation_id"]
            if event.type == "ConfirmationApproved":
                approved.append(number)
                continue
            started.append(number)
            assert number in approved
        assert set(approved) <= player.covered
        assert len(started) == len(set(started))
        assert len(world.portal.written()) <= len(started)
