"""Has an agent work on a step until its answer can be used (S002-40, S002-X6, S002-X7)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final, Literal

from engines.flows.core.definition import Agent, FlowStep, Outputs
from engines.flows.core.operations import Operation, OperationsUnfit, read_operations
from engines.flows.core.outputs import list_read_by_fields
from engines.flows.core.prompt import read_output
from engines.flows.core.tools import Heard, Toolbox, ToolsEndless, ask_with_tools
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.runs import RunContext, RunFailed, RunModelRequest
from orchestrator.engines.shared.model_json import JsonUnreadable, read_model_json, tell_mistake

PAUSE: Final = timedelta(seconds=1)
NO_ANSWER: Final = "degraded"
"""No provider answered, so the step may be repeated."""
Why = Literal["", "silent", "empty", "tools", "json", "operations", "refused"]
"""Why a step failed."""
JUDGES_JSON: Final = 2
"""The replay version from which unreadable JSON fails an attempt."""
_AUTHOR: Final[Origins] = frozenset({"definition"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """The output of the last attempt; None if it could not be used, and why."""

    node: str = ""
    output: Value | None = None
    operations: Sequence[Operation] = ()
    why: Why = ""
    detail: str = ""
    """In English, for operations staff and for the model's next attempt."""


class Attempts:
    def __init__(
        self, ctx: RunContext, outputs: Outputs, find_documents: FindDocuments | None, show: Callable[[FlowStep, int], Awaitable[None]]
    ) -> None:
        """`outputs` make the result; `show` tells the chat which attempt at which step begins."""
        self._ctx, self._find_documents, self._show = ctx, find_documents, show
        self._read_by_fields = list_read_by_fields(outputs)
        self.heard = Heard()
        """What all attempts have read of strangers, also those that gave nothing."""

    async def make(self, step: FlowStep, agent: Agent, request: RunModelRequest, base: str) -> Attempted:
        """Return the first usable answer, or the last mistake after `maxAttempts`, without those before a retry.

        Bad JSON is told to the agent at least once.
        """
        failed = 0
        self.heard.add(request.origins)
        for number in count(1):
            node = f"{base}/{number}"
            if self._ctx.find_state(node) != "finished" and not self._ctx.count_failures(node):
                await self._show(step, number)
            attempted = await self._make_one(node, step, agent, request)
            if attempted.output is not None:
                return attempted
            failed += not self._ctx.is_before_retry(node)
            if failed >= max(step.max_attempts, 2 if attempted.why == "json" else 1):
                return attempted
            request = replace(request, origins=request.origins | self.heard.origins)
            if attempted.why in {"json", "operations"}:
                request = tell_mistake(request, attempted.detail)
            await self._rest(node)
        raise AssertionError("count never ends")

    async def _make_one(self, node: str, step: FlowStep, agent: Agent, request: RunModelRequest) -> Attempted:
        """An empty answer is none (S002-X7)."""
        try:
            answer = await self._ask(node, agent, request)
        except RunFailed as error:
            if error.code != NO_ANSWER:
                raise
            return Attempted(why="silent", detail=error.detail)
        except ToolsEndless as error:
            return Attempted(why="tools", detail=str(error))
        self.heard.add(answer.origins)
        if not str(answer.data).strip():
            return Attempted(why="empty", detail="the answer is empty")
        output = read_output(answer)
        if problem := self._find_json_problem(step, agent, str(answer.data)):
            return Attempted(why="json", detail=problem)
        try:
            return Attempted(node=node, output=output, operations=read_operations(agent, output))
        except OperationsUnfit as error:
            return Attempted(why="operations", detail=str(error))

    def _find_json_problem(self, step: FlowStep, agent: Agent, text: str) -> str:
        """Return "" if the JSON can be read or none is asked for. Words without JSON are no mistake (S002-A9)."""
        if self._ctx.run.replay < JUDGES_JSON or not (agent.effects or step.id in self._read_by_fields):
            return ""
        try:
            read_model_json(text)
        except JsonUnreadable as error:
            return "" if error.is_absent else str(error)
        return ""

    async def _ask(self, node: str, agent: Agent, request: RunModelRequest) -> Value:
        if agent.tools:
            return await ask_with_tools(Toolbox(agent, self._ctx, self.heard, self._find_documents), node, request)
        if self._ctx.count_failures(node):
            raise RunFailed(NO_ANSWER, "the model gave no answer before")
        return await self._ctx.ask_model(node, request)

    async def _rest(self, node: str) -> None:
        until = await self._ctx.memo(f"{node}/until", self._find_end_of_pause, origins=_AUTHOR)
        await self._ctx.sleep(f"{node}/pause", datetime.fromisoformat(until.data))

    async def _find_end_of_pause(self) -> str:
        return (self._ctx.now + PAUSE).isoformat()
