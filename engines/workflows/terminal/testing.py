"""`sdelka workflow test`: plays the tests beside workflows and says what differs, and which tuums no test reached."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bot.cli.author.played_tests import Coverage, Report, Words, find_tests, list_tested, write_reports
from bot.cli.definition_desk import write_findings
from bot.cli.definition_files import load_classes, read_file
from bot.cli.ops import escape_text
from engines.workflows.rehearsal.case import WorkflowCase, WorkflowCaseFile, check_workflow_cases
from engines.workflows.rehearsal.playing import PlayableWorkflow, compare_workflow, play_workflow
from engines.workflows.terminal.loading import load_workflow
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import has_errors
from orchestrator.expressions.scripts.runner import ScriptRunner

_WORDS: Final = Words("workflow", "test")


def check_tests_of(path: Path, *, as_json: bool) -> bool:
    """Play the tests of a workflow, or of all in a folder; write what came, and return whether all is as expected.

    Raises SettingsError if there is no file of tests.
    """
    return write_reports([_play_file(one) for one in list_tested(path, _WORDS)], _WORDS, as_json=as_json)


def _play_file(path: Path) -> Report:
    tests = find_tests(path)
    if tests is None:
        raise SettingsError(escape_text(f"{path} has no tests"))
    checked, loaded = load_workflow(path)
    if loaded is None:
        write_findings(checked.findings)
        return Report(path=path, problem=f"{checked.path.name} has mistakes")
    workflow, reading = loaded.playable, read_file(tests)
    known = check_workflow_cases(reading.draft, workflow.ids, load_classes()) if reading.draft is not None else ()
    findings = [*reading.findings, *known]
    if reading.document is None or has_errors(findings):
        write_findings(findings)
        return Report(path=path, problem=f"{tests.name} has mistakes")
    report = Report(path=path, coverage=[Coverage(name="tuums", parts=workflow.ids)])
    asyncio.run(_play_all(report, workflow, WorkflowCaseFile.model_validate(reading.document.data).tests))
    return report


async def _play_all(report: Report, workflow: PlayableWorkflow, tests: Sequence[WorkflowCase]) -> None:
    find_classes = load_classes()
    (tuums,) = report.coverage
    async with ScriptRunner() as scripts:
        for number, test in enumerate(tests, start=1):
            played = await play_workflow(workflow, test, scripts, find_classes=find_classes)
            report.add_test(test.name, number, compare_workflow(test.expect, played))
            tuums.reached |= played.reached
