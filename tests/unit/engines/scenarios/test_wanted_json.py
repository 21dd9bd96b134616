"""`llm_request` with `output: json` gives data whose parts steps and conditions read, or ends the scenario in words."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, failure, say, start, texts
from tests.unit.runs.runs_kit import index, work_through
from tests.unit.spine_kit import message

PROMPT = "Что в письме: {letter}"


def request(**more: Any) -> dict[str, Any]:
    return {"type": "llm_request", "params": {"prompt": PROMPT, "output": "json", "output_var": "got", **more}}


@pytest.mark.req("S000-56", "S000-X12", "S000-18")
async def test_parts_of_the_answer_are_read_like_those_of_any_object(tmp_path: Path) -> None:
    """In texts and in conditions, also after a restart in between; the model is told to answer with JSON alone."""
    big = {"type": "branch", "condition": "context['got'].sum > 100", "branches": {"if": "big", "else": "small"}}
    steps = [ask("letter"), request(), ask("more"), big, say("мало", id="small"), say("{got.name}: {got.items[0].title}", id="big")]
    async with a_scenario_world(tmp_path, *steps) as world:
        world.model.will('Вот:\n```json\n{"name": "Анна", "sum": 500, "items": [{"title": "Щит"}],}\n```')
        await work_through(world, start(), message("Анна хочет щит"), message("дальше"))
        assert texts(world)[-1] == "Анна: Щит"
        assert "JSON" in world.model.prompts[0][0]["content"]


@pytest.mark.req("S000-56", "S000-X6", "S000-X12")
@pytest.mark.parametrize("wrong", ["Не знаю", '{"name": "Анна"', '{"name": NaN}', '{"name": null}'])
async def test_what_cannot_be_read_is_asked_for_once_more_and_then_ends_the_run(tmp_path: Path, wrong: str) -> None:
    """The model is told what is wrong; the person reads why nothing more is done."""
    steps = [request(prompt="?", required=["name"]), say("{got.name}")]
    async with a_scenario_world(tmp_path / "a", *steps) as world:
        world.model.will(wrong, '{"name": "Анна"}')
        await world.work(start())
        assert (texts(world), index(world).status) == (["Анна"], "done")
        assert world.model.prompts[1][-1]["content"].startswith("Your last answer could not be taken")
    async with a_scenario_world(tmp_path / "b", *steps) as world:
        world.model.will(wrong, wrong)
        await world.work(start())
        assert (failure(world)["code"], len(world.model.prompts)) == ("scenario-answer-unfit", 2)
