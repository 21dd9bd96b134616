"""A run in `sdelka chat`: its questions show their buttons, whose words press them, and words leave as in every chat."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.cli.chat import Terminal
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, say
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import index
from tests.unit.spine_kit import ANNA, World, reply

PERSON = ANNA.model_copy(update={"key": "cli:anna"})
PLAN = (ask("plan", "Тариф?", step="plan", buttons=["Базовый", "Полный"], only_buttons=True), ask("name", "Имя?"), say("{plan} {name}"))


async def talk(world: World, lines: Sequence[str]) -> str:
    """What the terminal shows while a person types these lines at a scenario."""
    shown: list[str] = []
    left = list(lines)

    async def read_line(prompt: str) -> str | None:
        shown.append(prompt)
        return left.pop(0) if left else None

    await world.work(runs_kit.start("plan", engine="scenario", actor=PERSON, home=PERSON.key))
    async with world.working() as orchestrator:
        await Terminal(world.store, PERSON, PERSON.key, read_line=read_line, show=shown.append).run(orchestrator)
    return "\n".join(shown)


async def test_the_words_on_a_button_press_it(tmp_path: Path) -> None:
    """Also where the question takes no words."""
    async with a_scenario_world(tmp_path, *PLAN) as world:
        told = await talk(world, ["полный", "Иван"])
        assert "Тариф?\n  [Базовый]\n  [Полный]\n  [✖ Отменить]" in told
        assert "Полный Иван" in told
        assert index(world).status == "done"


@pytest.mark.parametrize("words", ["отмена", "✖ Отменить", "стоп"])
async def test_words_leave_the_run(tmp_path: Path, words: str) -> None:
    """With the button or without it."""
    async with a_scenario_world(tmp_path, *PLAN) as world:
        told = await talk(world, [words])
        assert index(world).status == "cancelled"
        assert "отменён" in told


async def test_a_request_is_asked_back_and_handled(tmp_path: Path) -> None:
    """The question is shown again, and answered."""
    async with a_scenario_world(tmp_path, *PLAN[1:]) as world:
        world.model.will(reply(text="Вот сделки."))
        told = await talk(world, ["покажи мои сделки", "новая просьба", "Иван"])
        assert told.index("Это ответ на вопрос") < told.index("Вот сделки.") < told.rindex("Имя?")
        assert index(world).status == "done"
