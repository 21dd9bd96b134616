"""Plays workflows without their outside: trials, tests, and finished runs that become tests."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from bot.i18n.translate import Translator, split_method
from bot.rehearsing.case_face import CaseFace, PlayedCase, Recording
from bot.rehearsing.trial_face import TrialFace
from bot.rehearsing.trials import Asking, TrialInputs, Tried, Watch, build_case, build_tried, load_named
from bot.rehearsing.words import cut_text
from engines.workflows.core.compile import CompiledWorkflow, compile_workflow
from engines.workflows.core.definition import Tuum, Workflow
from engines.workflows.core.entities import find_entity
from engines.workflows.core.registry import load_rune_types
from engines.workflows.core.results import AtomicOperation
from engines.workflows.playing import (
    PlayableWorkflow,
    WorkflowCase,
    WorkflowCaseFile,
    WorkflowScript,
    check_workflow_cases,
    compare_workflow,
    play_workflow,
    rehearse_workflow,
)
from engines.workflows.recording import complete_workflow_recording, read_workflow_recording
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.domain.actor import Actor
from orchestrator.domain.finding import Finding
from orchestrator.engines.runs import RunEffect, RunResult
from orchestrator.expressions.placeholders import format_value
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.case import build_actor, build_launch_args
from orchestrator.rehearsals.rehearsal import Place
from orchestrator.runs.registry import Definitions
from state.clock import SystemClock
from state.journal.async_store import AsyncStore


class _WorkflowAsking(Asking, WorkflowScript):
    def _name_read(self, place: Place, effect: RunEffect) -> str:
        return f"{place.step}/{effect.method}"

    def _has_read(self, place: Place, name: str) -> bool:
        mocks, node = self._dialogue.choose_mocks(place, "effect")[1], f"{place.step}/{place.node.partition('/')[2]}"
        return any(one in mocks for one in (node, name, name.partition("/")[2]))


@dataclass(frozen=True, kw_only=True)
class PlayableWorkflowTrial(PlayableWorkflow):
    case_model = WorkflowCase

    async def play(self, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
        test = WorkflowCase.model_validate(build_case(inputs, person, "answers", "queries"))
        script = _WorkflowAsking(test)
        script.start(self.key, watch)
        now, actor = test.find_start(SystemClock().now()), build_actor(test.person)
        async with ScriptRunner() as scripts:
            played = await rehearse_workflow(self, build_launch_args(test), script, scripts, now=now, person=actor)
        status: Literal["done", "failed"] = "done" if played.result.is_success else "failed"
        ended = RunResult(status=status, code="" if played.result.is_success else played.result.error_code)
        result = played.result.model_dump(mode="json", by_alias=True, exclude_none=True)
        left_out = {"leftOut": list(played.left_out)} if played.left_out else {}
        proposed = tuple(partial(describe_operation, operation) for operation in played.proposed)
        return build_tried(script, ended, played.problem, result={**result, **left_out}, proposed=proposed)


def describe_operation(operation: AtomicOperation, tr: Translator) -> str:
    method = find_entity(operation.entity_type).find_method(operation.operation_type)
    words = f"{tr.describe_call(method, *split_method(method)) or method} {operation.entity_id}"
    if operation.operation_type == "ModifyEntity":
        return f"{words}: {operation.attribute_key} {operation.modify_operator} {cut_text(format_value(operation.modify_value)).strip()}"
    fields = "; ".join(f"{name} = {cut_text(format_value(one))}" for name, one in (operation.initial_attributes or {}).items())
    return f"{words}: {fields}" if fields else words


async def load_playable(
    kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
) -> PlayableWorkflowTrial:
    """Read the workflow without its triggers: its author may try it whatever they say."""
    del definitions
    tuums = await load_named((reference.written for reference in kind.list_references(document)), store)
    free = {name: part for name, part in document.items() if name != "triggers"}
    return PlayableWorkflowTrial(key=key, document=free, tuums=tuums, types=load_rune_types())


TRIAL: Final = TrialFace(load=load_playable)


def build(key: str, document: Mapping[str, Any], tuums: Mapping[str, object]) -> PlayableWorkflowTrial:
    """Read the workflow without its triggers: its author may try it whatever they say."""
    free = {name: part for name, part in document.items() if name != "triggers"}
    return PlayableWorkflowTrial(key=key, document=free, tuums=tuums, types=load_rune_types())


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


async def take_run(run_id: str, store: AsyncStore, find_classes: FindClasses) -> Recording:
    """Return a run of a workflow as a test. Raises NotRecordable."""
    recorded = await read_workflow_recording(run_id, store)
    async with ScriptRunner() as scripts:
        completed = await complete_workflow_recording(recorded, load_rune_types(), scripts, find_classes)
    return Recording(key=recorded.key, case=completed.case, left_out=completed.left_out)


CASES: Final = CaseFace(build=build, check_cases=check_cases, play_cases=play_cases, list_coverage=list_coverage, take_run=take_run)
