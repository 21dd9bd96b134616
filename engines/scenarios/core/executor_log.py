"""The log `scenario_executor.log`: steps, durations, changed variables (S000-63). The run's context tells it which nodes are new."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from orchestrator.domain.effect import Outcome
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
from orchestrator.expressions.placeholders import TemplateRefused, format_value

LOGGER: Final = "sdelka.scenarios"
LONGEST_VALUE: Final = 200
log = logging.getLogger(LOGGER)


@dataclass(frozen=True, slots=True)
class _Line:
    level: int
    text: str
    action: str


class ExecutorLog:
    """Lines of one pass; they wait until a node comes that no earlier pass has played."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._waiting: list[_Line] = []

    def drop(self) -> None:
        """An earlier pass has written the lines that wait."""
        self._waiting.clear()

    def flush(self) -> None:
        for line in self._waiting:
            if log.isEnabledFor(line.level):
                more = {"action": line.action}
                # not `log.log`, which looks for its caller: no line shows that, and it takes longer than the rest
                log.handle(log.makeRecord(LOGGER, line.level, __file__, 0, "%s %s", (self._run, line.text), None, extra=more))
        self._waiting.clear()

    def add_note(self, level: int, text: str) -> None:
        self._waiting.append(_Line(level, f"note {_cut(text, LONGEST_VALUE * 10)}", "scenario_note"))

    def add_start(self, name: str, key: str, left_out: Iterable[str]) -> None:
        """`left_out` are given values without effect."""
        self._waiting.append(_Line(logging.INFO, f"begins {key} ({_cut(name)})", "scenario_begins"))
        if names := ", ".join(map(_cut, left_out)):
            text = f"leaves out the given {names}: a version published by this program would take them"
            self._waiting.append(_Line(logging.WARNING, text, "scenario_left_out"))

    def add_wait(self, node: str, kind: str) -> None:
        self._waiting.append(_Line(logging.INFO, f"step {node} {kind} waits", "scenario_waits"))

    def add_step(self, node: str, kind: str, seconds: float, changes: Mapping[str, Value]) -> None:
        changed = f" changed {', '.join(map(_cut, changes))}" if changes else ""
        self._waiting.append(_Line(logging.INFO, f"step {node} {kind} done in {seconds * 1000:.1f} ms{changed}", "scenario_step"))
        if changes and log.isEnabledFor(logging.DEBUG):
            value_texts = "; ".join(f"{_cut(name)} = {_show(value)}" for name, value in changes.items())
            self._waiting.append(_Line(logging.DEBUG, f"step {node} values {value_texts}", "scenario_values"))

    def add_refusal(self, node: str, kind: str, detail: str) -> None:
        line = f"step {node} {kind} refused: {_cut(detail, LONGEST_VALUE * 2)}"
        self._waiting.append(_Line(logging.WARNING, line, "scenario_refused"))

    def add_failure(self, node: str, detail: str) -> None:
        self._waiting.append(_Line(logging.ERROR, f"step {node} failed: {_cut(detail, LONGEST_VALUE * 2)}", "scenario_failed"))

    def add_end(self, steps: int, status: str) -> None:
        self._waiting.append(_Line(logging.INFO, f"ends {status} after {steps} steps", "scenario_ends"))


def _show(value: Value) -> str:
    try:
        return _cut(format_value(value.data))
    except TemplateRefused:
        return "(too large)"


def _cut(text: str, most: int = LONGEST_VALUE) -> str:
    plain = "".join(sign if sign.isprintable() else " " for sign in text[: most + 1])
    return plain if len(plain) <= most else plain[:most] + "…"


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

    async def say(self, reply: Reply, *, key: str, message: str = "") -> None:
        self._note(key, is_message=True)
        await self._ctx.say(reply, key=key, message=message)

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
