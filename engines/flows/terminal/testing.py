"""`sdelka flow test`: plays the tests beside flows and says what differs, and which steps and ways between them no test reached."""

import asyncio
from pathlib import Path
from typing import Final

from bot.cli.author.files import check_one, find_part_file, is_wrong
from bot.cli.author.played_tests import Coverage, Report, Words, find_tests, list_tested, write_reports
from bot.cli.definition_desk import write_findings
from bot.cli.definition_files import load_classes, read_file
from bot.cli.ops import escape_text
from engines.flows.core.agents import KIND as AGENT
from engines.flows.core.definition import Flow
from engines.flows.core.kind import FLOW
from engines.flows.rehearsal.case import FlowCaseFile, check_flow_cases
from engines.flows.rehearsal.playing import compare_flow, list_taken, list_transitions, play_flow
from engines.flows.terminal.files import FLOWS
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import has_errors

_WORDS: Final = Words("flow", "test")


def check_tests_of(path: Path, *, as_json: bool) -> bool:
    """Play the tests of a flow, or of all in a folder; write what came, and return whether all is as expected.

    Raises SettingsError if there is no file of tests.
    """
    return write_reports([_play_file(one) for one in list_tested(path, _WORDS)], _WORDS, as_json=as_json)


def _play_file(path: Path) -> Report:
    tests = find_tests(path)
    if tests is None:
        raise SettingsError(escape_text(f"{path} has no tests"))
    checked = check_one(path, FLOW)
    if is_wrong(checked):
        write_findings(checked.findings)
        return Report(path=path, problem="the flow has mistakes")
    flow, reading = Flow.model_validate(checked.document), read_file(tests)
    steps = [one.id for one in flow.steps]
    findings = [*reading.findings, *(check_flow_cases(reading.draft, steps) if reading.draft is not None else ())]
    if reading.document is None or has_errors(findings):
        write_findings(findings)
        return Report(path=path, problem=f"{tests.name} has mistakes")
    agents, missing, wrong = _load_agents(path, flow)
    if wrong:
        return Report(path=path, problem=f"the agent {wrong} has mistakes")
    report = Report(path=path, coverage=[Coverage(name="steps", parts=steps), Coverage(name="transitions", parts=list_transitions(flow))])
    if missing:
        report.notes = [f"no file of {', '.join(missing)}: played with agents of which only the answers are known"]
    asyncio.run(_play_all(report, flow, checked.document, agents, FlowCaseFile.model_validate(reading.document.data)))
    return report


def _load_agents(path: Path, flow: Flow) -> tuple[dict[str, object], list[str], str]:
    """Return the agents that are files beside a flow or in the folder `agents`, those without a file, and a file with mistakes or ""."""
    agents: dict[str, object] = {}
    missing: list[str] = []
    for name in dict.fromkeys(step.agent_version_id for step in flow.steps):
        key = name.partition("@")[0]
        file = find_part_file(FLOWS, path, key)
        if file is None:
            missing.append(name)
            continue
        checked = check_one(file, AGENT)
        if is_wrong(checked):
            write_findings(checked.findings)
            return agents, missing, file.name
        agents[name] = checked.document
    return agents, missing, ""


async def _play_all(report: Report, flow: Flow, document: object, agents: dict[str, object], file: FlowCaseFile) -> None:
    find_classes = load_classes()
    steps, transitions = report.coverage
    for number, test in enumerate(file.tests, start=1):
        played = await play_flow(FLOWS.find_key(document), document, agents, test, find_classes=find_classes)
        report.add_test(test.name, number, compare_flow(test.expect, played))
        steps.reached |= set(played.path)
        transitions.reached |= set(list_taken(flow, played.visits))
