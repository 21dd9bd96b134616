"""An engine that nothing of the program knows: it asks one question. A test installs it as a distribution of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from bot.plugins.kind_face import KindFace, Steps
from bot.plugins.plugin import EnginePlugin
from bot.plugins.wiring import Wiring
from bot.rehearsing.trial_face import TrialFace
from bot.rehearsing.trials import Asking, TrialInputs, Tried, Watch, build_case, build_tried
from orchestrator.charts.chart import Box, Chart
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.domain.actor import Actor
from orchestrator.engines.runs import Ask, Option, RunContext, RunResult
from orchestrator.rehearsals.case import Case
from orchestrator.rehearsals.rehearsal import Rehearsal
from orchestrator.rehearsals.script import ScriptEnded
from orchestrator.runs.registry import RegisteredEngine
from state.clock import SystemClock

NAME = "riddle"


class RiddleEngine:
    """Asks its question, with two buttons."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        """Ask."""
        question = ctx.run.definition.document["question"]
        heard = await ctx.wait_input("ask", Ask(text=question, options=(Option(label="Утка", value="duck"), Option(label="7", value=7))))
        return RunResult(value=heard.value)


class RiddleCase(Case):
    """Its answers."""

    mocks: dict[str, Any] = Field(default_factory=dict)

    def choose_mocks(self, _place: object, _kind: object) -> tuple[str, Mapping[str, Any]]:
        """Nothing is mocked."""
        return "mocks", self.mocks


@dataclass(frozen=True)
class Riddle:
    """A riddle that is tried."""

    key: str
    document: Mapping[str, Any]
    case_model = RiddleCase

    async def play(self, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
        """Play it."""
        script = Asking(RiddleCase.model_validate(build_case(inputs, person, "mocks", "mocks")))
        script.start(self.key, watch)
        rehearsal = Rehearsal({NAME: RiddleEngine()}, lambda _kind, _key: self.document, script, now=SystemClock().now())
        problem, result = "", RunResult(status="cancelled")
        try:
            result = await rehearsal.play(NAME, self.key, {})
        except ScriptEnded as error:
            problem = str(error)
        return build_tried(script, result, problem, result={"heard": result.value.data})


async def load(_kind: object, key: str, document: Mapping[str, Any], **_services: object) -> Riddle:
    """A riddle needs nothing of others."""
    return Riddle(key, document)


WIRING = Wiring(build=lambda: RegisteredEngine(engine=RiddleEngine(), kind=DefinitionKind(name=NAME, list_writes=lambda _document: ())))
FACE = KindFace(
    begin=lambda _say: {"question": "Кто крякает?"},
    steps=Steps(
        field="steps",
        draw=lambda _document, _parts: Chart(title="", boxes=[Box(title="?", text="", shape="question", key="ask")], arrows=[]),
    ),
)
TRIAL = TrialFace(load=load)
PLUGIN = EnginePlugin(
    name=NAME,
    kinds=(NAME,),
    parts={slot: f"{__name__}:{part}" for slot, part in (("wiring", "WIRING"), ("kind/riddle", "FACE"), ("trial/riddle", "TRIAL"))},
)
