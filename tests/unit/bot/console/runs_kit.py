"""Small definitions that are run while the console looks."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.console.canvas import Canvas
from bot.plugins.building import load_installed_engines
from engines.workflows.core.kind import WORKFLOW
from orchestrator.runs.registry import StaticDefinitions
from state.journal.run_index import RunFilter, RunRow
from tests.unit.bot.console.console_kit import ANNA, ConsoleWorld, OpenPage, a_console
from tests.unit.runs.runs_kit import start

HOSTILE = "<img src=x onerror=alert(1)> **жирно** \u202eзадом"


def workflow(*tuums: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A workflow of these tuums that is called Досье."""
    return {"workflowId": "plan", "metadata": {"title": "Досье"}, "tuums": [*tuums], **fields}


def asking(name: str, template: str, gives: str, **fields: Any) -> dict[str, Any]:
    """A tuum that asks the model and publishes its answer."""
    runes = [{"runeType": "prompt", "template": template}]
    return {"tuumId": name, "promptRunes": runes, "aiService": "tool", "outputMappings": {gives: "ai_final_output"}, **fields}


@asynccontextmanager
async def a_console_of_runs(folder: Path, documents: Mapping[str, Any], **more: Any) -> AsyncIterator[ConsoleWorld]:
    """A console of a product with these workflows, by key."""
    known = StaticDefinitions({(WORKFLOW, key): document for key, document in documents.items()})
    async with a_console(folder, engines=replace(load_installed_engines(), definitions=known), **more) as made:
        yield made


async def start_run(made: ConsoleWorld, key: str = "plan", person: Any = ANNA, number: int = 1, **args: Any) -> str:
    """Start a run of the person and play it as far as it goes; return its id."""
    run = f"0190aaaa-0000-7000-8000-{number:012d}"
    home = f"tg:{person.telegram_id}"
    row = start(key, engine=WORKFLOW, actor=person.to_actor(), home=home, key=f"run:{run}", **args)
    await made.world.put(row)
    await made.world.idle()
    return run


def find_boxes(page: OpenPage) -> Any:
    """What the canvas of the page draws."""
    [canvas] = [one for one in page.elements if isinstance(one, Canvas)]
    return canvas.props["boxes"]


def list_rows(made: ConsoleWorld, statuses: Sequence[str] = ()) -> list[RunRow]:
    """The rows of the index of runs."""
    return made.world.sql.list_runs(RunFilter(statuses=tuple(statuses)))
