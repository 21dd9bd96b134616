"""A run node by node; a node's name begins with its step. Outputs may be large: a node keeps the number of their event."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from orchestrator.engines.base import find_step_id
from orchestrator.runs.limits import RETRY
from state.events.conversation import ModelAsked
from state.events.runs import WHOLE, NodeDone, NodeFailed, RunFinished, RunStarted, RunWaits, RunWoken
from state.journal.store import StoredEvent
from state.model.run_state import RunState

StepState = Literal["done", "running", "waiting", "failed", "skipped"]
NodeState = Literal["done", "running", "waiting", "failed"]
_SAY: Final = "say/"
_CLOSED: Final = ("closed", "accepted")
"""Last parts of names that belong to another node."""
_WAITS: Final[Mapping[str, str]] = {"input": "input", "effect": "effect", "timer": "timer", "run": "run"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """Times are those of the journal, "" for none yet."""

    node: str
    step: str
    """A node of the run as a whole has another first part."""
    kind: str = "memo"
    state: NodeState = "running"
    seq: int = 0
    """Number of the event that says what it gave, or why it failed."""
    begun_at: str = ""
    ended_at: str = ""
    attempt: int = 1
    model: str = ""
    provider: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    origins: tuple[str, ...] = ()
    has_blob: bool = False
    """What it gave stands apart, because it is large, or is a file."""
    code: str = ""
    waits_for: str = ""


class RunHistory:
    """As far as its events were added."""

    def __init__(self) -> None:
        self.seq = 0
        """Number of the last event that was added."""
        self.started: RunStarted | None = None
        self.finished: RunFinished | None = None
        self.finished_seq = 0
        self.used: dict[str, tuple[int, int]] = {}
        """(Read, written) tokens by model."""
        self.seconds = 0.0
        """How long models took to answer."""
        self._nodes: dict[str, NodeLine] = {}
        self._retried_at = 0

    def list_nodes(self, step: str | None = None) -> list[NodeLine]:
        """Of one step if it is given, in the order in which they began."""
        return [node for node in self._nodes.values() if step is None or node.step == step]

    def find_node(self, node: str) -> NodeLine | None:
        """None if nothing is known of it."""
        return self._nodes.get(node)

    def add(self, event: StoredEvent) -> None:
        """Events come in order."""
        self.seq = event.seq
        match event.type:
            case RunStarted.__name__:
                self.started = RunStarted.from_data(event.data)
            case ModelAsked.__name__:
                model_asked = ModelAsked.from_data(event.data)
                if model_asked.node and "#" not in model_asked.node:
                    self._begin(event, model_asked.node, "model", attempt=model_asked.attempt, model=model_asked.model)
            case NodeDone.__name__:
                self._note_done(event, NodeDone.from_data(event.data))
            case NodeFailed.__name__:
                self._note_failure(event, NodeFailed.from_data(event.data))
            case RunWaits.__name__:
                self._note_wait(event, RunWaits.from_data(event.data))
            case RunWoken.__name__:
                self._note_wake(event, RunWoken.from_data(event.data))
            case RunFinished.__name__:
                self.finished, self.finished_seq = RunFinished.from_data(event.data), event.seq

    def _begin(self, event: StoredEvent, node: str, kind: str, *, attempt: int = 1, model: str = "") -> NodeLine:
        known = self._nodes.get(node)
        begun = NodeLine(node=node, step=name_step(node), kind=kind, seq=event.seq, begun_at=event.ts, attempt=attempt, model=model)
        if known is not None:
            begun = replace(begun, begun_at=known.begun_at or event.ts, prompt_tokens=known.prompt_tokens)
            begun = replace(begun, completion_tokens=known.completion_tokens, seconds=known.seconds)
        self._nodes[node] = begun
        return begun

    def _note_done(self, event: StoredEvent, done: NodeDone) -> None:
        self._add_use(done.model, done.prompt_tokens, done.completion_tokens, done.seconds)
        owner, _, last = done.node.rpartition("/")
        if last in _CLOSED and owner in self._nodes:
            self._nodes[owner] = replace(self._nodes[owner], state="done", ended_at=event.ts)
            return
        known = self._nodes.get(done.node)
        kind = known.kind if known is not None and done.kind == "memo" else done.kind
        self._nodes[done.node] = NodeLine(
            node=done.node,
            step=name_step(done.node),
            kind=kind,
            state="failed" if done.refused else "done",
            seq=event.seq,
            begun_at=known.begun_at if known is not None else event.ts,
            ended_at=event.ts,
            attempt=done.attempt,
            model=done.model,
            provider=done.provider,
            prompt_tokens=done.prompt_tokens + (known.prompt_tokens if known is not None else 0),
            completion_tokens=done.completion_tokens + (known.completion_tokens if known is not None else 0),
            seconds=done.seconds,
            origins=tuple(done.origins),
            has_blob=bool(done.output_blob),
        )

    def _note_failure(self, event: StoredEvent, failed: NodeFailed) -> None:
        self._add_use(failed.model, failed.prompt_tokens, failed.completion_tokens, 0.0)
        known = self._nodes.get(failed.node) or NodeLine(node=failed.node, step=name_step(failed.node), begun_at=event.ts)
        self._nodes[failed.node] = replace(
            known,
            state="failed",
            seq=event.seq,
            ended_at=event.ts,
            attempt=failed.attempt,
            code=failed.code,
            prompt_tokens=known.prompt_tokens + failed.prompt_tokens,
            completion_tokens=known.completion_tokens + failed.completion_tokens,
        )

    def _note_wait(self, event: StoredEvent, waits: RunWaits) -> None:
        if waits.node != WHOLE:
            begun = self._begin(event, waits.node, _WAITS.get(waits.on, "memo"))
            self._nodes[waits.node] = replace(begun, state="waiting", waits_for=waits.waits_for)

    def _note_wake(self, event: StoredEvent, woken: RunWoken) -> None:
        if woken.node == WHOLE:
            self.finished = None
            self._retried_at = event.seq if woken.by == RETRY else self._retried_at
            return
        known = self._nodes.get(woken.node) or self._begin(event, woken.node, "memo")
        state: NodeState = "running" if known.kind == "effect" else "done"
        self._nodes[woken.node] = replace(known, state=state, seq=event.seq, ended_at=event.ts, origins=tuple(woken.origins))

    def _add_use(self, model: str, input_tokens: int, output_tokens: int, seconds: float) -> None:
        if model:
            known = self.used.get(model, (0, 0))
            self.used[model] = (known[0] + input_tokens, known[1] + output_tokens)
            self.seconds += seconds

    def find_states(self, steps: Iterable[str], run: RunState, *, are_side_by_side: bool = False) -> dict[str, StepState]:
        """Without unknown ones. With `are_side_by_side` a step may go on when a later one has begun."""
        last: dict[str, NodeLine] = {}
        for node in self._nodes.values():
            if node.step not in last or node.seq >= last[node.step].seq:
                last[node.step] = node
        names = list(steps)
        begun = [last[step] for step in names if step in last]
        newest = max(begun, key=lambda node_line: node_line.seq).step if begun else ""
        waiting = {name_step(node) for node in run.waits}
        states: dict[str, StepState] = {}
        for step in names:
            if step in waiting:
                states[step] = "waiting"
            elif step in last:
                states[step] = self._judge(last[step], run, is_newest=step == newest, are_side_by_side=are_side_by_side)
        return states

    def _judge(self, last: NodeLine, run: RunState, *, is_newest: bool, are_side_by_side: bool) -> StepState:
        """From its last node."""
        if last.state == "failed":
            return "running" if last.seq < self._retried_at and not run.is_over else "failed"
        if (are_side_by_side and last.node.count("/") == 0) or (not are_side_by_side and not is_newest) or run.status == "done":
            return "done"
        return {"failed": "failed", "cancelled": "skipped"}.get(run.status, "running")  # type: ignore[return-value]  # as named


def name_step(node: str) -> str:
    """A message belongs to the step that says it."""
    return find_step_id(node.removeprefix(_SAY))
