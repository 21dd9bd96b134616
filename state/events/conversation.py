"""Events of a conversation and its turns (messages, the model's answers and plans, questions about names), and their folds.

A turn is the processing of one input of a person. The model answers once in each iteration of a turn. A fold applies an event to the state.
"""

from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from state.events.base import Event, Fold, is_step_of, keep_last
from state.events.personal import Personal
from state.model.card import OPEN_STATUSES
from state.model.session_state import AgentState, HistoryLine, OpenTurn, PausedTurn, Question, SessionState
from state.model.shown_lists import ShownList, find_last_shown, find_question

State = SessionState

KEEP_HISTORY = 20
"""How many lines of the conversation stay when it is cut: ten turns, each a message and an answer."""
MAX_HISTORY = 40
"""With more lines than this, the conversation is cut.

Ten turns go at once: a line less with every message would change the beginning of every prompt, which providers could then not cache.
"""
KEEP_GOALS = 10
KEEP_GOAL_LENGTH = 500
KEEP_TRUSTED = 50
KEEP_PAUSED = 20


class MessageReceived(Event):
    """A message, choice or other input of a person started a turn (the processing of this input)."""

    turn_id: str
    text: Personal[str]
    origin: Literal["typed", "choice", "button", "portal", "voice"] = "typed"
    quoted: Personal[str] = ""
    """Text of somebody else that was forwarded or quoted along; treated as prose, that is, as free text of others."""
    answers: str = ""
    """The id of the question that this input answers, if it is a choice."""
    ref: int = 0
    """The messenger's number of the message, or of the first of several."""
    later: ClassVar[frozenset[str]] = frozenset({"engine", "cited", "answers_others", "by"})
    cited: Personal[str] = ""
    """The part of the bot's own answer that the person quoted."""
    answers_others: bool = False
    """Whether the message replies to somebody else than the bot."""
    by: str = ""
    """The key of the person who wrote it; several people write in a group."""
    engine: str = ""
    """The engine that answers, if it has a history of its own; "" for the default one."""


class ModelAsked(Event):
    """The model is asked. The tokens are an estimate: it counts until the answer or the failure is stored, and for ever if none is.

    A turn asks in an iteration, a run at a node with an attempt.
    """

    turn_id: str = ""
    iteration: int = 0
    node: str = ""
    attempt: int = 1
    reservation: str
    """The id under which the process that asks has reserved the tokens."""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    user: int | None = None
    month: int = 0


class ModelAnswered(Event):
    """The model answered once, in one iteration of a turn (the processing of one input); `text` is the complete answer.

    A turn that is restarted after a crash reads the answer here instead of asking the model again.
    """

    turn_id: str
    iteration: int
    text: Personal[str]
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    prose: bool = False
    user: int | None = None
    """The employee for whom the model was asked, from whichever account: budgets count people, not accounts."""
    month: int = 0
    """The month in that person's time zone, such as 202611: the budget that is charged."""
    later: ClassVar[frozenset[str]] = frozenset({"provider", "failed_before", "calls", "reservation"})
    provider: str = ""
    """The provider that answered; `failed_before` are those that were asked first and gave no answer."""
    failed_before: list[str] = Field(default_factory=list)
    calls: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    """The calls of tools in the answer, each as {id, name, arguments, problem}."""
    reservation: str = ""
    """The reservation of the `ModelAsked` to which this is the answer."""


class ModelFailed(Event):
    """The model was unreachable or its answer had the wrong format."""

    turn_id: str
    iteration: int
    reason: Personal[str]
    later: ClassVar[frozenset[str]] = frozenset({"reservation", "model", "prompt_tokens", "completion_tokens", "user", "month"})
    reservation: str = ""
    model: str = ""
    """The model whose answer could not be used and was paid all the same; "" if there was no answer."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    user: int | None = None
    """The employee whose budget pays for the tokens; `month` is the month of that budget."""
    month: int = 0


class PlanRecorded(Event):
    """The model proposed steps (calls) in one of its answers during a turn (the processing of one input).

    `mode` is the safety mode that applied: shadow (nothing runs), canary (reads and safe creates run) or full.
    """

    turn_id: str
    iteration: int
    mode: str
    steps: Personal[list[dict[str, Any]]]
    """The steps as submitted, with names resolved. A restarted turn continues with exactly these."""
    executed: bool = True
    targets: Personal[list[str]] = Field(default_factory=list)
    later: ClassVar[frozenset[str]] = frozenset({"message"})
    message: Personal[dict[str, Any]] = Field(default_factory=dict)
    """What the message orders, as stored `MessageFacts`, and how many changes the turn had made before: a rehearsal judges by the same."""


class NameAsked(Event):
    """A person was asked which record a name means, because several match. After the choice the recorded plan continues."""

    turn_id: str
    question_id: str
    iteration: int
    reference: Personal[str]
    options: Personal[list[dict[str, Any]]]
    text: Personal[str]
    """What the person had written; the turn continues with it."""
    answer: Personal[str] = ""
    """The model's answer with the waiting plan; it is parsed again, and the model is not asked again."""
    resolved: Personal[dict[str, Any]] = Field(default_factory=dict)
    ask: Personal[dict[str, Any]] = Field(default_factory=dict)
    """The question itself as a notice (code, args)."""
    prose: bool = False
    later: ClassVar[frozenset[str]] = frozenset({"message"})
    message: Personal[dict[str, Any]] = Field(default_factory=dict)
    """What the message orders, as stored `MessageFacts`: the turn that continues is judged by the same."""
    labels: Personal[list[str]] = Field(default_factory=list)
    """Label texts from the portal that the asking turn has read; the turn that continues keeps them, so that taint is still found."""


class NameChosen(Event):
    """A person answered the question of a NameAsked event. The choice only names a record, it approves nothing."""

    turn_id: str
    question_id: str
    reference: Personal[str]
    value: Personal[Any]
    label: Personal[str] = ""


class StepRefused(Event):
    """The gate, which checks every call before it is made, refused a step (a call that the model proposed); nothing was sent."""

    turn_id: str
    slot: str
    method: str
    params: Personal[dict[str, Any]]
    code: str
    detail: Personal[str] = ""
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Arguments of the message `code`, to report the refusal after a restart."""


class TurnFinished(Event):
    """A turn (the processing of one input) ended. `history` is the text about it that later prompts may repeat, "" for none."""

    turn_id: str
    reason: Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed", "budget"]
    text: Personal[str] = ""
    history: Personal[str] = ""
    next_planned_actions: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    targets: Personal[list[str]] = Field(default_factory=list)
    """Records that the person named, clicked or created in this turn ("deal:481"): later turns may trust them."""
    later: ClassVar[frozenset[str]] = frozenset(
        {"lists", "goes_on", "asker", "joined_slots", "engine", "resumed", "provenance", "is_foreign", "acted", "rules"}
    )
    is_foreign: bool = False
    """Whether `history` may quote free text of others, so that later prompts fence it."""
    acted: bool = False
    """Whether it has made a change, or proposed one on a card."""
    rules: int = 0
    """The rules of consent that the people of the conversation know from now on."""
    lists: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    """The lists that the person saw in the answer, see `state.model.shown_lists`; markers in `history` name their places."""
    goes_on: bool = False
    """Whether the turn waits for cards and goes on when the last of them is decided."""
    asker: Personal[dict[str, Any]] = Field(default_factory=dict)
    """The person with whose rights it goes on, as a stored `Actor`; empty if it does not."""
    joined_slots: dict[str, str] = Field(default_factory=dict)
    """Steps for whose calls a card was open already: their place in the turn's plans → the place of the step that led to the card."""
    engine: str = ""
    """The engine of the turn, with which it goes on if it does; "" for the default one."""
    resumed: bool = False
    """Whether this is the end of a part after the cards, so that the turn has ended before and is counted already."""
    provenance: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Where the words of its next step come from, as a stored `Provenance`; empty if it does not go on."""


class TurnResumed(Event):
    """A turn that had ended with cards goes on, because a person has decided the last of them."""

    turn_id: str


class ConversationCleared(Event):
    """A person sent `/new`: the model forgets goals, history and the records it worked on; open confirmation cards stay."""

    by: str


def trim_history(state: State) -> None:
    """Cut a history that has grown too long to its last ten turns.

    The first line that stays is a message of the person, if there is one.
    """
    _trim_lines(state.history)


def _trim_lines(lines: list[HistoryLine]) -> None:
    if len(lines) <= MAX_HISTORY:
        return
    first = len(lines) - KEEP_HISTORY
    del lines[: next((at for at in range(first, len(lines)) if lines[at].role == "user"), first)]


def _add_line(state: State, engine: str, line: HistoryLine) -> None:
    """Add a line to the conversation, or to the history of an engine that has one of its own."""
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
    if data["text"]:
        _add_line(state, "", _build_line(data, ts))
    state.turn = OpenTurn.create(turn_id=data["turn_id"], started=ts)


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
    """Keep what the end of a turn changes in the conversation: the lists that were shown, what is planned, and the records to trust."""
    shown = [ShownList.from_stored(one) for one in lists]
    last = find_last_shown(shown)
    state.last_shown, state.last_asked = last.join(state.last_shown) if last else state.last_shown, find_question(shown)
    if data.get("next_planned_actions"):
        decided = [card for card in state.agent.confirmations.values() if card.status not in OPEN_STATUSES]  # while the turn went on
        wanted = [item for item in data["next_planned_actions"] if not any(is_step_of(item, card) for card in decided)]
        state.agent.next_planned_actions = wanted
    elif data["reason"] == "stopped":
        planned = state.agent.next_planned_actions
        state.agent.next_planned_actions = [item for item in planned if not item.get("slot", "").startswith(f"{data['turn_id']}/")]
    if state.question and state.question.chosen_in == data["turn_id"]:
        state.question = None
    targets = data.get("targets", ())
    known = [item for item in state.trusted if item not in targets]
    state.trusted = [*known, *targets][-KEEP_TRUSTED:]


def _find_own_history(state: State, data: dict[str, Any]) -> str:
    """Return the engine to whose own history the turn belongs; "" for the conversation."""
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
    state.last_shown = state.last_asked = None


FOLDS: Final[dict[str, Fold]] = {
    "MessageReceived": _fold_message,
    "PlanRecorded": _fold_plan,
    "NameAsked": _fold_question,
    "NameChosen": _fold_choice,
    "TurnFinished": _fold_turn_end,
    "TurnResumed": _fold_resumption,
    "ConversationCleared": _fold_clearing,
}
