"""Has an agent work on a step, once or as often as the step's author allows, until its answer can be used (S002-40, S002-X6, S002-X7)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final, Literal

from engines.flows.core.agents import Agent
from engines.flows.core.definition import FlowStep, Outputs
from engines.flows.core.operations import Operation, OperationsUnfit, read_operations
from engines.flows.core.outputs import list_read_by_fields
from engines.flows.core.prompt import read_output
from engines.flows.core.tools import Heard, Toolbox, ToolsEndless, ask_with_tools
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.runs import RunContext, RunFailed, RunModelRequest
from orchestrator.engines.shared.model_json import JsonUnreadable, read_model_json, tell_mistake

PAUSE: Final = timedelta(seconds=1)
"""How long a flow waits before it tries a step again (S002-X6)."""
NO_ANSWER: Final = "degraded"
"""The code of the failure that a step may be repeated after: no provider answered. Others, such as a used-up budget, end the run."""
Why = Literal["", "silent", "empty", "tools", "json", "operations", "refused"]
"""Why a step failed: no answer, an empty one, tools asked for without end, JSON that cannot be read, operations that cannot be taken, or
that were not done."""
JUDGES_JSON: Final = 2
"""The replay version of the first runs in which JSON that cannot be read fails an attempt; earlier ones go on as they began."""
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

    def __init__(
        self, ctx: RunContext, outputs: Outputs, find_documents: FindDocuments | None, show: Callable[[FlowStep, int], Awaitable[None]]
    ) -> None:
        """Have agents work in this run, whose result is made so; `show` tells the chat which attempt at which step begins."""
        self._ctx, self._find_documents, self._show = ctx, find_documents, show
        self._read_by_fields = list_read_by_fields(outputs)
        self.heard = Heard()
        """What the attempts at all steps have read of strangers, also those that gave nothing."""

    async def make(self, step: FlowStep, agent: Agent, request: RunModelRequest, base: str) -> Attempted:
        """Return the first answer that can be used, or what was wrong with the last one after `maxAttempts`.

        What failed before a person had the run retried is forgiven. After JSON or operations that could not be taken the agent is told why;
        for JSON that is at least once, for the step's author can do nothing about it.
        """
        failed = 0
        self.heard.add(request.origins)
        for number in count(1):
            node = f"{base}/{number}"
            if self._ctx.find_state(node) != "finished" and not self._ctx.count_failures(node):
                await self._show(step, number)
            made = await self._make_one(node, step, agent, request)
            if made.output is not None:
                return made
            failed += not self._ctx.is_before_retry(node)
            if failed >= max(step.max_attempts, 2 if made.why == "json" else 1):
                return made
            request = replace(request, origins=request.origins | self.heard.origins)
            if made.why in {"json", "operations"}:
                request = tell_mistake(request, made.detail)
            await self._rest(node)
        raise AssertionError("count never ends")

    async def _make_one(self, node: str, step: FlowStep, agent: Agent, request: RunModelRequest) -> Attempted:
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
        if problem := self._find_json_problem(step, agent, str(answer.data)):
            return Attempted(why="json", detail=problem)
        try:
            return Attempted(node=node, output=output, operations=read_operations(agent, output))
        except OperationsUnfit as error:
            return Attempted(why="operations", detail=str(error))

    def _find_json_problem(self, step: FlowStep, agent: Agent, text: str) -> str:
        """Return why the JSON of an answer cannot be read, "" if it can, if there is none, or if the author does not ask for any.

        Words without JSON have no fields, which is no mistake (S002-A9).
        """
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
        """Wait before the next attempt."""
        until = await self._ctx.memo(f"{node}/until", self._find_end_of_pause, origins=_AUTHOR)
        await self._ctx.sleep(f"{node}/pause", datetime.fromisoformat(until.data))

    async def _find_end_of_pause(self) -> str:
        return (self._ctx.now + PAUSE).isoformat()
