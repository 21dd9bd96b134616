from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bot.rehearsing.trial_face import TrialFace
from bot.rehearsing.trials import Asking, TrialInputs, Tried, Watch, build_case, build_tried
from engines.scenarios.core.kind import KIND, list_uses
from engines.scenarios.core.plan import StepTypes
from engines.scenarios.core.registry import load_step_types
from engines.scenarios.rehearsal.dialogue import Dialogue
from engines.scenarios.rehearsal.playing import play_dialogue
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.domain.actor import Actor
from orchestrator.engines.runs import RunFailed
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
        played = await play_dialogue(self.key, self.documents, self.types, dialogue, script, now=SystemClock().now())
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
