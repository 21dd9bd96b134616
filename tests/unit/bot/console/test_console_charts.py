"""Graphs of definitions in the console."""

import pytest

from bot.console.charts import MOST_ARROWS, MOST_DRAWN, draw_chart
from orchestrator.charts.chart import Arrow, Box, Chart, Mark, write_mermaid
from tests.unit.bot.console.console_kit import OLGA, ConsoleWorld


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
