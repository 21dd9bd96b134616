"""What pages of the console are drawn with: numbers as people write them, graphs of definitions, and steps of runs in words."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bot.console.charts import MOST_ARROWS, MOST_DRAWN, draw_chart
from bot.console.runs.run_face import RUN_FACE
from bot.console.runs.watch import say_chart
from bot.console.words import format_count, format_duration, format_money
from bot.i18n.translate import Translator
from bot.plugins.building import load_installed_engines
from bot.plugins.kind_face import build_definition_chart
from bot.plugins.loading import find_part
from engines.scenarios.core.kind import KIND as SCENARIO
from orchestrator.charts.chart import Arrow, Box, Chart, Mark, write_mermaid
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


def test_a_mark_stands_at_its_box() -> None:
    """The style of a mark is the class of its node, and its word stands in the box."""
    chart = Chart(title="", boxes=[Box(title="a", text="", shape="step"), Box(title="b", text="", shape="step")], arrows=[])

    text = write_mermaid(chart, {1: Mark("done", "готово")})

    assert 's1["b<br/>готово"]' in text
    assert "class s1 done" in text
    assert "class s0" not in text


@pytest.mark.req("C-29")
async def test_a_graph_that_grows_too_large_becomes_a_list_and_a_picture_again(made: ConsoleWorld) -> None:
    """Mermaid draws an error in place of a graph with too many boxes or arrows: it gets none, as long as the graph is that large."""
    boxes = [Box(title=f"b{number}", text="", shape="step", key=f"b{number}") for number in range(MOST_DRAWN + 1)]
    small, large = (Chart(title="", boxes=boxes[:count], arrows=[]) for count in (2, MOST_DRAWN + 1))
    dense = Chart(title="", boxes=boxes[:2], arrows=[Arrow(source=0, target=1, label=str(number)) for number in range(MOST_ARROWS + 1)])
    page = await made.open("/definitions", OLGA)
    with page.visit.page.content:
        drawn = draw_chart(page.visit, small, on_click=lambda _: None, name="x")
        pictures = []
        for chart in (small, large, small, dense):
            drawn.update(chart, {})
            pictures.append(sum(type(one).__name__ == "Mermaid" for one in page.elements))

    assert pictures == [1, 0, 1, 0]


async def test_a_long_list_of_steps_is_shown_in_parts(made: ConsoleWorld) -> None:
    """A chart too large for a picture lists a hundred steps, says how many are left, and shows them when asked."""
    boxes = [Box(title=f"Шаг {number}", text="", shape="step", key=f"s{number}") for number in range(250)]
    page = await made.open("/definitions", OLGA)
    with page.visit.page.content:
        draw_chart(page.visit, Chart(title="", boxes=boxes, arrows=[]), on_click=lambda _: None, name="x")

    assert page.has("Шаг 99")
    assert not page.has("Шаг 100")
    await page.press("Показать ещё, осталось: 150")
    assert page.has("Шаг 199")
    await page.press("Показать ещё, осталось: 50")
    assert page.has("Шаг 249")
    assert not next(one for one in page.elements if getattr(one, "text", "") == "Показать ещё, осталось: 0").visible


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
