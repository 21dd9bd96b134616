"""`sdelka flow record`: saves a finished run of the journal as a test that `sdelka flow test` plays."""

import asyncio
from pathlib import Path
from typing import Any

from bitrix.masking import hide_installed
from bot.cli.definition_files import load_classes
from bot.cli.ops import open_database_reader
from bot.cli.runs import find_run
from bot.cli.scenario.recording import write_new_file
from orchestrator.documents.writing import write_document
from orchestrator.rehearsals.flow_case import FlowCase
from orchestrator.rehearsals.flow_recording import complete_flow_recording, read_flow_recording
from state.journal.async_store import AsyncStore


def record_run(run: str, out: Path) -> str:
    """Write the run as a new file of tests and return the key of its flow.

    Raises NotRecordable, and SettingsError if the file is there already or cannot be written.
    """
    key, case = asyncio.run(_record(run))
    write_new_file(out, write_cases([case]))
    return key


async def _record(run: str) -> tuple[str, FlowCase]:
    with open_database_reader() as opened:
        run_id = find_run(opened, run)
        store = AsyncStore(opened)
        try:
            recorded = await read_flow_recording(run_id, store)
        finally:
            await store.aclose()
    return recorded.key, await complete_flow_recording(recorded, load_classes())


def write_cases(cases: list[FlowCase]) -> str:
    """Return the text of a file of tests, without secrets of this installation."""
    told: list[Any] = [one.model_dump(mode="json", by_alias=True, exclude_defaults=True) for one in cases]
    return write_document(hide_installed({"tests": told}), "yaml")
