"""What pages of the console are drawn with: numbers as people write them, graphs of definitions, and steps of runs in words."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bot.console.canvas import Canvas
from bot.console.runs.run_face import RUN_FACE
from bot.console.runs.watch import say_chart
from bot.console.words import format_count, format_duration, format_money
from bot.i18n.translate import Translator
from bot.plugins.building import load_installed_engines
from bot.plugins.kind_face import build_definition_chart
from bot.plugins.loading import find_part
from engines.scenarios.core.kind import KIND as SCENARIO
from orchestrator.charts.chart import Arrow, Box, Chart, Mark
from orchestrator.runs.registry import StaticDefinitions
from tests.unit.bot.console.console_kit import ANNA, OLGA, ConsoleWorld, a_console
from tests.unit.runs.runs_kit import start

RU, EN = Translator("ru"), Translator("en")


@pytest.mark.parametrize(
    ("seconds", "ru", "en"),
    [
        (0, "0 с", "0 s"),
        (0.04, "меньше 0,1 с", "less than 0.1 s"),
        (2.54, "2,5 с", "2.5 s"),
        (41.7, "42 с", "42 s"),
        (59.9, "1 мин", "1 min"),
        (90, "1,5 мин", "1.5 min"),
        (3599, "1 ч", "1 h"),
        (7200, "2 ч", "2 h"),
    ],
)
def test_a_duration_is_written_in_the_unit_and_with_the_decimal_sign_of_the_reader(seconds: float, ru: str, en: str) -> None:
    assert (format_duration(RU, seconds), format_duration(EN, seconds)) == (ru, en)


@pytest.mark.parametrize(
    ("amount", "ru", "en"),
    [
        (Decimal(0), "0 ₽", "₽0"),
        (0.004, "меньше 0,01 ₽", "less than ₽0.01"),
        (Decimal("1234.5"), "1 234,50 ₽", "₽1,234.50"),
        (0.3349, "0,33 ₽", "₽0.33"),
    ],
)
def test_money_is_written_to_the_cent_and_what_costs_less_does_not_look_free(amount: Decimal | float, ru: str, en: str) -> None:
    assert (format_money(RU, amount, "RUB").replace("\u00a0", " "), format_money(EN, amount, "RUB")) == (ru, en)


def test_thousands_of_a_count_stand_apart() -> None:
    assert (format_count(RU, 12345).replace("\u00a0", " "), format_count(EN, 12345)) == ("12 345", "12,345")


@pytest.mark.req("C-29")
async def test_a_chart_of_five_hundred_steps_is_drawn_whole(made: ConsoleWorld) -> None:
    """There was a list in place of a picture from 200 on. Whoever only reads gets no buttons that change."""
    boxes = [Box(title=f"b{number}", text="", shape="step", key=f"b{number}") for number in range(500)]
    arrows = [Arrow(source=number, target=number + 1, label=str(number)) for number in range(499)]
    page = await made.open("/definitions", OLGA)
    with page.visit.page.content:
        canvas = Canvas(page.visit, Chart(title="", boxes=boxes, arrows=arrows), name="x", marks={1: Mark("done", "готово")})

    assert (len(canvas.props["boxes"]), len(canvas.props["lines"]), canvas.props["read-only"]) == (500, 499, True)
    assert [box["title"] for box in canvas.props["boxes"] if box["mark"]] == ["b1"]


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
