"""Events of runs, each in stream "run:<id>", with their folds; engines own no events.

Playing a run again reads here what each node gave, so nothing is done twice.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.run_state import RunState, RunStatus, RunWait, WaitKind
from state.model.session_state import Listener, SessionState

State = SessionState

NodeKind = Literal["say", "model", "memo", "effect", "input", "turn"]
WHOLE: Final = ""
"""The node of events about the whole run."""


class RunStarted(Event):
    """Definitions and safety mode are fixed from here on."""

    engine: str
    definition: str
    version: int
    digest: str
    pinned: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    """{engine, definition, version, digest, edition}; each text is the blob of its digest."""
    replay: int
    home: str
    mode: str
    parent: str = ""
    parent_node: str = ""
    depth: int = 0
    actor: Personal[dict[str, Any]]
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    later: ClassVar[frozenset[str]] = frozenset({"title", "since", "edition"})
    title: Personal[str] = ""
    since: str = ""
    """ISO time of the schedule's moment, or of the top run's beginning."""
    edition: int = 0
    """0 from before there were editions."""


class NodeDone(Event):
    """Turns use it too, for what they must not do again."""

    node: str
    kind: NodeKind = "memo"
    attempt: int = 1
    output: Personal[Any] = None
    output_blob: Personal[str] = ""
    """Of a large output, when `output` is None, or of a file."""
    origins: list[str] = Field(default_factory=list)
    """Names of `orchestrator.domain.taint.Origin`."""
    refused: bool = False
    """Whether it is a refused effect, which a retry proposes anew."""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    user: int | None = None
    month: int = 0
    later: ClassVar[frozenset[str]] = frozenset({"provider", "failed_before", "reservation"})
    provider: str = ""
    failed_before: list[str] = Field(default_factory=list)
    reservation: str = ""


class NodeFailed(Event):
    node: str
    attempt: int = 1
    code: str
    detail: Personal[str] = ""
    later: ClassVar[frozenset[str]] = frozenset({"reservation", "model", "prompt_tokens", "completion_tokens", "user", "month"})
    reservation: str = ""
    model: str = ""
    """Of an unusable answer that was paid all the same."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    user: int | None = None
    month: int = 0


class RunWaits(Event):
    """A node waits; `WHOLE`: a person paused the run."""

    node: str
    on: Literal["input", "effect", "timer", "run", "pause"]
    waits_for: str = ""
    until: str = ""
    answers: list[str] = Field(default_factory=list)
    by: str = ""
    takes: list[str] = Field(default_factory=list)
    question: Personal[str] = ""
    options: Personal[list[str]] = Field(default_factory=list)
    later: ClassVar[frozenset[str]] = frozenset({"controls", "words", "leave", "back"})
    controls: list[str] = Field(default_factory=list)
    """Sentence codes of the program's buttons, below `options`."""
    words: Personal[list[str]] = Field(default_factory=list)
    """Answers that only read like a wish to leave or go back."""
    leave: bool = False
    """Whether the button that ends the run stands last."""
    back: bool = False
    notice: Personal[dict[str, Any]] = Field(default_factory=dict)
    """A stored `Notice` in place of `question`."""


class RunWoken(Event):
    """`by` is an effect's status, "answer", "timeout", "timer", "run", "resume" or "retry"."""

    node: str
    by: str
    value: Personal[Any] = None
    """None if only the fact matters."""
    origins: list[str] = Field(default_factory=list)


class RunFinished(Event):
    """`by` cancelled it, "" otherwise."""

    status: Literal["done", "failed", "cancelled"]
    code: str = ""
    by: str = ""
    result: Personal[Any] = None
    origins: list[str] = Field(default_factory=list)
    later: ClassVar[frozenset[str]] = frozenset({"detail", "changes_made", "changes_left"})
    detail: Personal[str] = ""
    """English, for operations staff."""
    changes_made: int = 0
    changes_left: int = 0
    """A run may end well though all were denied."""


class RunForgotten(Event):
    """Its blobs and its entry in the index are removed, its records stay. No retry begins it anew."""

    blobs: int = 0


class InputAwaited(Event):
    """In the stream of the chat, not of the run."""

    run: str
    question_id: str
    takes: list[str] = Field(default_factory=list)
    answers: list[str] = Field(default_factory=list)


class QuestionShown(Event):
    node: str
    number: int


class AnswerDoubted(Event):
    """Words may be an answer or a new request; in the stream of the chat."""

    cause: str
    run: str
    question_id: str
    by: str
    body: Personal[dict[str, Any]]


class InputTaken(Event):
    """Passed on to the run, or it does not wait any more."""

    question_id: str


def _fold_start(state: State, data: dict[str, Any], ts: str) -> None:
    names = ("engine", "definition", "title", "digest", "home", "mode", "parent", "parent_node")
    texts = {name: data.get(name) or "" for name in names}
    numbers = {"version": data.get("version", 0), "replay": data.get("replay", 1)}
    actor = dict(data.get("actor") or {})
    state.run = RunState.create(
        **texts, **numbers, actor=actor, owner=str(actor.get("key", "")), status="running", started_at=ts, updated_at=ts, done=0, waits={}
    )


def _fold_node_done(state: State, data: dict[str, Any], ts: str) -> None:
    if (run := state.run) is not None:
        state.run = _without_wait(run, data["node"], ts).with_values(done=run.done + 1)


def _fold_node_failure(state: State, data: dict[str, Any], ts: str) -> None:
    if (run := state.run) is not None:
        failures = {**run.failures, data["node"]: data.get("attempt", 1)}
        state.run = _without_wait(run, data["node"], ts).with_values(failures=failures)


def _fold_wait(state: State, data: dict[str, Any], ts: str) -> None:
    run = state.run
    if run is None:
        return
    if data["node"] == WHOLE:
        state.run = run.with_values(status="paused", updated_at=ts)
        return
    kind: WaitKind = data["on"]
    wait = RunWait.create(
        on=kind,
        waits_for=data.get("waits_for", ""),
        until=data.get("until", ""),
        answers=list(data.get("answers", ())),
        since=ts,
        options=len(data.get("options", ())) + len(data.get("controls", ())),
        takes=list(data.get("takes", ())),
        back=bool(data.get("back")),
    )
    waits = {**run.waits, data["node"]: wait}
    state.run = run.with_values(waits=waits, status="paused" if run.status == "paused" else "waiting", updated_at=ts)


def _fold_wake(state: State, data: dict[str, Any], ts: str) -> None:
    run = state.run
    if run is None:
        return
    if data["node"] == WHOLE:
        state.run = run.with_values(status=_name_status(run.waits), code="", updated_at=ts)
    else:
        state.run = _without_wait(run, data["node"], ts)


def _fold_end(state: State, data: dict[str, Any], ts: str) -> None:
    if (run := state.run) is not None:
        state.run = run.with_values(status=data["status"], code=data.get("code", ""), waits={}, updated_at=ts)


def _fold_forgetting(state: State, data: dict[str, Any], ts: str) -> None:
    del data, ts
    state.run = None


def _without_wait(run: RunState, node: str, ts: str) -> RunState:
    if node not in run.waits:
        return run
    waits = {name: wait for name, wait in run.waits.items() if name != node}
    return run.with_values(waits=waits, status=run.status if run.status == "paused" or run.is_over else _name_status(waits), updated_at=ts)


def _name_status(waits: object) -> RunStatus:
    return "waiting" if waits else "running"


def _fold_listening(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    state.listening = {
        **(state.listening or {}),
        data["question_id"]: Listener.create(run=data["run"], takes=data["takes"], answers=data["answers"]),
    }


def _fold_taking(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    state.listening = {key: listener for key, listener in (state.listening or {}).items() if key != data["question_id"]}


def may_change_index(run: RunState | None, type_name: str, data: Mapping[str, Any]) -> bool:
    """Return whether the index may change: a finished node does so only if it waited."""
    if type_name == NodeDone.__name__:
        return run is not None and data["node"] in run.waits
    return type_name in _RUN_FOLDS


def preview_run(run: RunState | None, events: Iterable[tuple[str, dict[str, Any], str]]) -> RunState | None:
    """Apply (type, data, ts) to a copy."""
    state = SessionState(run=run)
    for name, data, ts in events:
        if (fold := _RUN_FOLDS.get(name)) is not None:
            fold(state, data, ts)
    return state.run


_RUN_FOLDS: Final[dict[str, Fold]] = {
    "RunStarted": _fold_start,
    "NodeDone": _fold_node_done,
    "NodeFailed": _fold_node_failure,
    "RunWaits": _fold_wait,
    "RunWoken": _fold_wake,
    "RunFinished": _fold_end,
    "RunForgotten": _fold_forgetting,
}
RUN_TYPES: Final = tuple(_RUN_FOLDS)
FOLDS: Final[dict[str, Fold]] = {**_RUN_FOLDS, "InputAwaited": _fold_listening, "InputTaken": _fold_taking}
