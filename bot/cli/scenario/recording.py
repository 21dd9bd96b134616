"""`sdelka scenario record`: saves a finished run of the journal as a dialogue that `sdelka scenario test` plays."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bitrix.masking import hide_installed
from bot.cli.definition_files import load_classes
from bot.cli.ops import escape_text, open_database_reader
from bot.cli.runs import find_run
from bot.cli.scenario.files import load_types
from orchestrator.documents.writing import write_document
from orchestrator.domain.errors import SettingsError
from orchestrator.rehearsals.dialogue import Dialogue
from orchestrator.rehearsals.recording import Completed, complete_recording, read_recording
from state.journal.async_store import AsyncStore

_PRIVATE: Final = 0o600


def record_run(run: str, out: Path) -> tuple[str, Sequence[str]]:
    """Write the run as a new file of dialogues and return the key of its scenario, and the variables at which the test does not look.

    Raises NotRecordable, and SettingsError if the file is there already or cannot be written.
    """
    key, completed = asyncio.run(_record(run))
    write_new_file(out, write_dialogues([completed.dialogue]))
    return key, completed.left_out


async def _record(run: str) -> tuple[str, Completed]:
    types = load_types()
    with open_database_reader() as opened:
        run_id = find_run(opened, run)
        store = AsyncStore(opened)
        try:
            recorded = await read_recording(run_id, store, types)
        finally:
            await store.aclose()
    return recorded.key, await complete_recording(recorded, types, load_classes())


def write_dialogues(dialogues: list[Dialogue]) -> str:
    """Return the text of a file of dialogues, without secrets of this installation."""
    told: list[Any] = [one.model_dump(mode="json", exclude_defaults=True, exclude_none=True) for one in dialogues]
    return write_document(hide_installed({"dialogues": told}), "yaml")


def write_new_file(path: Path, text: str) -> None:
    """Write a file that only its owner reads: what people answered stands in it. Raises SettingsError if there is one already."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SettingsError(escape_text(f"{path} is there already, and is not overwritten")) from None
    except OSError as error:
        raise SettingsError(escape_text(f"{path}: cannot be written ({error.strerror})")) from None
