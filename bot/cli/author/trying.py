"""What trying a definition in the terminal needs, whatever its kind: models that are really asked, answers of a file, written lines."""

import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bitrix.masking import hide_installed
from bot.cli.definition_desk import write_findings
from bot.cli.definition_files import read_file
from bot.cli.ops import escape_text, open_models
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.suggestions import suggest_name
from orchestrator.engines.runs import RunFailed, RunModelRequest
from orchestrator.rehearsals.rehearsal import CALLS, NO_ANSWER, TakeText
from orchestrator.rehearsals.script import AskModel

PROGRAM_ERROR: Final = "failed"
"""The code of a failure that is no author's, of which the sentence for people tells nothing."""


@contextlib.asynccontextmanager
async def open_model() -> AsyncIterator[AskModel]:
    """Yield what asks the models of the settings. Raises SettingsError."""
    async with open_models() as router:

        async def ask(request: RunModelRequest, on_delta: TakeText | None) -> Any:
            try:
                answer = await router.chat(request, on_delta)
            except ModelClientError as error:
                raise RunFailed(NO_ANSWER, error.reason) from None
            calls = [{"name": one.name, "arguments": dict(one.arguments)} for one in answer.calls]
            return {"text": answer.text, CALLS: calls} if calls else answer.text

        yield ask


def load_mocks(path: Path, wanted: str, part: str, names: Sequence[str], *, is_known: Callable[[str], bool]) -> Mapping[str, Any]:
    """Return what a file gives by the names of parts of a definition, which are steps or the like.

    `wanted` says what the file is to hold. Raises SettingsError, also for a name that `is_known` denies, with the nearest one of `names`.
    """
    reading = read_file(path)
    if reading.document is None or not isinstance(reading.document.data, dict):
        write_findings(reading.findings)
        raise SettingsError(escape_text(f"{path}: {wanted}"))
    for name in reading.document.data:
        if not is_known(name):
            meant = suggest_name(name, names)
            raise SettingsError(escape_text(f"{path}: there is no {part} {name}{f', perhaps {meant}' if meant else ''}"))
    return reading.document.data


def write_text(text: str, *, end: str = "\n") -> None:
    """Write a text for people to stdout, without secrets of this installation and without characters that control the terminal."""
    sys.stdout.write(escape_text(hide_installed(text)) + end)
    sys.stdout.flush()
