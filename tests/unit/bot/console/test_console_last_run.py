"""Whoever edits a definition sees at each step how its last run went, as far as they may see that run."""

import json
from pathlib import Path
from typing import Any

import pytest
from nicegui import ui

from bot.console.canvas import Canvas
from bot.console.definitions.last_run import LastRun
from engines.workflows.core.kind import WORKFLOW
from tests.unit.bot.console.console_kit import OLGA, VERA, ConsoleWorld, OpenPage
from tests.unit.bot.console.definitions_kit import change, store
from tests.unit.bot.console.runs_kit import a_console_of_runs, asking, find_boxes, start_run, workflow

TWO = workflow(
    asking("ask", "Напиши письмо", "letter", metadata={"title": "Письмо"}),
    asking("check", "Проверь: {{letter}}", "told", metadata={"title": "Проверка"}),
    terminal={"rawText": "told"},
)


async def open_editor(made: ConsoleWorld, person: Any = OLGA) -> OpenPage:
    await store(made, json.dumps(TWO, ensure_ascii=False), kind=WORKFLOW, key="plan")
    page = await made.open("/definitions/workflow/plan/edit", person)
    await page.settle()
    return page


async def press_node(page: OpenPage, title: str) -> None:
    """A press on a node, and one on the last tab beside it."""
    [canvas] = [one for one in page.elements if isinstance(one, Canvas)]
    await page.act(canvas, "choose", {"id": next(box["id"] for box in find_boxes(page) if title in box["title"])})
    await change(page, next(one for one in page.elements if isinstance(one, ui.tabs)), "run")


def list_marks(page: OpenPage) -> list[str]:
    return [box["mark"]["word"] for box in find_boxes(page) if box["mark"]]


@pytest.mark.req("C-29")
async def test_each_step_shows_how_its_last_run_went(tmp_path: Path) -> None:
    """State, tokens and time stand at the node; a press shows prompt and answer, the prompt already open."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        page = await open_editor(made)
        assert list_marks(page) == []
        made.world.model.will("Уважаемая Анна", "Проверено")
        await start_run(made, person=OLGA)
        await made.tell_change()

        assert [word.startswith("готово · ") and "токен" in word for word in list_marks(page)] == [True, True]
        await made.tell_change()  # the same chart is drawn once more
        await press_node(page, "Письмо")
        assert (page.has("Напиши письмо"), page.has("Уважаемая Анна"), page.has("Проверь: Уважаемая Анна")) == (True, True, False)
        [prompt] = [one for one in page.elements if one.tag == "details" and "job-prompt" in one.classes]
        assert "open" in prompt.props


async def test_who_may_not_read_the_words_of_a_run_sees_only_how_it_went(tmp_path: Path) -> None:
    """As on the page of the run: Vera leads, and the run is another's."""
    async with a_console_of_runs(tmp_path, {"plan": TWO}) as made, made.world.working():
        made.world.model.will("Уважаемая Анна", "Проверено")
        await start_run(made, person=OLGA)
        page = await open_editor(made, VERA)
        await press_node(page, "Письмо")

        assert "токен" in list_marks(page)[0]
        assert not page.has("Уважаемая Анна")
        assert not [text for text in page.read_texts() if text == "Напиши письмо"]


async def test_a_run_of_another_definition_is_none_of_this(tmp_path: Path) -> None:
    """Nor one of another kind with the same key."""
    async with a_console_of_runs(tmp_path, {"plan": TWO, "other": TWO}) as made, made.world.working():
        made.world.model.will("Уважаемая Анна", "Проверено")
        await start_run(made, "other", person=OLGA)
        page = await open_editor(made)
        assert await LastRun(page.visit, WORKFLOW).load("plan") is None
        assert await LastRun(page.visit, "flow").load("other") is None
        assert await LastRun(page.visit, WORKFLOW).load("other") is not None
        assert page.has("Этого ещё не запускали — или запуски видны не вам.")
