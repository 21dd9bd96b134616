"""A process of the product that is killed while the model thinks: `python -m tests.unit.runs.killed_model_child FOLDER`."""

import asyncio
import sys
from pathlib import Path

from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.runs.runs_kit import a_run_world, start, steps
from tests.unit.spine_kit import until

DOCUMENTS = {"plan": steps({"say": "Начинаю"}, {"model": "подумай"}, {"say": "Готово"})}


async def think_for_ever(folder: Path) -> None:
    """Start a run whose model never answers, and say so once its question is stored."""
    async with a_run_world(folder, DOCUMENTS, store=open_store(build_sqlite_url(folder / "sdelka.db"))) as world:
        world.model.gate = asyncio.Event()
        world.model.will("готово")
        working = asyncio.ensure_future(world.work(start("plan")))
        await until(lambda: len(world.model.prompts) == 1)
        for session in world.orchestrator._sessions.values():
            await session.flush()  # as after 50 ms; tests have no such timer
        sys.stdout.write("asked\n")
        sys.stdout.flush()
        await working


if __name__ == "__main__":
    asyncio.run(think_for_ever(Path(sys.argv[1])))
