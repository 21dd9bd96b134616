"""Tries a scenario step by step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.rehearsing.trials import Asking, TrialInputs, Tried, Watch, build_case, build_tried
from engines.scenarios.core.plan import StepTypes
from engines.scenarios.rehearsal.dialogue import Dialogue
from engines.scenarios.rehearsal.playing import play_dialogue
from orchestrator.domain.actor import Actor
from state.clock import SystemClock


@dataclass(frozen=True, kw_only=True)
class PlayableScenario:
    """A scenario without mistakes, with those that it may start."""

    key: str
    documents: Mapping[str, Any]
    types: StepTypes
    case_model = Dialogue

    async def play(self, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
        """Return what comes of it with these inputs."""
        dialogue = Dialogue.model_validate(build_case(inputs, person, "mocks", "mocks"))
        script = Asking(dialogue, is_strict=False)
        script.start(self.key, watch)
        played = await play_dialogue(self.key, self.documents, self.types, dialogue, script, now=SystemClock().now())
        return build_tried(script, played.result, played.problem, result=played.own_variables)
