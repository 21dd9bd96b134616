"""Saves finished runs of the journal as tests."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import typer
from pydantic import BaseModel

from bitrix.masking import hide_installed
from bot.cli.author.faces import refuse_missing
from bot.cli.definition_files import load_classes
from bot.cli.inputs import find_run
from bot.cli.ops import escape_text, open_database_reader
from bot.plugins.loading import find_part_of_kind
from bot.rehearsing.case_face import CASE_FACE, Recording, TakeRun
from orchestrator.documents.writing import write_document
from orchestrator.domain.errors import SettingsError
from orchestrator.rehearsals.recorded_nodes import NotRecordable
from state.journal.async_store import AsyncStore

_PRIVATE: Final = 0o600


def save_run(kind: str, run: str, out: Path, command: str) -> bool:
    """Returns whether it could be made a test. `command` plays such tests. Raises SettingsError, also if the file is there."""
    face = find_part_of_kind(CASE_FACE, kind)
    if face is None or face.take_run is None:
        raise refuse_missing(kind, "cannot be recorded", CASE_FACE)
    try:
        recording = asyncio.run(_take(run, face.take_run))
    except NotRecordable as error:
        typer.echo(escape_text(f"Not recorded: {error}."), err=True)
        return False
    write_new_file(out, write_cases([recording.case], f"{face.test}s"))
    where = f"Put it beside the {kind} as {recording.key}.test.yaml, and play it with `{command}`."
    typer.echo(escape_text(f"{out}: a test of {recording.key}. {where}"))
    for part in recording.left_out:
        typer.echo(escape_text(hide_installed(f"  not looked at: {part}")))
    return True


async def _take(run: str, take: TakeRun) -> Recording:
    with open_database_reader() as opened:
        run_id = find_run(opened, run)
        store = AsyncStore(opened)
        try:
            return await take(run_id, store, load_classes())
        finally:
            await store.aclose()


def write_cases(cases: Sequence[BaseModel], field: str = "tests") -> str:
    """Without secrets of this installation."""
    tests = [case.model_dump(mode="json", by_alias=True, exclude_defaults=True) for case in cases]
    return write_document(hide_installed({field: tests}), "yaml")


def write_new_file(path: Path, text: str) -> None:
    """Only its owner may read it: people's answers stand in it. Raises SettingsError if it is there."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SettingsError(escape_text(f"{path} is there already, and is not overwritten")) from None
    except OSError as error:
        raise SettingsError(escape_text(f"{path}: cannot be written ({error.strerror})")) from None
