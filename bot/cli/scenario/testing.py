"""`sdelka scenario test`: plays the dialogues beside scenarios and says what differs and which steps no dialogue reached."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import typer

from bot.cli.definition_desk import write_findings
from bot.cli.definition_files import SUFFIXES, TEST, get_key, list_files, load_classes, load_engines, read_file
from bot.cli.ops import escape_text, write_json_lines
from bot.cli.scenario.files import Documents, Folder, load_scenario
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import DefinitionRefused, has_errors
from orchestrator.engines.scenarios.plan import StepTypes
from orchestrator.rehearsals.dialogue import DialogueFile, check_dialogues
from orchestrator.rehearsals.playing import compare, list_steps, play_dialogue
from orchestrator.rehearsals.script import Script
from orchestrator.rehearsals.step_names import find_known_steps

_MOST_MISSED: Final = 20


@dataclass(kw_only=True)
class _Report:
    """What the dialogues of one scenario came to."""

    path: Path
    steps: Sequence[str] = ()
    visited: set[str] = field(default_factory=set)
    dialogues: dict[str, list[str]] = field(default_factory=dict)
    """What differs, by the name of the dialogue."""
    problem: str = ""
    """Why nothing could be played."""

    @property
    def is_good(self) -> bool:
        return not self.problem and not any(self.dialogues.values())

    @property
    def missed(self) -> list[str]:
        return [one for one in self.steps if one not in self.visited]


def check_dialogues_of(path: Path, types: StepTypes, *, as_json: bool) -> bool:
    """Play the dialogues of a scenario, or of all in a folder; write what came, and return whether all is as expected.

    Raises SettingsError if there is no file of dialogues.
    """
    reports = [_play_file(one, types) for one in _list_tested(path)]
    for report in reports:
        if as_json:
            _write_json(report)
        else:
            _write(report)
    count = sum(len(one.dialogues) for one in reports)
    failed = sum(bool(found) for one in reports for found in one.dialogues.values()) + sum(bool(one.problem) for one in reports)
    if not as_json:
        typer.echo(
            f"{count} dialogue{'' if count == 1 else 's'} of {len(reports)} scenario{'' if len(reports) == 1 else 's'}, {failed} failed."
        )
    return all(one.is_good for one in reports)


def _list_tested(path: Path) -> list[Path]:
    """Return the scenarios to test: the one that is named, itself or by its dialogues, or those of a folder that have dialogues."""
    if path.is_dir():
        found = [one for one in list_files(path) if _find_dialogues(one) is not None]
        lost = [one for one in sorted(path.glob(f"*{TEST}.y*ml")) if _find_scenario(one) is None]
        if not found or lost:
            what = f"{lost[0]} has no scenario beside it" if lost else f"{path} has no scenario with a file NAME{TEST}.yaml beside it"
            raise SettingsError(escape_text(what))
        return found
    scenario = _find_scenario(path) if path.stem.endswith(TEST) else path
    if scenario is None or _find_dialogues(scenario) is None:
        raise SettingsError(escape_text(f"{path}: a scenario NAME.yaml and its dialogues NAME{TEST}.yaml are needed"))
    return [scenario]


def _find_dialogues(scenario: Path) -> Path | None:
    names = (scenario.with_name(f"{get_key(scenario)}{TEST}{suffix}") for suffix in SUFFIXES)
    return next((one for one in names if one.is_file()), None)


def _find_scenario(dialogues: Path) -> Path | None:
    names = (dialogues.with_name(f"{dialogues.stem.removesuffix(TEST)}{suffix}") for suffix in SUFFIXES)
    return next((one for one in names if one.is_file()), None)


def _play_file(path: Path, types: StepTypes) -> _Report:
    dialogues = _find_dialogues(path)
    if dialogues is None:
        raise SettingsError(escape_text(f"{path} has no dialogues"))
    reading, key = read_file(dialogues), get_key(path)
    known = find_known_steps(key, Documents(Folder(path.parent), {}), types)
    findings = [*reading.findings, *(check_dialogues(reading.draft, known) if reading.draft is not None else ())]
    if reading.document is None or has_errors(findings):
        write_findings(findings)
        return _Report(path=path, problem=f"{dialogues.name} has mistakes")
    try:
        document = load_scenario(load_engines(), path)
    except DefinitionRefused:
        return _Report(path=path, problem="the scenario has mistakes")
    report = _Report(path=path, steps=list_steps(document, types))
    documents = Documents(Folder(path.parent), {key: document})
    asyncio.run(_play_all(report, key, documents, types, DialogueFile.model_validate(reading.document.data)))
    return report


async def _play_all(report: _Report, key: str, documents: Mapping[str, Any], types: StepTypes, file: DialogueFile) -> None:
    find_classes = load_classes()
    for number, dialogue in enumerate(file.dialogues, start=1):
        played = await play_dialogue(key, documents, types, dialogue, Script(dialogue, find_classes=find_classes))
        name = dialogue.name if dialogue.name not in report.dialogues else f"{dialogue.name} ({number})"
        report.dialogues[name] = compare(dialogue.expect, played)
        report.visited |= played.visited.get(key, frozenset())


def _write(report: _Report) -> None:
    typer.echo(escape_text("\n".join(_describe(report))))


def _describe(report: _Report) -> Iterator[str]:
    yield f"{report.path}"
    if report.problem:
        yield f"  FAILED: {report.problem}"
        return
    for name, found in report.dialogues.items():
        yield f"  {'FAILED' if found else 'ok'}  {name}"
        yield from (f"    {line}" for line in found)
    done = len(report.steps) - len(report.missed)
    missed = report.missed[:_MOST_MISSED] + (["…"] if len(report.missed) > _MOST_MISSED else [])
    share = f"{done} of {len(report.steps)} steps ({100 * done // max(1, len(report.steps))} %)"
    yield f"  covers {share}" + (f"; not reached: {', '.join(missed)}" if missed else "")


def _write_json(report: _Report) -> None:
    told = {"file": str(report.path), "problem": report.problem, "steps": len(report.steps), "not_reached": report.missed}
    dialogues = [{"name": name, "ok": not found, "differences": found} for name, found in report.dialogues.items()]
    write_json_lines([{**told, "dialogues": dialogues}])
