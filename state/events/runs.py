"""Events of runs, and of chats in which a run waits for a person's words, with their folds. A fold applies an event to the state.

A run is one execution of a scenario, flow or workflow, with a stream of its own ("run:<id>"). Engines own no events: whatever an engine
does is told by the events of runs. A node is a named piece of a run's work. Playing a run again after a restart reads here what each
node gave, so that nothing finished is done a second time.
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
"""What a node did: sent a message, asked the model, read something, proposed a call, asked a person, or played a turn of an engine."""
WHOLE: Final = ""
"""The node of the events that are about the whole run: a pause, its end, and the order to go on."""


class RunStarted(Event):
    """A run began. Its definition, the definitions that it uses, and the safety mode are fixed from here on."""

    engine: str
    definition: str
    version: int
    digest: str
    pinned: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    """The definitions that this one uses, as {engine, definition, version, digest, edition}; the text of each is the blob of its digest."""
    replay: int
    home: str
    mode: str
    parent: str = ""
    parent_node: str = ""
    depth: int = 0
    """How many runs wait for the end of this one, directly or through others."""
    actor: Personal[dict[str, Any]]
    """The person with whose rights the run works, as a stored `Actor`."""
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    """The values with which the run was started, each as a stored `Value`: {data, origins}."""
    later: ClassVar[frozenset[str]] = frozenset({"title", "since", "edition"})
    title: Personal[str] = ""
    """What people call it: the title of its definition at that time; "" if that has none."""
    since: str = ""
    """The moment of a schedule for which it was started, or when the run at the top of it began, as an ISO time; otherwise ""."""
    edition: int = 0
    """The edition by whose rules the definition is executed; 0 for those from before there were editions."""


class NodeDone(Event):
    """A node finished and gave a value. A turn (the handling of one message) uses the event too, for what it must not do again."""

    node: str
    kind: NodeKind = "memo"
    attempt: int = 1
    output: Personal[Any] = None
    output_blob: Personal[str] = ""
    """The digest of the blob that holds a large output, and `output` is then None; or the file that the node loaded or sent."""
    origins: list[str] = Field(default_factory=list)
    """Where the output comes from, as the names of `orchestrator.domain.taint.Origin`."""
    refused: bool = False
    """Whether it is an effect (proposed call) that was refused; a retry of the run proposes it anew."""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    user: int | None = None
    """The employee whose budget pays for the tokens; `month` is the month of that budget, such as 202611."""
    month: int = 0
    later: ClassVar[frozenset[str]] = frozenset({"provider", "failed_before", "reservation"})
    provider: str = ""
    """The provider that answered; `failed_before` are those that were asked first and gave no answer."""
    failed_before: list[str] = Field(default_factory=list)
    reservation: str = ""
    """The reservation of the `ModelAsked` to which this is the answer."""


class NodeFailed(Event):
    """A node failed. `code` is the code of the message about it, `detail` an English sentence for operations staff."""

    node: str
    attempt: int = 1
    code: str
    detail: Personal[str] = ""
    later: ClassVar[frozenset[str]] = frozenset({"reservation", "model", "prompt_tokens", "completion_tokens", "user", "month"})
    reservation: str = ""
    """The reservation of the `ModelAsked` that got no answer; "" for the failure of something else."""
    model: str = ""
    """The model whose answer could not be used and was paid all the same; "" if there was no answer."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    user: int | None = None
    """The employee whose budget pays for the tokens; `month` is the month of that budget."""
    month: int = 0


class RunWaits(Event):
    """A node waits; without a node (`WHOLE`) a person paused the whole run."""

    node: str
    on: Literal["input", "effect", "timer", "run", "pause"]
    waits_for: str = ""
    """The id of the question, the effect, the timer or the other run."""
    until: str = ""
    answers: list[str] = Field(default_factory=list)
    by: str = ""
    takes: list[str] = Field(default_factory=list)
    """What may be sent as the answer to a question: "text", "contact", "photo", "document"."""
    question: Personal[str] = ""
    """The text of the question, and below it the texts of its buttons."""
    options: Personal[list[str]] = Field(default_factory=list)
    later: ClassVar[frozenset[str]] = frozenset({"controls", "words", "leave", "back"})
    controls: list[str] = Field(default_factory=list)
    """The codes of the sentences on the program's own buttons, which stand below `options` and are numbered after them."""
    words: Personal[list[str]] = Field(default_factory=list)
    """Answers of the author's that read like a wish to leave, to go back or to ask for something else, and are none."""
    leave: bool = False
    """Whether the program's button that ends the run stands below all others."""
    back: bool = False
    """Whether the question before this one can be asked anew."""
    notice: Personal[dict[str, Any]] = Field(default_factory=dict)
    """A question in the words of the program as a stored `Notice`, in place of `question`; empty for none."""


class RunWoken(Event):
    """What a node waited for has come. Without a node (`WHOLE`) a person resumed or retried the whole run.

    `by` says what woke it: the status of an effect, "answer", "timeout", "timer", "run", "resume" or "retry".
    """

    node: str
    by: str
    value: Personal[Any] = None
    """What came: a person's answer, or the result of another run; None if only the fact matters."""
    origins: list[str] = Field(default_factory=list)


class RunFinished(Event):
    """A run ended. `by` is the person who cancelled it, "" for the other endings."""

    status: Literal["done", "failed", "cancelled"]
    code: str = ""
    by: str = ""
    result: Personal[Any] = None
    origins: list[str] = Field(default_factory=list)
    later: ClassVar[frozenset[str]] = frozenset({"detail", "changes_made", "changes_left"})
    detail: Personal[str] = ""
    """Why it failed, as an English sentence for programs and operations staff; "" where only the code is known."""
    changes_made: int = 0
    changes_left: int = 0
    """How many of the changes that it proposed were made, and how many not: a run may end well of which people have denied everything."""


class RunForgotten(Event):
    """The time for which a run is kept is over: its entry in the index, its snapshot and its own blobs are removed; its records stay.

    Nothing can happen in the run any more, and no retry begins it anew.
    """

    blobs: int = 0
    """How many large values its records speak of."""


class InputAwaited(Event):
    """A run waits for words or files of people in this chat. The event is in the stream of the chat, not of the run."""

    run: str
    question_id: str
    takes: list[str] = Field(default_factory=list)
    """What may be sent as the answer: "text", "contact", "photo", "document"."""
    answers: list[str] = Field(default_factory=list)
    """The people who may answer, by key."""


class QuestionShown(Event):
    """The question at which a node waits was shown once more, below what was said since; `number` counts how often."""

    node: str
    number: int


class AnswerDoubted(Event):
    """The words of a person in a chat may be the answer to a run's question or a new request, so the person was asked which.

    `cause` is the id of the input, and `body` the input itself. The event is in the stream of the chat.
    """

    cause: str
    run: str
    question_id: str
    by: str
    body: Personal[dict[str, Any]]


class InputTaken(Event):
    """The wait for an answer in this chat is over: a message was passed on to the run, or the run does not wait any more."""

    question_id: str


def _fold_start(state: State, data: dict[str, Any], ts: str) -> None:
    names = ("engine", "definition", "title", "digest", "home", "mode", "parent", "parent_node")
    told = {name: data.get(name) or "" for name in names}
    numbers = {"version": data.get("version", 0), "replay": data.get("replay", 1)}
    actor = dict(data.get("actor") or {})
    state.run = RunState.create(
        **told, **numbers, actor=actor, owner=str(actor.get("key", "")), status="running", started_at=ts, updated_at=ts, done=0, waits={}
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
    """Return whether an event may change what the index of runs says of the run.

    Most events of a run say that a node is done. They change the index only if the node was noted as waiting.
    """
    if type_name == NodeDone.__name__:
        return run is not None and data["node"] in run.waits
    return type_name in _RUN_FOLDS


def preview_run(run: RunState | None, events: Iterable[tuple[str, dict[str, Any], str]]) -> RunState | None:
    """Return the state of a run after `events` (type, data, ts), without changing `run`; used to store the index with the events."""
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
"""The types of the events that are in the stream of a run."""
FOLDS: Final[dict[str, Fold]] = {**_RUN_FOLDS, "InputAwaited": _fold_listening, "InputTaken": _fold_taking}
