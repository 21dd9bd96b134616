"""The run's context for the steps of a scenario: it passes everything on, and tells the log which nodes are new."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final

from engines.scenarios.core.executor_log import ExecutorLog
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Reply, SentFile
from orchestrator.domain.taint import UNDECLARED, Origins, Value
from orchestrator.engines.runs import (
    Ask,
    Changes,
    Heard,
    NodeState,
    RunContext,
    RunEffect,
    RunLimits,
    RunModelRequest,
    RunResult,
    RunUpdate,
)
from orchestrator.engines.shared.changes import MADE

READ: Final = "R"


class LoggedContext(RunContext):
    def __init__(self, ctx: RunContext, log: ExecutorLog) -> None:
        self._ctx, self._log = ctx, log
        self.run, self.actor, self.mode = ctx.run, ctx.actor, ctx.mode
        self.state: NodeState = "new"
        self.changes = Changes()
        """Changes that the scenario proposed: made, or left."""
        self.has_acted = False
        """The present step has done something that a step back could not undo."""

    def begin_step(self) -> None:
        self.state = "new"
        self.has_acted = False

    @property
    def now(self) -> datetime:
        return self._ctx.now

    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        return self._ctx.find_state(node, is_message=is_message)

    def _note(self, node: str, *, is_message: bool = False) -> None:
        self.state = self._ctx.find_state(node, is_message=is_message)
        if self.state == "new":
            self._log.flush()
        else:
            self._log.drop()

    def limit(self, limits: RunLimits) -> None:
        self._ctx.limit(limits)

    async def say(self, reply: Reply, *, key: str) -> None:
        self._note(key, is_message=True)
        await self._ctx.say(reply, key=key)

    async def say_file(self, file: SentFile, load: Callable[[], Awaitable[bytes]], *, key: str) -> None:
        self._note(key, is_message=True)
        await self._ctx.say_file(file, load, key=key)

    async def keep_file(self, node: str, load: Callable[[], Awaitable[bytes | None]], *, origins: Origins = UNDECLARED) -> Value:
        """{digest, size}."""
        self._note(node)
        return await self._ctx.keep_file(node, load, origins=origins)

    async def show(self, update: RunUpdate, *, node: str) -> None:
        await self._ctx.show(update, node=node)

    async def ask_model(self, node: str, request: RunModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> Value:
        self._note(node)
        return await self._ctx.ask_model(node, request, on_delta)

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]], *, origins: Origins = UNDECLARED) -> Value:
        self._note(node)
        return await self._ctx.memo(node, make, origins=origins)

    async def submit(self, node: str, effect: RunEffect) -> Outcome:
        self._note(node)
        outcome = await self._ctx.submit(node, effect)
        if outcome.call_class != READ:
            self.has_acted = True
            is_made = outcome.status in MADE or outcome.already
            self.changes = Changes(made=self.changes.made + is_made, left=self.changes.left + (not is_made))
        return outcome

    async def accept_refusal(self, node: str) -> None:
        await self._ctx.accept_refusal(node)

    async def wait_input(self, node: str, ask: Ask) -> Heard:
        self._note(node)
        return await self._ctx.wait_input(node, ask)

    async def load_file(self, sent: Value) -> Value:
        return await self._ctx.load_file(sent)

    async def sleep(self, node: str, until: datetime) -> None:
        self._note(node)
        await self._ctx.sleep(node, until)

    async def child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        self._note(node)
        self.has_acted = True
        return await self._ctx.child(node, engine, definition, args)

    def count_failures(self, node: str) -> int:
        return self._ctx.count_failures(node)

    def find_time(self, node: str) -> datetime:
        """When its value was stored."""
        return self._ctx.find_time(node)

    def is_before_retry(self, node: str) -> bool:
        return self._ctx.is_before_retry(node)
