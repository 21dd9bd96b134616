"""An example of an engine of runs: the same question to the model about many things at once, and one summary of the answers.

A definition is {"things": [...], "prompt": "…{thing}…", "summary": "…{answers}…"}; without "summary" the answers are given as they are.
In both texts "{text}" stands for what was typed after the command.
"""

from orchestrator.domain.outputs import build_reply
from orchestrator.domain.taint import Origins, Value, combine, join_origins
from orchestrator.engines.runs import RunContext, RunModelRequest, RunResult, run_all


class FanEngine:
    """Asks the model about each thing of a definition side by side."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        """Ask about each thing, then for the summary, and return it."""
        document = ctx.run.definition.document
        typed = ctx.run.args.get("text", Value(""))
        origins: Origins = frozenset({"definition"})
        origins |= typed.origins

        async def ask(number: int, thing: str) -> Value:
            prompt = str(document["prompt"]).replace("{thing}", thing).replace("{text}", str(typed.data))
            request = RunModelRequest(messages=[{"role": "user", "content": prompt}], origins=origins)
            return await ctx.ask_model(f"ask/{number}", request)

        answers = await run_all(*(ask(number, str(thing)) for number, thing in enumerate(document["things"])))
        if "summary" not in document:
            return RunResult(value=combine(lambda *each: list(each), *answers))
        joined = "\n".join(str(one.data) for one in answers)
        prompt = str(document["summary"]).replace("{text}", str(typed.data)).replace("{answers}", joined)
        request = RunModelRequest(messages=[{"role": "user", "content": prompt}], origins=origins | join_origins(answers))
        told = await ctx.ask_model("summary", request)
        return RunResult(value=told, reply=None if ctx.run.parent else build_reply(text=str(told.data)))
