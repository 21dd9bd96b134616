"""Checks and plays the tests of flows, and makes finished runs tests."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final

from bot.rehearsing.case_face import CaseFace, PlayedCase, Recording
from engines.flows.core.definition import Flow
from engines.flows.rehearsal.case import FlowCaseFile, check_flow_cases
from engines.flows.rehearsal.playing import compare_flow, list_taken, list_transitions, play_flow
from engines.flows.rehearsal.recording import complete_flow_recording, read_flow_recording
from engines.flows.trial import PlayableFlow
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.domain.finding import Finding
from state.journal.async_store import AsyncStore


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


async def take_run(run_id: str, store: AsyncStore, find_classes: FindClasses) -> Recording:
    """Raises NotRecordable."""
    recorded = await read_flow_recording(run_id, store)
    return Recording(key=recorded.key, case=await complete_flow_recording(recorded, find_classes))


CASES: Final = CaseFace(
    build=build, check_cases=check_cases, play_cases=play_cases, list_coverage=list_coverage, take_run=take_run, has_stand_ins=True
)
