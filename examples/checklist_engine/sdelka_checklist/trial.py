"""Tries a checklist point by point."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

from bot.rehearsing.trial_face import TrialFace
from bot.rehearsing.trials import Asking, TrialInputs, Tried, Watch, build_case, build_tried
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.domain.actor import Actor
from orchestrator.engines.runs import RunResult
from orchestrator.rehearsals.case import Case, build_actor
from orchestrator.rehearsals.rehearsal import Rehearsal
from orchestrator.rehearsals.script import ScriptEnded
from orchestrator.runs.registry import Definitions
from state.clock import SystemClock
from state.journal.async_store import AsyncStore

from .core import ENGINE, ChecklistEngine


class ChecklistCase(Case):
    """A test of a checklist: the answers alone, since it asks nobody else."""

    mocks: dict[str, Any] = Field(default_factory=dict)

    def choose_mocks(self, _place: object, _kind: object) -> tuple[str, Mapping[str, Any]]:
        """Return the mocks, which nothing asks for."""
        return "mocks", self.mocks


@dataclass(frozen=True, kw_only=True)
class PlayableChecklist:
    """A checklist without mistakes."""

    key: str
    document: Mapping[str, Any]
    case_model = ChecklistCase

    async def play(self, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
        """Return what comes of it with these inputs."""
        case = ChecklistCase.model_validate(build_case(inputs, person, "mocks", "mocks"))
        script = Asking(case)
        script.start(self.key, watch)
        find = lambda _kind, _key: self.document  # noqa: E731 - reads as the argument that it is
        person_of_case, now = build_actor(case.person), case.find_start(SystemClock().now())
        rehearsal = Rehearsal({ENGINE: ChecklistEngine()}, find, script, now=now, person=person_of_case)
        problem, result = "", RunResult(status="cancelled")
        try:
            result = await rehearsal.play(ENGINE, self.key, {})
        except ScriptEnded as error:
            problem = str(error)
        return build_tried(script, result, problem, result=result.value.data or {})


async def load(
    kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
) -> PlayableChecklist:
    """Return what a trial plays: a checklist needs nothing of others."""
    del kind, store, definitions
    return PlayableChecklist(key=key, document=document)


TRIAL: Final = TrialFace(load=load)
