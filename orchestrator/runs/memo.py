"""What the nodes of a run gave before, so that a replay does nothing twice."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunFailed
from orchestrator.runs.limits import RETRY, RunUsage
from state.canonical import dumps, hash_text, loads
from state.events.runs import WHOLE, NodeDone, NodeFailed, RunFinished, RunStarted, RunWoken
from state.journal.async_store import AsyncStore
from state.journal.blobs import parse_blob
from state.journal.pages import iterate_later
from state.stored import JsonObject

PAGE = 1000
_VALUES = frozenset({"NodeDone", "RunWoken"})
"""Events that hold a value which the engine gets."""
CHILD = "run"


ACCEPTED: Final = "accepted"
"""Ends the name under which an accepted refusal is kept."""


@dataclass
class Memo:
    seq: int = 0
    """Number of the last event read or added."""
    started: RunStarted | None = None
    started_at: str = ""
    """UTC, as the journal has it."""
    done: dict[str, NodeDone] = field(default_factory=dict)
    done_at: dict[str, str] = field(default_factory=dict)
    """ISO times at which these nodes' output was stored."""
    woken: dict[str, RunWoken] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    """Its next attempt has the next number."""
    waited: frozenset[str] = frozenset()
    """Nodes that waited just before the last `read`."""
    retried: set[str] = field(default_factory=set)
    """Nodes whose failed child goes on with the retry."""
    children: set[str] = field(default_factory=set)
    """Nodes that wait for a child."""
    orphaned: set[str] = field(default_factory=set)
    """Their child was cancelled because the run failed beside it; a retry lets it go on."""
    before_retry: frozenset[str] = frozenset()
    """Nodes done or failed before the last retry."""
    shown: dict[str, int] = field(default_factory=dict)
    """How often each question was shown again."""
    finished: RunFinished | None = None
    usage: RunUsage = field(default_factory=RunUsage)
    came_back: bool = False
    """Restored from a backup, after which the run may have gone on; set by the reader."""
    is_incomplete: bool = False
    """The person of a value was erased: a replay would go another way."""

    @property
    def since(self) -> str:
        """ISO time since when this run, or the topmost around it, may have worked."""
        return (self.started.since if self.started is not None else "") or self.started_at

    async def read(self, store: AsyncStore, stream: str) -> None:
        """Only what was stored since the last call."""
        async for event in iterate_later(store, stream, self.seq):
            self.is_incomplete |= event.erased and event.type in _VALUES
            self.add(event.type, event.data)
            self.usage.add_event(event.type, event.data, event.ts)
            if event.type == NodeDone.__name__:
                self.done_at[event.data["node"]] = event.ts
            self.started_at = event.ts if event.type == "RunStarted" else self.started_at
            self.seq = event.seq

    def add(self, kind: str, data: Mapping[str, Any]) -> None:
        """Takes in one event."""
        match kind:
            case "RunStarted":
                self.started = RunStarted.from_data(data)
            case "NodeDone":
                done = NodeDone.from_data(data)
                self.done[done.node] = done
            case "NodeFailed":
                failed = NodeFailed.from_data(data)
                self.attempts[failed.node] = failed.attempt
            case "RunWoken" if data["node"] == WHOLE:
                if data["by"] == RETRY:
                    self.before_retry = frozenset(self.done) | frozenset(self.attempts)
                    self._forget_refused()
                self.finished = None
            case "RunWoken":
                woken = RunWoken.from_data(data)
                self.woken[woken.node] = woken
                self.children.discard(woken.node)
            case "RunWaits" if data.get("on") == "run":
                self.children.add(data["node"])
                self.orphaned.discard(data["node"])
            case "QuestionShown":
                self.shown[data["node"]] = data["number"]
            case "RunFinished":
                self.finished = RunFinished.from_data(data)

    def _forget_refused(self) -> None:
        self.orphaned |= self.children
        self.retried |= self.children
        self.children.clear()
        for node, node_done in list(self.done.items()):
            if node_done.refused and f"{node}/{ACCEPTED}" not in self.done:
                self.attempts[node] = node_done.attempt
                del self.done[node]
                self.woken.pop(node, None)
        for node, woken in list(self.woken.items()):
            if woken.by == CHILD and isinstance(woken.value, Mapping) and woken.value.get("status") == "failed":
                self.retried.add(node)
                del self.woken[node]
            elif woken.by == "denied" and node not in self.done:
                self.attempts[node] = self.count_attempt(node)
                del self.woken[node]

    def count_attempt(self, node: str) -> int:
        """1 for the first."""
        return self.attempts.get(node, 0) + 1


async def load_output(done: NodeDone, store: AsyncStore) -> Value:
    """Raises RunFailed if its blob is gone or damaged. An output beside a blob speaks of the file in it."""
    if not done.output_blob or done.output is not None:
        return Value(copy_data(done.output), frozenset(done.origins))  # type: ignore[arg-type]  # origins are stored as text
    text = await store.load_blob(done.output_blob)
    if text is None or hash_text(text) != done.output_blob:
        lost = "gone" if text is None else "damaged"
        raise RunFailed("run-value-lost", f"the output of node {done.node} is {lost}", node=done.node)
    return Value(parse_blob(text), frozenset(done.origins))  # type: ignore[arg-type]  # as above


def copy_data(data: Any) -> Any:
    """Shares nothing with `data`, which an engine may change."""
    return loads(dumps(data)) if isinstance(data, dict | list) else data


def read_args(started: RunStarted) -> dict[str, Value]:
    return {name: Value.from_stored(arg) for name, arg in started.args.items() if isinstance(arg, Mapping)}


def format_args(args: Mapping[str, Value]) -> dict[str, JsonObject]:
    """As `RunStarted.args` and `RunStart.args` hold them."""
    return {name: arg.to_stored() for name, arg in args.items()}
