"""The run's context as the steps of a scenario get it: it passes everything on, and tells the log which nodes are new."""

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
"""The class of calls that change nothing."""


class LoggedContext(RunContext):
    """Passes on to the context of the run."""

    def __init__(self, ctx: RunContext, log: ExecutorLog) -> None:
        """Pass on to `ctx`."""
        self._ctx, self._log = ctx, log
        self.run, self.actor, self.mode = ctx.run, ctx.actor, ctx.mode
        self.state: NodeState = "new"
        """The state of the node that the present step has played last."""
        self.changes = Changes()
        """How many of the changes that the scenario proposed were made, and how many not."""
        self.has_acted = False
        """Whether the present step has done something, or let another run do it, that a step back could not undo."""

    def begin_step(self) -> None:
        """Note that a step begins, which has played no node."""
        self.state = "new"
        self.has_acted = False

    @property
    def now(self) -> datetime:
        """The time at which the run is being played."""
        return self._ctx.now

    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        """Return what is known of a node before it is played now."""
        return self._ctx.find_state(node, is_message=is_message)

    def _note(self, node: str, *, is_message: bool = False) -> None:
        self.state = self._ctx.find_state(node, is_message=is_message)
        if self.state == "new":
            self._log.flush()
        else:
            self._log.drop()

    def limit(self, limits: RunLimits) -> None:
        """Hold the models that the run asks to these limits."""
        self._ctx.limit(limits)

    async def say(self, reply: Reply, *, key: str) -> None:
        """Send a message to the run's chat."""
        self._note(key, is_message=True)
        await self._ctx.say(reply, key=key)

    async def say_file(self, file: SentFile, load: Callable[[], Awaitable[bytes]], *, key: str) -> None:
        """Send a file to the run's chat."""
        self._note(key, is_message=True)
        await self._ctx.say_file(file, load, key=key)

    async def keep_file(self, node: str, load: Callable[[], Awaitable[bytes | None]], *, origins: Origins = UNDECLARED) -> Value:
        """Return {digest, size} of a file that becomes a blob of the run."""
        self._note(node)
        return await self._ctx.keep_file(node, load, origins=origins)

    async def show(self, update: RunUpdate, *, node: str) -> None:
        """Show progress."""
        await self._ctx.show(update, node=node)

    async def ask_model(self, node: str, request: RunModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> Value:
        """Return the answer of the language model."""
        self._note(node)
        return await self._ctx.ask_model(node, request, on_delta)

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]], *, origins: Origins = UNDECLARED) -> Value:
        """Return what `make` gives, or gave."""
        self._note(node)
        return await self._ctx.memo(node, make, origins=origins)

    async def submit(self, node: str, effect: RunEffect) -> Outcome:
        """Submit an effect to the gate."""
        self._note(node)
        outcome = await self._ctx.submit(node, effect)
        if outcome.call_class != READ:
            self.has_acted = True
            is_made = outcome.status in MADE or outcome.already
            self.changes = Changes(made=self.changes.made + is_made, left=self.changes.left + (not is_made))
        return outcome

    async def accept_refusal(self, node: str) -> None:
        """Note that the run goes on after a refusal."""
        await self._ctx.accept_refusal(node)

    async def wait_input(self, node: str, ask: Ask) -> Heard:
        """Ask a person."""
        self._note(node)
        return await self._ctx.wait_input(node, ask)

    async def load_file(self, sent: Value) -> Value:
        """Return the content of a file that was sent."""
        return await self._ctx.load_file(sent)

    async def sleep(self, node: str, until: datetime) -> None:
        """Wait until this moment."""
        self._note(node)
        await self._ctx.sleep(node, until)

    async def child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        """Start another run and wait for its end."""
        self._note(node)
        self.has_acted = True
        return await self._ctx.child(node, engine, definition, args)

    def count_failures(self, node: str) -> int:
        """Return how often the model gave no answer to this node."""
        return self._ctx.count_failures(node)

    def find_time(self, node: str) -> datetime:
        """Return when what a finished node gave was stored."""
        return self._ctx.find_time(node)

    def is_before_retry(self, node: str) -> bool:
        """Return whether the node was played before a person last had the run retried."""
        return self._ctx.is_before_retry(node)
