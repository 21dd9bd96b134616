"""Checks and plays the dialogues of scenarios, and makes finished runs dialogues."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final

from bot.rehearsing.case_face import CaseFace, PlayedCase, Recording
from engines.scenarios.core.registry import load_step_types
from engines.scenarios.rehearsal.dialogue import DialogueFile, check_dialogues
from engines.scenarios.rehearsal.playing import compare, list_steps, play_dialogue
from engines.scenarios.rehearsal.recording import complete_recording, read_recording
from engines.scenarios.rehearsal.step_names import find_known_steps
from engines.scenarios.trial import PlayableScenario
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.domain.finding import Finding
from orchestrator.rehearsals.script import Script
from state.journal.async_store import AsyncStore


def build(key: str, document: Mapping[str, Any], others: Mapping[str, object]) -> PlayableScenario:
    return PlayableScenario(key=key, documents=others if key in others else {**others, key: document}, types=load_step_types())


def check_cases(document: Document, playable: PlayableScenario, _find_classes: FindClasses) -> Iterable[Finding]:
    return check_dialogues(document, find_known_steps(playable.key, playable.documents, playable.types))


async def play_cases(playable: PlayableScenario, cases: object, find_classes: FindClasses) -> AsyncIterator[PlayedCase]:
    for dialogue in DialogueFile.model_validate(cases).dialogues:
        script = Script(dialogue, find_classes=find_classes)
        played = await play_dialogue(playable.key, playable.documents, playable.types, dialogue, script)
        reached = {"steps": played.visited.get(playable.key, frozenset())}
        yield PlayedCase(name=dialogue.name, differences=compare(dialogue.expect, played), reached=reached)


def list_coverage(playable: PlayableScenario) -> Mapping[str, Sequence[str]]:
    return {"steps": list_steps(playable.documents[playable.key], playable.types)}


async def take_run(run_id: str, store: AsyncStore, find_classes: FindClasses) -> Recording:
    """Raises NotRecordable."""
    types = load_step_types()
    recorded = await read_recording(run_id, store, types)
    completed = await complete_recording(recorded, types, find_classes)
    return Recording(key=recorded.key, case=completed.dialogue, left_out=completed.left_out)


CASES: Final = CaseFace(
    build=build, check_cases=check_cases, play_cases=play_cases, list_coverage=list_coverage, take_run=take_run, test="dialogue"
)
