"""Events of a conversation and its turns, with their folds; a turn processes one input."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from state.events.base import Event, Fold, is_step_of, keep_last
from state.events.personal import Personal
from state.model.card import OPEN_STATUSES
from state.model.session_state import AgentState, HistoryLine, OpenTurn, PausedTurn, Question, SessionState
from state.model.shown_lists import ShownList, find_last_shown, find_question

State = SessionState

KEEP_HISTORY = 20
MAX_HISTORY = 40
"""Ten turns are cut at once, so that providers can cache the prompts' beginning."""
KEEP_GOALS = 10
KEEP_GOAL_LENGTH = 500
KEEP_TRUSTED = 50
KEEP_PAUSED = 20


class MessageReceived(Event):
    turn_id: str
    text: Personal[str]
    origin: Literal["typed", "choice", "button", "portal", "voice"] = "typed"
    quoted: Personal[str] = ""
    """Treated as free text of others."""
    answers: str = ""
    """The question that a choice answers."""
    ref: int = 0
    """The messenger's number of the message."""
    later: ClassVar[frozenset[str]] = frozenset(
        {"engine", "cited", "answered", "is_answered_own", "answered_records", "answers_others", "by", "waiting"}
    )
    cited: Personal[str] = ""
    answered: Personal[str] = ""
    """The message of the bot, or their own, that the person replied to."""
    is_answered_own: bool = False
    answered_records: list[str] = Field(default_factory=list)
    """To which the answered message of the bot links."""
    answers_others: bool = False
    by: str = ""
    """Several people write in a group."""
    engine: str = ""
    waiting: list[str] = Field(default_factory=list)
    """Confirmations of this person that waited then; prompts name them by their places."""


class ModelAsked(Event):
    """The tokens are an estimate that counts until an answer or failure is stored."""

    turn_id: str = ""
    iteration: int = 0
    node: str = ""
    attempt: int = 1
    reservation: str
    """Under which the asking process has reserved the tokens."""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    user: int | None = None
    month: int = 0


class ModelAnswered(Event):
    """A turn restarted after a crash reads the answer here and does not ask again."""

    turn_id: str
    iteration: int
    text: Personal[str]
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    prose: bool = False
    user: int | None = None
    """Budgets count people, not accounts."""
    month: int = 0
    later: ClassVar[frozenset[str]] = frozenset({"provider", "failed_before", "calls", "reservation"})
    provider: str = ""
    failed_before: list[str] = Field(default_factory=list)
    calls: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    reservation: str = ""


class ModelFailed(Event):
    turn_id: str
    iteration: int
    reason: Personal[str]
    later: ClassVar[frozenset[str]] = frozenset({"reservation", "model", "prompt_tokens", "completion_tokens", "user", "month"})
    reservation: str = ""
    model: str = ""
    """A model that was paid although its answer could not be used."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    user: int | None = None
    """Whose budget of `month` pays."""
    month: int = 0


class PlanRecorded(Event):
    """`mode` is shadow (nothing runs), canary (reads and safe creates run) or full."""

    turn_id: str
    iteration: int
    mode: str
    steps: Personal[list[dict[str, Any]]]
    """Names are resolved; a restarted turn continues with exactly these."""
    executed: bool = True
    targets: Personal[list[str]] = Field(default_factory=list)
    later: ClassVar[frozenset[str]] = frozenset({"message"})
    message: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Stored `MessageFacts` and the changes made before, for rehearsals."""


class NameAsked(Event):
    turn_id: str
    question_id: str
    iteration: int
    reference: Personal[str]
    options: Personal[list[dict[str, Any]]]
    text: Personal[str]
    answer: Personal[str] = ""
    """With the waiting plan; it is parsed again."""
    resolved: Personal[dict[str, Any]] = Field(default_factory=dict)
    ask: Personal[dict[str, Any]] = Field(default_factory=dict)
    prose: bool = False
    later: ClassVar[frozenset[str]] = frozenset({"message", "waiting_steps", "dialogue"})
    message: Personal[dict[str, Any]] = Field(default_factory=dict)
    waiting_steps: dict[str, str] = Field(default_factory=dict)
    """Confirmations that waited → the names by which `answer` calls them."""
    labels: Personal[list[str]] = Field(default_factory=list)
    """Portal texts that the turn has read, kept to find taint."""
    dialogue: Personal[dict[str, Any]] = Field(default_factory=dict)
    """What the model had answered and observed before, as it read it."""


class NameChosen(Event):
    """It only names a record and approves nothing."""

    turn_id: str
    question_id: str
    reference: Personal[str]
    value: Personal[Any]
    label: Personal[str] = ""


class StepRefused(Event):
    """Nothing was sent."""

    turn_id: str
    slot: str
    method: str
    params: Personal[dict[str, Any]]
    code: str
    detail: Personal[str] = ""
    args: Personal[dict[str, Any]] = Field(default_factory=dict)


class TurnFinished(Event):
    """`history` is what later prompts may repeat of it."""

    turn_id: str
    reason: Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed", "budget"]
    text: Personal[str] = ""
    history: Personal[str] = ""
    next_planned_actions: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    targets: Personal[list[str]] = Field(default_factory=list)
    """Records ("deal:481") that later turns may trust."""
    later: ClassVar[frozenset[str]] = frozenset(
        {"lists", "goes_on", "asker", "joined_slots", "engine", "resumed", "provenance", "is_foreign", "acted", "rules"}
    )
    is_foreign: bool = False
    """Whether `history` may quote others, so that prompts fence it."""
    acted: bool = False
    rules: int = 0
    """The rules of consent that people know from now on."""
    lists: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    """See `state.model.shown_lists`; markers in `history` name the places."""
    goes_on: bool = False
    """Whether it goes on when its last card is decided."""
    asker: Personal[dict[str, Any]] = Field(default_factory=dict)
    joined_slots: dict[str, str] = Field(default_factory=dict)
    """The step's place → the place of the step whose card was open already."""
    engine: str = ""
    resumed: bool = False
    """Whether the turn has ended and been counted before."""
    provenance: Personal[dict[str, Any]] = Field(default_factory=dict)
    """A stored `Provenance`."""


class TurnResumed(Event):
    turn_id: str


class ConversationCleared(Event):
    """`/new`: open cards stay."""

    by: str


def trim_history(state: State) -> None:
    _trim_lines(state.history)


def _trim_lines(lines: list[HistoryLine]) -> None:
    if len(lines) <= MAX_HISTORY:
        return
    first = len(lines) - KEEP_HISTORY
    del lines[: next((at for at in range(first, len(lines)) if lines[at].role == "user"), first)]


def _add_line(state: State, engine: str, line: HistoryLine) -> None:
    if not engine:
        state.history.append(line)
        trim_history(state)
        return
    lines = [*(state.engine_histories or {}).get(engine, []), line]
    _trim_lines(lines)
    state.engine_histories = {**(state.engine_histories or {}), engine: lines}


def _build_line(data: dict[str, Any], ts: str) -> HistoryLine:
    quoted, by = bool(data.get("quoted") or data.get("answers_others")), {"by": data["by"]} if data.get("by") else {}
    return HistoryLine.create(role="user", text=data["text"], quoted=quoted, ts=ts, turn_id=data["turn_id"], **by)


def _fold_message(state: State, data: dict[str, Any], ts: str) -> None:
    if engine := data.get("engine", ""):
        _add_line(state, engine, _build_line(data, ts))
        state.turn = OpenTurn.create(turn_id=data["turn_id"], started=ts)
        return
    agent = state.agent
    if data.get("origin", "typed") in {"typed", "voice"}:
        goals = agent.goals
        goal = data["text"][:KEEP_GOAL_LENGTH]
        if goal and (not goals or goals[0] != goal):
            agent.goals = [goal, *goals][:KEEP_GOALS]
        state.question = None
    if data.get("answers"):  # a button: from now on numbers mean the rows of the list before the question again
        state.last_asked = None
    _point_at(state, data.get("answered_records") or ())
    if data["text"]:
        _add_line(state, "", _build_line(data, ts))
    state.turn = OpenTurn.create(turn_id=data["turn_id"], started=ts)


def _point_at(state: State, records: Sequence[str]) -> None:
    """The one record of the answer that was replied to is the one spoken of; of several, none is."""
    for record in records:
        kind, _, number = record.rpartition(":")
        state.agent.objects[f"current_{kind}_id"] = int(number) if len(records) == 1 else None


def _fold_plan(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    state.agent.next_planned_actions = list(data["steps"]) if not data.get("executed", True) else []


def _fold_question(state: State, data: dict[str, Any], ts: str) -> None:
    state.question = Question.from_stored({**data, "ts": ts})


def _fold_choice(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    if state.question and state.question.question_id == data["question_id"]:
        # The question stays until its turn has ended: a restart in between needs it to continue.
        state.question = state.question.with_values(chosen_in=data["turn_id"])


def _fold_turn_end(state: State, data: dict[str, Any], ts: str) -> None:
    lists = data.get("lists") or []
    state.rules = data.get("rules") or state.rules
    engine = _find_own_history(state, data)
    if data.get("history"):
        seen = {**({"lists": lists} if lists else {}), **{name: True for name in ("is_foreign", "acted") if data.get(name)}}
        _add_line(state, engine, HistoryLine.create(role="assistant", text=data["history"], ts=ts, turn_id=data["turn_id"], **seen))
    if not engine:  # else what the person was shown and asked in the conversation stays as it was
        _fold_shown(state, data, lists)
    state.turn = None
    if data.get("goes_on"):
        joined = sorted((data.get("joined_slots") or {}).values())
        paused = PausedTurn.create(ts=ts, asker=data.get("asker") or {}, joined=joined, engine=data.get("engine") or "")
        state.paused = {**(state.paused or {}), data["turn_id"]: paused}
        keep_last(state.paused, KEEP_PAUSED)


def _fold_shown(state: State, data: dict[str, Any], lists: list[dict[str, Any]]) -> None:
    lists_seen = [ShownList.from_stored(one) for one in lists]
    last = find_last_shown(lists_seen)
    state.last_shown, state.last_asked = last.join(state.last_shown) if last else state.last_shown, find_question(lists_seen)
    if data.get("next_planned_actions"):
        decided = [card for card in state.agent.confirmations.values() if card.status not in OPEN_STATUSES]  # while the turn went on
        still_planned = [item for item in data["next_planned_actions"] if not any(is_step_of(item, card) for card in decided)]
        state.agent.next_planned_actions = still_planned
    elif data["reason"] == "stopped":
        planned = state.agent.next_planned_actions
        state.agent.next_planned_actions = [item for item in planned if not item.get("slot", "").startswith(f"{data['turn_id']}/")]
    if state.question and state.question.chosen_in == data["turn_id"]:
        state.question = None
    targets = data.get("targets", ())
    known = [item for item in state.trusted if item not in targets]
    state.trusted = [*known, *targets][-KEEP_TRUSTED:]


def _find_own_history(state: State, data: dict[str, Any]) -> str:
    engine = data.get("engine") or ""
    lines = (state.engine_histories or {}).get(engine, []) if engine else []
    return engine if any(line.turn_id == data["turn_id"] for line in lines) else ""


def _fold_resumption(state: State, data: dict[str, Any], ts: str) -> None:
    if state.paused:
        state.paused = {turn: since for turn, since in state.paused.items() if turn != data["turn_id"]}
    # What of its plan did not run is begun now; what then does not run either is planned again when the turn ends.
    planned = state.agent.next_planned_actions
    state.agent.next_planned_actions = [step for step in planned if not str(step.get("slot", "")).startswith(f"{data['turn_id']}/")]
    state.turn = OpenTurn.create(turn_id=data["turn_id"], started=ts)


def _fold_clearing(state: State, data: dict[str, Any], ts: str) -> None:
    del data, ts
    old = state.agent
    state.agent = AgentState(confirmations=old.confirmations, event_bindings=old.event_bindings, done=old.done, in_progress=old.in_progress)
    state.history, state.question, state.trusted, state.paused = [], None, [], None
    state.engine_histories = None
    state.last_shown = state.last_asked = state.reports = None


FOLDS: Final[dict[str, Fold]] = {
    "MessageReceived": _fold_message,
    "PlanRecorded": _fold_plan,
    "NameAsked": _fold_question,
    "NameChosen": _fold_choice,
    "TurnFinished": _fold_turn_end,
    "TurnResumed": _fold_resumption,
    "ConversationCleared": _fold_clearing,
}
