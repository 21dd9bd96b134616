"""The steps of a run on its page: in words, as those read them who watch it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.console.runs.run_face import RUN_FACE
from bot.console.runs.watch import say_chart
from bot.i18n.translate import Translator
from bot.plugins.building import load_installed_engines
from bot.plugins.kind_face import build_definition_chart
from bot.plugins.loading import find_part
from engines.scenarios.core.kind import KIND as SCENARIO
from orchestrator.charts.chart import Chart
from orchestrator.runs.registry import StaticDefinitions
from tests.unit.bot.console.console_kit import ANNA, a_console
from tests.unit.runs.runs_kit import start

STEPS: list[dict[str, Any]] = [
    {"id": "which", "type": "input", "params": {"prompt": "Какая сделка?", "input_variable": "deal"}},
    {"id": "read", "type": "bitrix_call", "params": {"method": "crm.deal.get", "params": {"id": "{deal}"}, "on_refused": "bye"}},
    {"id": "big", "type": "branch", "condition": "deal > 1", "branches": {"if": "told", "else": "bye"}},
    {"id": "told", "title": "Рассказать,\n кто решит", "type": "message", "params": {"text": "Решит Вера"}},
    {"id": "own", "type": "of_a_plugin"},
    {"id": "bye", "type": "end"},
]
FLOW = {
    "flowId": "review",
    "metadata": {"title": "Разбор"},
    "steps": [{"id": "look", "name": "Чтение сделок", "agentVersionId": "01a21d98-ec12-7653-9fe0-d4cf5e0dea15", "maxAttempts": 2}],
}


def say(engine: str, document: object, locale: Any = "ru") -> Chart:
    """The chart of a document as the page of a run has it."""
    chart = build_definition_chart(engine, document)
    assert chart is not None
    return say_chart(Translator(locale), find_part(RUN_FACE, engine), document, chart)


@pytest.mark.req("C-33")
def test_steps_of_a_scenario_are_called_by_their_title_or_by_what_they_do() -> None:
    boxes = [(box.title, box.text) for box in say(SCENARIO, {"steps": STEPS}).boxes]

    assert boxes[:4] == [
        ("Спросить человека", "Какая сделка?"),
        ("Открыть сделку", ""),
        ("Развилка по условию", "deal > 1"),
        ("Рассказать, кто решит", ""),
    ]
    assert boxes[4][0] == "of_a_plugin"  # nobody knows another word for it
    assert boxes[5] == ("Конец сценария", "")


@pytest.mark.req("C-33")
def test_ways_and_ends_are_words_of_the_reader_and_no_version_of_an_agent_is_shown() -> None:
    assert {arrow.label for arrow in say(SCENARIO, {"steps": STEPS}).arrows} >= {"если", "иначе", "отказ"}
    ru, en = say("flow", FLOW), say("flow", FLOW, "en")

    assert [(box.title, box.text) for box in ru.boxes] == [("Чтение сделок", ""), ("Конец", "")]
    assert en.boxes[1].title == "End"


@pytest.mark.req("C-33")
async def test_the_page_of_a_scenario_lists_its_steps_in_words(tmp_path: Path) -> None:
    """Neither the id nor the type of a step stands in the list."""
    document = {"name": "Скидка", "steps": STEPS[:1]}
    engines = replace(load_installed_engines(), definitions=StaticDefinitions({(SCENARIO, "discount"): document}))
    async with a_console(tmp_path, engines=engines) as made, made.world.working():
        run = "0190aaaa-0000-7000-8000-000000000001"
        row = start("discount", engine=SCENARIO, actor=ANNA.to_actor(), home=f"tg:{ANNA.telegram_id}", key=f"run:{run}")
        await made.world.put(row)
        await made.world.idle()
        page = await made.open(f"/runs/{run}", ANNA)

        assert page.has("Спросить человека: Какая сделка?")
        assert not page.has("which · input")
