"""Plays workflows without their outside: trials, tests, and finished runs that become tests."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final

from bot.rehearsing.case_face import CaseFace, PlayedCase, Recording
from bot.rehearsing.trial_face import TrialFace
from bot.rehearsing.trials import load_named
from engines.workflows.core.compile import CompiledWorkflow, compile_workflow
from engines.workflows.core.definition import Tuum, Workflow
from engines.workflows.core.registry import load_rune_types
from engines.workflows.playing import (
    PlayableWorkflow,
    WorkflowCase,
    WorkflowCaseFile,
    check_workflow_cases,
    compare_workflow,
    play_workflow,
)
from engines.workflows.recording import build_expected_workflow, complete_workflow_recording, read_workflow_recording
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.domain.finding import Finding
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.recorded_nodes import NotRecordable
from orchestrator.runs.registry import Definitions
from state.journal.async_store import AsyncStore


async def load_playable(
    kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
) -> PlayableWorkflow:
    """Read the workflow without its triggers: its author may try it whatever they say."""
    del definitions
    return build(key, document, await load_named((reference.written for reference in kind.list_references(document)), store))


TRIAL: Final = TrialFace(load=load_playable)


def build(key: str, document: Mapping[str, Any], tuums: Mapping[str, object]) -> PlayableWorkflow:
    """Read the workflow without its triggers: its author may try it whatever they say."""
    free = {name: part for name, part in document.items() if name != "triggers"}
    return PlayableWorkflow(key=key, document=free, tuums=tuums, types=load_rune_types())


def compile_playable(playable: PlayableWorkflow) -> CompiledWorkflow:
    tuums = {name: Tuum.model_validate(document) for name, document in playable.tuums.items()}
    return compile_workflow(Workflow.model_validate(playable.document), tuums, playable.types)


def list_ids(playable: PlayableWorkflow) -> list[str]:
    return [tuum.id for tuum in compile_playable(playable).tuums]


def check_cases(document: Document, playable: PlayableWorkflow, find_classes: FindClasses) -> Iterable[Finding]:
    return check_workflow_cases(document, list_ids(playable), find_classes)


async def play_cases(playable: PlayableWorkflow, cases: object, find_classes: FindClasses) -> AsyncIterator[PlayedCase]:
    async with ScriptRunner() as scripts:
        for case in WorkflowCaseFile.model_validate(cases).tests:
            played = await play_workflow(playable, case, scripts, find_classes=find_classes)
            yield PlayedCase(name=case.name, differences=compare_workflow(case.expect, played), reached={"tuums": played.reached})


def list_coverage(playable: PlayableWorkflow) -> Mapping[str, Sequence[str]]:
    return {"tuums": list_ids(playable)}


async def complete(playable: PlayableWorkflow, case: WorkflowCase, find_classes: FindClasses) -> WorkflowCase:
    """Raises NotRecordable."""
    async with ScriptRunner() as scripts:
        played = await play_workflow(playable, case, scripts, find_classes=find_classes)
    if played.problem:
        raise NotRecordable(played.problem)
    return case.model_copy(update={"expect": build_expected_workflow(played, {})})


async def take_run(run_id: str, store: AsyncStore, find_classes: FindClasses) -> Recording:
    """Return a run of a workflow as a test. Raises NotRecordable."""
    recorded = await read_workflow_recording(run_id, store)
    async with ScriptRunner() as scripts:
        completed = await complete_workflow_recording(recorded, load_rune_types(), scripts, find_classes)
    return Recording(key=recorded.run.key, case=completed.case, left_out=completed.left_out)


CASES: Final = CaseFace(
    build=build, check_cases=check_cases, play_cases=play_cases, list_coverage=list_coverage, complete=complete, take_run=take_run
)
