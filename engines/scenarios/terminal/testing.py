"""`sdelka scenario test`: plays the dialogues beside scenarios and says what differs and which steps no dialogue reached."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bot.cli.author.played_tests import Coverage, Report, Words, find_tests, list_tested, write_reports
from bot.cli.definition_desk import write_findings
from bot.cli.definition_files import get_key, load_classes, load_engines, read_file
from bot.cli.ops import escape_text
from engines.scenarios.core.plan import StepTypes
from engines.scenarios.rehearsal.dialogue import DialogueFile, check_dialogues
from engines.scenarios.rehearsal.playing import compare, list_steps, play_dialogue
from engines.scenarios.rehearsal.step_names import find_known_steps
from engines.scenarios.terminal.files import Documents, Folder, load_scenario
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import DefinitionRefused, has_errors
from orchestrator.rehearsals.script import Script

_WORDS: Final = Words("scenario", "dialogue")


def check_dialogues_of(path: Path, types: StepTypes, *, as_json: bool) -> bool:
    """Play the dialogues of a scenario, or of all in a folder; write what came, and return whether all is as expected.

    Raises SettingsError if there is no file of dialogues.
    """
    return write_reports([_play_file(one, types) for one in list_tested(path, _WORDS)], _WORDS, as_json=as_json)


def _play_file(path: Path, types: StepTypes) -> Report:
    dialogues = find_tests(path)
    if dialogues is None:
        raise SettingsError(escape_text(f"{path} has no dialogues"))
    reading, key = read_file(dialogues), get_key(path)
    known = find_known_steps(key, Documents(Folder(path.parent), {}), types)
    findings = [*reading.findings, *(check_dialogues(reading.draft, known) if reading.draft is not None else ())]
    if reading.document is None or has_errors(findings):
        write_findings(findings)
        return Report(path=path, problem=f"{dialogues.name} has mistakes")
    try:
        document = load_scenario(load_engines(), path)
    except DefinitionRefused:
        return Report(path=path, problem="the scenario has mistakes")
    steps = Coverage(name="steps", parts=list_steps(document, types))
    report = Report(path=path, coverage=[steps])
    documents = Documents(Folder(path.parent), {key: document})
    asyncio.run(_play_all(report, steps, key, documents, types, DialogueFile.model_validate(reading.document.data)))
    return report


async def _play_all(report: Report, steps: Coverage, key: str, documents: Mapping[str, Any], types: StepTypes, file: DialogueFile) -> None:
    find_classes = load_classes()
    for number, dialogue in enumerate(file.dialogues, start=1):
        played = await play_dialogue(key, documents, types, dialogue, Script(dialogue, find_classes=find_classes))
        report.add_test(dialogue.name, number, compare(dialogue.expect, played))
        steps.reached |= played.visited.get(key, frozenset())
