"""Has an agent work on a step, once or as often as the step's author allows, until its answer can be used (S002-40, S002-X6, S002-X7)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final, Literal

from engines.flows.core.agents import Agent
from engines.flows.core.definition import FlowStep
from engines.flows.core.operations import Operation, OperationsUnfit, read_operations
from engines.flows.core.prompt import read_output
from engines.flows.core.tools import Heard, Toolbox, ToolsEndless, ask_with_tools
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.runs import RunContext, RunFailed, RunModelRequest

PAUSE: Final = timedelta(seconds=1)
"""How long a flow waits before it tries a step again (S002-X6)."""
NO_ANSWER: Final = "degraded"
"""The code of the failure that a step may be repeated after: no provider answered. Others, such as a used-up budget, end the run."""
Why = Literal["", "silent", "empty", "tools", "operations", "refused"]
"""Why a step failed: no answer, an empty one, tools asked for without end, operations that cannot be taken, or that were not done."""
_AUTHOR: Final[Origins] = frozenset({"definition"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """What came of a step's attempts: the output of the last one with the operations in it; None if none could be used, and why."""

    node: str = ""
    """The node of the answer."""
    output: Value | None = None
    operations: Sequence[Operation] = ()
    why: Why = ""
    detail: str = ""
    """The reason in English, for operations staff and for the model's next attempt."""


class Attempts:
    """The attempts at the steps of one run."""

    def __init__(self, ctx: RunContext, find_documents: FindDocuments | None, show: Callable[[FlowStep, int], Awaitable[None]]) -> None:
        """Have agents work in this run; `show` tells the chat which attempt at which step begins."""
        self._ctx, self._find_documents, self._show = ctx, find_documents, show
        self.heard = Heard()
        """What the attempts at all steps have read of strangers, also those that gave nothing."""

    async def make(self, step: FlowStep, agent: Agent, request: RunModelRequest, base: str) -> Attempted:
        """Return the first answer that can be used, or what was wrong with the last one after `maxAttempts`.

        What failed before a person had the run retried is forgiven. After operations that could not be taken the agent is told why.
        """
        failed = 0
        self.heard.add(request.origins)
        for number in count(1):
            node = f"{base}/{number}"
            if self._ctx.find_state(node) != "finished" and not self._ctx.count_failures(node):
                await self._show(step, number)
            made = await self._make_one(node, agent, request)
            if made.output is not None:
                return made
            failed += not self._ctx.is_before_retry(node)
            if failed >= max(step.max_attempts, 1):
                return made
            request = replace(request, origins=request.origins | self.heard.origins)
            if made.why == "operations":
                request = _tell_mistake(request, made.detail)
            await self._rest(node)
        raise AssertionError("count never ends")

    async def _make_one(self, node: str, agent: Agent, request: RunModelRequest) -> Attempted:
        """Return the answer of one attempt, or why it has none. An empty answer is none (S002-X7)."""
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
        try:
            return Attempted(node=node, output=output, operations=read_operations(agent, output))
        except OperationsUnfit as error:
            return Attempted(why="operations", detail=str(error))

    async def _ask(self, node: str, agent: Agent, request: RunModelRequest) -> Value:
        if agent.tools:
            return await ask_with_tools(Toolbox(agent, self._ctx, self.heard, self._find_documents), node, request)
        if self._ctx.count_failures(node):
            raise RunFailed(NO_ANSWER, "the model gave no answer before")
        return await self._ctx.ask_model(node, request)

    async def _rest(self, node: str) -> None:
        """Wait before the next attempt."""
        until = await self._ctx.memo(f"{node}/until", self._find_end_of_pause, origins=_AUTHOR)
        await self._ctx.sleep(f"{node}/pause", datetime.fromisoformat(until.data))

    async def _find_end_of_pause(self) -> str:
        return (self._ctx.now + PAUSE).isoformat()


def _tell_mistake(request: RunModelRequest, detail: str) -> RunModelRequest:
    """Return the request with what was wrong with the answer to it."""
    told = {"role": "user", "content": f"Your last answer could not be taken: {detail}. Answer again as a whole."}
    return replace(request, messages=(*request.messages, told))
