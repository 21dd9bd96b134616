"""Plays scenarios without their outside: trials, dialogues, and finished runs that become dialogues."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.rehearsing.case_face import CaseFace, PlayedCase, Recording
from bot.rehearsing.trial_face import TrialFace
from bot.rehearsing.trials import Asking, TrialInputs, Tried, Watch, build_case, build_tried
from engines.scenarios.core.kind import KIND, list_uses
from engines.scenarios.core.plan import StepTypes
from engines.scenarios.core.registry import load_step_types
from engines.scenarios.playing import (
    Dialogue,
    DialogueFile,
    check_dialogues,
    compare,
    find_known_steps,
    list_steps,
    play_dialogue,
)
from engines.scenarios.recording import build_expected, complete_recording, read_recording
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.domain.actor import Actor
from orchestrator.domain.finding import Finding
from orchestrator.engines.runs import RunFailed
from orchestrator.rehearsals.recorded_nodes import NotRecordable
from orchestrator.rehearsals.script import Script
from orchestrator.runs.registry import Definitions
from state.clock import SystemClock
from state.journal.async_store import AsyncStore


@dataclass(frozen=True, kw_only=True)
class PlayableScenario:
    key: str
    documents: Mapping[str, Any]
    types: StepTypes
    case_model = Dialogue

    async def play(self, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
        dialogue = Dialogue.model_validate(build_case(inputs, person, "mocks", "mocks"))
        script = Asking(dialogue, is_strict=False)
        script.start(self.key, watch)
        played = await play_dialogue(self.key, self.documents, self.types, dialogue, script, now=inputs.begun or SystemClock().now())
        return build_tried(script, played.result, played.problem, result=played.own_variables)


async def load_playable(
    kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
) -> PlayableScenario:
    del kind, store
    types = load_step_types()
    documents: dict[str, Any] = {one.key: one.document for one in await definitions.list_all(KIND)}
    documents[key] = document
    left = [name for one in tuple(documents.values()) for engine, name in list_uses(one, types) if engine == KIND]
    while left:
        name = left.pop()
        if name in documents:
            continue
        try:
            definition = await definitions.find(KIND, name)
        except RunFailed:  # switched off or never published: the trial fails there, as a run would
            continue
        if definition is not None:
            documents[name] = definition.document
            left += [used for engine, used in list_uses(definition.document, types) if engine == KIND]
    return PlayableScenario(key=key, documents=documents, types=types)


TRIAL: Final = TrialFace(load=load_playable)


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


async def complete(playable: PlayableScenario, dialogue: Dialogue, find_classes: FindClasses) -> Dialogue:
    """Raises NotRecordable."""
    script = Script(dialogue, find_classes=find_classes, is_strict=False)
    played = await play_dialogue(playable.key, playable.documents, playable.types, dialogue, script)
    if played.problem:
        raise NotRecordable(played.problem)
    return dialogue.model_copy(update={"expect": build_expected(played)})


async def take_run(run_id: str, store: AsyncStore, find_classes: FindClasses) -> Recording:
    """Raises NotRecordable."""
    types = load_step_types()
    recorded = await read_recording(run_id, store, types)
    completed = await complete_recording(recorded, types, find_classes)
    return Recording(key=recorded.run.key, case=completed.dialogue, left_out=completed.left_out)


CASES: Final = CaseFace(
    build=build,
    check_cases=check_cases,
    play_cases=play_cases,
    list_coverage=list_coverage,
    complete=complete,
    take_run=take_run,
    test="dialogue",
)
