"""What the runes of one run of a tuum reach: the model, the sandbox, the portal, and the staging area of operations."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.domain.taint import NOWHERE, Origins, Value, join_origins
from orchestrator.engines.flows.definition import Options
from orchestrator.engines.flows.prompt import join_options
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed, RunModelRequest
from orchestrator.engines.workflows.definition import Script
from orchestrator.engines.workflows.operations import MOST_OPERATIONS, Emitted
from orchestrator.engines.workflows.published import Ending
from orchestrator.engines.workflows.results import AtomicOperation, DisplayUpdatePayload
from orchestrator.engines.workflows.rune_types import AUTHOR, TuumFailed
from orchestrator.engines.workflows.script_functions import ScriptCalls
from orchestrator.engines.workflows.surroundings import Surroundings
from orchestrator.expressions.scripts.failures import ScriptFailed
from orchestrator.expressions.scripts.runner import ScriptLimits
from state.stored import JsonObject

NO_ANSWER: Final = "degraded"
"""The code of the failure after which a main script still runs: no provider answered. Others, such as a used-up budget, end the run."""
STREAM_ADDED: Final = "ai_stream_output_added"
STREAM_TOTAL: Final = "ai_stream_output_total"
CALLBACK_TIME: Final = "tuum_execution_time"
MOST_FAILURES: Final = 3
"""How often the callback of one answer may fail before it is left alone."""
SCRIPT_LIMITS: Final = ScriptLimits(total_seconds=60.0)
CALLBACK_LIMITS: Final = ScriptLimits(seconds=0.1, total_seconds=1.0, calls=10)
_SEARCH: Final = """
import re
[{"groups": [one.group(0), *one.groups()], "names": one.groupdict()} for one in re.finditer(pattern, text)]
"""
_PROSE: Final[Origins] = frozenset({"prose"})
_MODEL: Final[Origins] = frozenset({"model"})
log = logging.getLogger(__name__)


class AiFailed(TuumFailed):
    """No answer of a model has come. `reason` says why, in English."""

    def __init__(self, node: str, reason: str) -> None:
        """Keep the reason."""
        super().__init__(f"{node}: the model gave no answer: {reason}")
        self.reason = reason


@dataclass(slots=True, kw_only=True)
class TuumWork:
    """See `Work`."""

    ctx: RunContext
    node: str
    surroundings: Surroundings
    operations: list[Emitted] = field(default_factory=list)
    ending: Ending = field(default_factory=Ending)

    async def ask(
        self, node: str, prompts: Value, service: str, options: Options, *, is_streaming: bool, chunks: "Chunks | None" = None
    ) -> Value:
        """Return the answer of a model, which is asked once for each node. Raises AiFailed, and RunFailed if the run cannot go on."""
        messages = [{"role": str(one["role"]).lower(), "content": one["content"]} for one in prompts.data]
        if not messages:
            raise TuumFailed(f"{node}: there is no prompt to ask with")
        request = RunModelRequest(
            messages=messages,
            service=service,
            options=join_options(options),
            origins=prompts.origins | AUTHOR,
            is_shown=is_streaming and chunks is None,
        )
        on_delta = chunks.take if chunks is not None and is_streaming else None
        try:
            if self.ctx.find_state(node) == "finished":
                return await self.ctx.ask_model(node, request)
            async with self.surroundings.bounds.find(service):
                return await self.ctx.ask_model(node, request, on_delta)
        except RunFailed as error:
            if error.code != NO_ANSWER:
                raise
            raise AiFailed(node, error.detail) from error

    async def run_script(self, node: str, script: Script, names: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return the variables that a script gives; what it proposes is kept if it ends well. Raises TuumFailed."""
        calls = self._build_calls(node)
        functions = calls.list_functions(may_query=True, may_emit=True)
        return await self._run(node, script, names, calls, functions, SCRIPT_LIMITS)

    async def run_callback(self, node: str, script: Script, names: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return the variables that the callback of a chunk gives. Raises TuumFailed."""
        calls = self._build_calls(node)
        return await self._run(node, script, names, calls, calls.list_functions(may_query=False, may_emit=False), CALLBACK_LIMITS)

    def _build_calls(self, node: str) -> ScriptCalls:
        async def show(payload: DisplayUpdatePayload) -> None:
            await self.show(payload, NOWHERE)

        around = self.surroundings
        return ScriptCalls(node=node, query=self.query, show=show, blocks=around.blocks, player=around.player)

    async def _run(
        self, node: str, script: Script, names: Mapping[str, Value], calls: ScriptCalls, functions: Mapping[str, Any], limits: ScriptLimits
    ) -> Mapping[str, Value]:
        missing = [name for name in script.consumes if name not in names]
        if missing:
            raise TuumFailed(f"{node}: there is no variable {missing[0]}")
        inputs = {name: names[name] for name in script.consumes}
        seed = f"{self.ctx.run.run_id}/{node}"
        try:
            result = await self.surroundings.scripts.run(script.source, inputs, functions, limits, now=self.surroundings.clock, seed=seed)
        except ScriptFailed as error:
            place = f" (line {error.finding.line})" if error.finding.line else ""
            raise TuumFailed(f"{node}{place}: {error.finding.message}") from None
        for operation in calls.operations:
            self.emit(operation, result.value.origins)
        if not script.produces:
            return {}
        data = result.value.data
        if not isinstance(data, dict):
            raise TuumFailed(f"{node}: the last line of the script must be an object with {', '.join(script.produces)}")
        return {name: Value(data[name], result.value.origins) for name in script.produces if name in data}

    async def query(self, node: str, method: str, params: Mapping[str, Any]) -> Value:
        """Return what a reading method of the portal gives. Raises TuumFailed if it is not read."""
        outcome = await self.ctx.submit(node, RunEffect(method=method, params=dict(params), must_read=True))
        if outcome.status != "succeeded":
            raise TuumFailed(f"{node}: {method} was not read ({outcome.status}): {outcome.detail}")
        return Value(outcome.result, _PROSE)

    async def search_pattern(self, node: str, pattern: str, text: Value) -> Value:
        """Return what a regular expression finds; it runs in the sandbox, where one that never ends is stopped. Raises TuumFailed."""
        script = Script.model_validate({"source": _SEARCH, "consumes": ["pattern", "text"]})
        inputs = {"pattern": Value(pattern, AUTHOR), "text": text}
        try:
            result = await self.surroundings.scripts.run(script.source, inputs, limits=SCRIPT_LIMITS, seed=node)
        except ScriptFailed as error:
            raise TuumFailed(f"{node}: {error.finding.message}") from None
        return result.value

    def emit(self, operation: AtomicOperation, origins: Origins) -> None:
        """Propose an operation. Raises TuumFailed after too many."""
        if len(self.operations) >= MOST_OPERATIONS:
            raise TuumFailed(f"{self.node}: more than {MOST_OPERATIONS} operations")
        self.operations.append(Emitted(operation=operation, origins=origins))

    async def show(self, payload: DisplayUpdatePayload, origins: Origins) -> None:
        """Show something while the run goes on."""
        await self.surroundings.show(self.node, payload, origins)

    def end_with(self, *, raw_text: Value | None, operations: Value | None) -> None:
        """Make these values the result of the workflow."""
        self.ending = Ending(raw_text=raw_text, operations=operations)


class Chunks:
    """Takes the pieces of one streamed answer, in order, and runs the callback for each (S003-43 … S003-45).

    A callback that fails or takes too long is skipped, and left alone after `MOST_FAILURES`: the answer matters more.
    """

    def __init__(self, work: TuumWork, callback: Script | None, variables: dict[str, Value], began: float) -> None:
        """Run `callback` with `variables`, which it may change; `began` is when the tuum began, on the monotonic clock."""
        self._work, self._callback, self._variables, self._began = work, callback, variables, began
        self.total = ""
        self._failures = 0
        self._origins: Origins = _MODEL | join_origins(variables.values())

    async def take(self, added: str) -> None:
        """Take the next piece."""
        self.total += added
        if self._callback is not None and added and self._failures < MOST_FAILURES:
            await self._call(self._callback, added)

    async def _call(self, callback: Script, added: str) -> None:
        told = {
            STREAM_ADDED: Value(added, self._origins),
            STREAM_TOTAL: Value(self.total, self._origins),
            CALLBACK_TIME: Value(round(time.monotonic() - self._began, 3), AUTHOR),
        }
        try:
            changes = await self._work.run_callback(f"{self._work.node}/callback", callback, self._variables | told)
        except TuumFailed as error:
            self._failures += 1
            log.warning("a callback was skipped: %s", error, extra={"action": "workflow_callback_skipped"})
            return
        self._variables.update(changes)

    async def finish(self, node: str, answer: Value, *, was_answered: bool) -> None:
        """Keep what the callback has left in variables, so that a run that is played again finds the same.

        If the answer was remembered and what the callback left was not, it runs once more, for the whole answer in one piece.
        """
        callback = self._callback
        if callback is None or not callback.produces:
            return
        if was_answered and self._work.ctx.find_state(node) != "finished":
            await self.take(str(answer.data))
        kept = {name: self._variables[name] for name in callback.produces if name in self._variables}
        stored = {name: one.to_stored() for name, one in kept.items()}

        async def make() -> JsonObject:
            return stored

        left = await self._work.ctx.memo(node, make, origins=join_origins(kept.values()) | AUTHOR)
        self._variables.update({name: Value.from_stored(one) for name, one in left.data.items()})
