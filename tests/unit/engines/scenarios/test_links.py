"""A link to the bot starts a scenario, if there is one that the person may start."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.bot.telegram.door_kit import opened_door
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, say
from tests.unit.runs.test_runs_telegram import Chat


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("run_plan", "Здравствуйте, Анна!"),
        ("run_nowhere", "«nowhere» здесь нет: возможно, переименовали или удалили. Какие есть, покажет /run."),
    ],
)
async def test_a_link_starts_the_scenario_or_says_why_not(tmp_path: Path, link: str, told: str) -> None:
    """Over the door's wire, as Telegram hands the press in."""
    greet: dict[str, Any] = say("Здравствуйте, {user_name}!")
    async with a_scenario_world(tmp_path, greet) as world, world.working(), opened_door(world) as (door, wire):
        chat = Chat(world, door, wire)
        await chat.say(f"/start {link}")
        assert chat.shown()[-1]["text"].endswith(told)
        assert world.model.prompts == []
