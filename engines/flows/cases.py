"""Plays flows without their outside: trials, tests, and finished runs that become tests."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final

from bot.rehearsing.case_face import CaseFace, PlayedCase, Recording
from bot.rehearsing.trial_face import TrialFace
from bot.rehearsing.trials import load_named
from engines.flows.core.definition import Flow
from engines.flows.playing import (
    FlowCase,
    FlowCaseFile,
    PlayableFlow,
    check_flow_cases,
    compare_flow,
    list_taken,
    list_transitions,
    play_flow,
)
from engines.flows.recording import build_expected_flow, complete_flow_recording, read_flow_recording
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.domain.finding import Finding
from orchestrator.rehearsals.recorded_nodes import NotRecordable
from orchestrator.runs.registry import Definitions
from state.journal.async_store import AsyncStore


async def load_playable(
    kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
) -> PlayableFlow:
    """Read the flow without its triggers: its author may try it whatever they say."""
    del definitions
    agents = await load_named((reference.written for reference in kind.list_references(document)), store)
    return PlayableFlow(key=key, document={name: part for name, part in document.items() if name != "triggers"}, agents=agents)


TRIAL: Final = TrialFace(load=load_playable)


def build(key: str, document: Mapping[str, Any], agents: Mapping[str, object]) -> PlayableFlow:
    return PlayableFlow(key=key, document=document, agents=agents)


def check_cases(document: Document, playable: PlayableFlow, _find_classes: FindClasses) -> Iterable[Finding]:
    return check_flow_cases(document, [step.id for step in Flow.model_validate(playable.document).steps])


async def play_cases(playable: PlayableFlow, cases: object, find_classes: FindClasses) -> AsyncIterator[PlayedCase]:
    flow = Flow.model_validate(playable.document)
    for case in FlowCaseFile.model_validate(cases).tests:
        played = await play_flow(playable.key, playable.document, playable.agents, case, find_classes=find_classes)
        reached = {"steps": played.path, "transitions": list_taken(flow, played.visits)}
        yield PlayedCase(name=case.name, differences=compare_flow(case.expect, played), reached=reached)


def list_coverage(playable: PlayableFlow) -> Mapping[str, Sequence[str]]:
    flow = Flow.model_validate(playable.document)
    return {"steps": [step.id for step in flow.steps], "transitions": list_transitions(flow)}


async def complete(playable: PlayableFlow, case: FlowCase, find_classes: FindClasses) -> FlowCase:
    """Raises NotRecordable."""
    played = await play_flow(playable.key, playable.document, playable.agents, case, find_classes=find_classes)
    if played.problem:
        raise NotRecordable(played.problem)
    return case.model_copy(update={"expect": build_expected_flow(played)})


async def take_run(run_id: str, store: AsyncStore, find_classes: FindClasses) -> Recording:
    """Raises NotRecordable."""
    recorded = await read_flow_recording(run_id, store)
    return Recording(key=recorded.run.key, case=await complete_flow_recording(recorded, find_classes))


CASES: Final = CaseFace(
    build=build,
    check_cases=check_cases,
    play_cases=play_cases,
    list_coverage=list_coverage,
    complete=complete,
    take_run=take_run,
    has_stand_ins=True,
)
