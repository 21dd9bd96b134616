"""What the nodes of a run gave before, read from the run's own stream. Playing a run again uses it instead of doing anything twice."""

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
"""The types of the events that hold a value which the engine gets."""
CHILD = "run"
"""What a RunWoken event says of the node that waited for another run: it has ended."""


ACCEPTED: Final = "accepted"
"""The last part of the name under which the context keeps that the run went on after the refusal of a node."""


@dataclass
class Memo:
    """The recorded results of one run. `read` brings it up to date, and `add` takes what this process has just stored."""

    seq: int = 0
    """The number of the last event that was read or added."""
    started: RunStarted | None = None
    started_at: str = ""
    """When the run began, in UTC as the journal has it."""
    done: dict[str, NodeDone] = field(default_factory=dict)
    done_at: dict[str, str] = field(default_factory=dict)
    """When what each of these nodes gave was stored, as ISO times."""
    woken: dict[str, RunWoken] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    """How often each node has failed; its next attempt has the next number."""
    waited: frozenset[str] = frozenset()
    """The nodes that waited just before `read` was called for the last time."""
    retried: set[str] = field(default_factory=set)
    """The nodes whose child has failed, and goes on because a person has the run retried."""
    children: set[str] = field(default_factory=set)
    """The nodes that wait for the end of a child."""
    orphaned: set[str] = field(default_factory=set)
    """The nodes whose child was cancelled because the run failed beside it; it goes on when the run is retried."""
    before_retry: frozenset[str] = frozenset()
    """The nodes that were done, or had failed, when a person last had the run retried."""
    shown: dict[str, int] = field(default_factory=dict)
    """How often the question of each node was shown once more."""
    finished: RunFinished | None = None
    usage: RunUsage = field(default_factory=RunUsage)
    """What the run has used of models and time."""
    came_back: bool = False
    """Whether the run was restored from a backup and may have gone on after the backup was made; whoever reads the memo finds that out."""
    is_incomplete: bool = False
    """Whether a value is missing, because the person who gave it was erased: without it the run would take another way than it took."""

    @property
    def since(self) -> str:
        """Since when the run, or the one at the top of it, may have worked, as an ISO time; a schedule is due before its run begins."""
        return (self.started.since if self.started is not None else "") or self.started_at

    async def read(self, store: AsyncStore, stream: str) -> None:
        """Read the events that were stored since the last call, by this process or another."""
        async for event in iterate_later(store, stream, self.seq):
            self.is_incomplete |= event.erased and event.type in _VALUES
            self.add(event.type, event.data)
            self.usage.add_event(event.type, event.data, event.ts)
            if event.type == NodeDone.__name__:
                self.done_at[event.data["node"]] = event.ts
            self.started_at = event.ts if event.type == "RunStarted" else self.started_at
            self.seq = event.seq

    def add(self, kind: str, data: Mapping[str, Any]) -> None:
        """Take in one event, given by its type and data."""
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
        """Let the nodes whose call was refused run again, each as a new attempt with an effect of its own, and children go on.

        These are the failed ones and those that were cancelled with the run. A call whose card was withdrawn at the end of the run counts
        as refused. A refusal after which the run went on stays, so that the run takes the same way.
        """
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
        """Return the number of the node's next attempt, 1 for the first."""
        return self.attempts.get(node, 0) + 1


async def load_output(done: NodeDone, store: AsyncStore) -> Value:
    """Return the value that a finished node gave. Raises RunFailed if its blob is gone or damaged.

    A node that has an output and a blob gave the output, which speaks of the file in the blob.
    """
    if not done.output_blob or done.output is not None:
        return Value(copy_data(done.output), frozenset(done.origins))  # type: ignore[arg-type]  # origins are stored as text
    text = await store.load_blob(done.output_blob)
    if text is None or hash_text(text) != done.output_blob:
        lost = "gone" if text is None else "damaged"
        raise RunFailed("run-value-lost", f"the output of node {done.node} is {lost}", node=done.node)
    return Value(parse_blob(text), frozenset(done.origins))  # type: ignore[arg-type]  # as above


def copy_data(data: Any) -> Any:
    """Return JSON data that shares nothing with `data`: an engine may change what it gets, and the memo must not change with it."""
    return loads(dumps(data)) if isinstance(data, dict | list) else data


def read_args(started: RunStarted) -> dict[str, Value]:
    """Return the values with which a run was started."""
    return {name: Value.from_stored(arg) for name, arg in started.args.items() if isinstance(arg, Mapping)}


def format_args(args: Mapping[str, Value]) -> dict[str, JsonObject]:
    """Return values in the form in which `RunStarted.args` and `RunStart.args` hold them."""
    return {name: arg.to_stored() for name, arg in args.items()}
