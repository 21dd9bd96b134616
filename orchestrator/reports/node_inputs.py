"""With what the nodes of a run were begun: prompts and proposed calls.

The journal lacks it, so the run is played up to its last known node; nothing is asked, sent or stored.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Reply, SentFile
from orchestrator.domain.taint import UNDECLARED, Origins, Value, split_values
from orchestrator.engines.runs import (
    Ask,
    Heard,
    NodeState,
    RunContext,
    RunEffect,
    RunFailed,
    RunInfo,
    RunLimits,
    RunModelRequest,
    RunResult,
    RunSuspended,
    RunUpdate,
)
from orchestrator.runs.children import read_child_result
from orchestrator.runs.definitions import describe_run
from orchestrator.runs.memo import ACCEPTED, Memo, load_output
from orchestrator.runs.questions import build_answer
from orchestrator.runs.registry import RegisteredEngine
from orchestrator.turns.feature import Tools
from state.clock import parse_iso
from state.model.run_state import RunState

log = logging.getLogger(__name__)

WITHIN: Final = 5.0
"""Seconds; nodes known by then are returned."""
_INNER: Final = ("closed", ACCEPTED, "turn")
"""Last parts of names that belong to another node."""


@dataclass(frozen=True, kw_only=True)
class NodeInput:
    messages: tuple[tuple[str, str], ...] = ()
    """(role, text) of each message to the model."""
    method: str = ""
    """The method or, of a started run or turn, what it executes."""
    params: Any = None


async def read_node_inputs(key: str, run: RunState, registered: RegisteredEngine, tools: Tools) -> Mapping[str, NodeInput]:
    """By node; empty if the run cannot be played any more."""
    memo = Memo()
    await memo.read(tools.store, key)
    if memo.started is None or memo.is_incomplete or run.replay not in registered.engine.replays:
        return {}
    try:
        info = await describe_run(key, run, memo.started, memo.started_at, tools)
        context = _Context(info, Actor.model_validate(run.actor), memo, tools)
    except (RunFailed, ValidationError):
        return {}
    try:
        async with asyncio.timeout(WITHIN):
            await registered.engine.run(context)
    except (RunSuspended, RunFailed, TimeoutError):  # where it stood, or all that there is time for
        return context.found
    except Exception:
        log.exception("run %s could not be played up to its last node", key, extra={"action": "run_inputs_unread"})
    return context.found


class _Context(RunContext):
    """Nodes give what is stored."""

    def __init__(self, run: RunInfo, actor: Actor, memo: Memo, tools: Tools) -> None:
        self.run, self.actor, self.mode = run, actor, _find_mode(memo)
        self._memo, self._store, self._now = memo, tools.store, parse_iso(memo.started_at)
        self._left = {node for node in (*memo.done, *memo.woken) if node.rpartition("/")[2] not in _INNER}
        self._owners = {node.rpartition("/")[0] for node, done in memo.done.items() if done.kind == "model"}
        """They hold questions to the model: an engine would skip those that are finished."""
        self.found: dict[str, NodeInput] = {}

    @property
    def now(self) -> datetime:
        return self._now

    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        if node in self._owners and not is_message:
            return "waited"  # what it holds is played once more, to see with what that was begun
        if (f"say/{node}" if is_message else node) in self._memo.done or f"{node}/closed" in self._memo.done:
            return "finished"
        return "waited"  # of what is not known nothing is new: no log is written anew

    def count_failures(self, node: str) -> int:
        return self._memo.attempts.get(node, 0)

    def find_time(self, node: str) -> datetime:
        stored = self._memo.done_at.get(node)
        return parse_iso(stored) if stored else self.now

    def is_before_retry(self, node: str) -> bool:
        return node in self._memo.before_retry or f"{node}/closed" in self._memo.before_retry

    def limit(self, limits: RunLimits) -> None:
        """Nothing is used, so nothing is limited."""

    def _stop_at_end(self, node: str) -> None:
        """Raises RunSuspended behind the last known node."""
        self._left.discard(node)
        if not self._left:
            raise RunSuspended(node)

    async def _recall(self, node: str) -> Value:
        done = self._memo.done.get(node)
        if done is None:
            raise RunSuspended(node)
        value = await load_output(done, self._store)
        self._stop_at_end(node)
        return value

    async def say(self, reply: Reply, *, key: str, message: str = "") -> None:
        if f"say/{key}" not in self._memo.done:
            raise RunSuspended(key)
        self._stop_at_end(f"say/{key}")

    async def say_file(self, file: SentFile, load: Callable[[], Awaitable[bytes]], *, key: str) -> None:
        if f"say/{key}" not in self._memo.done:
            raise RunSuspended(key)
        self._stop_at_end(f"say/{key}")

    async def keep_file(self, node: str, load: Callable[[], Awaitable[bytes | None]], *, origins: Origins = UNDECLARED) -> Value:
        return await self._recall(node)

    async def show(self, update: RunUpdate, *, node: str) -> None:
        """Nobody watches."""

    async def ask_model(self, node: str, request: RunModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> Value:
        messages = [(str(message.get("role", "")), _format_content(message.get("content"))) for message in request.messages]
        self.found[node] = NodeInput(messages=tuple(messages))
        return await self._recall(node)

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]], *, origins: Origins = UNDECLARED) -> Value:
        return await self._recall(node)

    async def submit(self, node: str, effect: RunEffect) -> Outcome:
        self.found[node] = NodeInput(method=effect.method, params=split_values(effect.params)[0])
        return Outcome.model_validate((await self._recall(node)).data)

    async def accept_refusal(self, node: str) -> None:
        """Nothing is stored."""

    async def wait_input(self, node: str, ask: Ask) -> Heard:
        woken = self._memo.woken.get(node)
        if woken is None:
            raise RunSuspended(node)
        self._stop_at_end(node)
        return build_answer(woken, ask)

    async def load_file(self, sent: Value) -> Value:
        raise RunSuspended("file")

    async def sleep(self, node: str, until: datetime) -> None:
        if node not in self._memo.woken:
            raise RunSuspended(node)
        self._stop_at_end(node)

    async def child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        params = {name: arg.data for name, arg in args.items()}
        self.found[node] = NodeInput(method=f"{engine}: {definition}" if definition else engine, params=params)
        woken = self._memo.woken.get(node)
        if woken is None:
            raise RunSuspended(node)
        self._stop_at_end(node)
        return read_child_result(woken)


def _find_mode(memo: Memo) -> Mode:
    return memo.started.mode if memo.started is not None else "shadow"  # type: ignore[return-value]  # stored as text


def _format_content(content: object) -> str:
    return content if isinstance(content, str) else str(content or "")
