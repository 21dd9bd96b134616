"""The engines of the lab's runs: the examples, those of the product, and one whose nodes do everything side by side. Imported by the child only."""

from datetime import timedelta

from engines.flows.core.engine import FlowEngine
from engines.scenarios.core.engine import ScenarioEngine
from engines.scenarios.core.registry import build_step_types
from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.core.registry import build_rune_types
from examples.engines.fan import FanEngine
from examples.engines.steps import StepsEngine
from orchestrator.domain.outputs import build_reply
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunEngine, RunFailed, RunModelRequest, RunResult, run_all
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand, StaticDefinitions
from tests.crash.lab_runs import DEAL, build_documents
from tests.unit.engines.flows.acting_flow import find_agents


class WideEngine:
    """Asks the model and a person, writes with a card, sleeps and starts a child, all at once."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        """Do all of it, and say when it is done."""
        document = ctx.run.definition.document
        await ctx.say(build_reply(text="Широко"), key="begin")

        async def think(prompt: str) -> None:
            await ctx.ask_model(f"think/{prompt}", RunModelRequest(messages=[{"role": "user", "content": prompt}]))

        async def write(deal: int, mark: int) -> None:
            params = {"id": Value(deal), "fields": {"OPPORTUNITY": Value(mark)}}
            outcome = await ctx.submit(f"write/{mark}", RunEffect(method=DEAL, params=params, requires_confirmation=True))
            if outcome.status == "refused":
                raise RunFailed("run-step-refused", outcome.detail, step=str(mark))

        async def ask() -> None:
            options = (Option(label="Я", value=1), Option(label="Ты", value=2))
            await ctx.wait_input("ask", Ask(text=document["ask"], options=options))

        async def start() -> None:
            ended = await ctx.child("child", "steps", document["child"], {})
            if ended.status != "done":
                raise RunFailed("run-step-failed", ended.code, step="child")

        await run_all(
            *(think(prompt) for prompt in document["models"]),
            *(write(deal, mark) for deal, mark in document["cards"]),
            ask(),
            ctx.sleep("sleep", ctx.now + timedelta(seconds=document["sleep"])),
            start(),
        )
        await ctx.say(build_reply(text="Широко всё"), key="end")
        return RunResult()


def build_lab_engines(sleep: float) -> Engines:
    """Return the engines with the definitions of the lab, each with a command of its name."""
    made: dict[str, RunEngine] = {
        "steps": StepsEngine(),
        "fan": FanEngine(),
        "wide": WideEngine(),
        "scenario": ScenarioEngine(build_step_types()),
        "flow": FlowEngine(find_agents),
        "workflow": WorkflowEngine(build_rune_types(), ScriptRunner()),
    }
    runs = {name: RegisteredEngine(engine=engine, commands={name: RunCommand(definition="")}) for name, engine in made.items()}
    return Engines(runs=runs, definitions=StaticDefinitions(build_documents(sleep)))
