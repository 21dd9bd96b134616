"""The types of a session's state, computed from its events.

Only the folds in `state/events` change it, in place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from state.model.card import Card
from state.model.order_state import StandingOrder
from state.model.registry import Registry
from state.model.run_state import RunState
from state.model.schedule_state import Schedule
from state.model.shown_lists import ShownList
from state.stored import JsonObject, Stored

FEATURES = ("daily", "written", "stops", "rules", "reports")
"""Plain JSON that a session has once the feature was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine(Stored):
    """A message as the model's prompt repeats it."""

    role: Literal["user", "assistant"]
    text: str
    quoted: bool = False
    """Whether it quotes, forwards or replies to somebody else's text."""
    ts: str = ""
    turn_id: str = ""
    """"" for none and lines of earlier versions."""
    by: str = ""
    """"" for the bot and lines of earlier versions."""
    is_foreign: bool = False
    """Whether an answer may quote free text of others."""
    acted: bool = False
    """Whether its turn changed something or proposed it on a card."""
    lists: list[JsonObject] = field(default_factory=list)
    """"[[list 2.1]]" in `text` marks the place of each."""

    @property
    def shown_lists(self) -> list[ShownList]:
        return [ShownList.from_stored(one) for one in self.lists]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Stored):
    turn_id: str
    question_id: str
    iteration: int = 1
    reference: str = ""
    options: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    """The request with which the chosen record's turn continues."""
    answer: str = ""
    resolved: dict[str, Any] = field(default_factory=dict)
    ask: dict[str, Any] = field(default_factory=dict)
    """As a notice {code, args}."""
    prose: bool = False
    labels: list[str] = field(default_factory=list)
    message: dict[str, Any] = field(default_factory=dict)
    waiting_steps: dict[str, str] = field(default_factory=dict)
    """See `NameAsked.waiting_steps`."""
    dialogue: dict[str, Any] = field(default_factory=dict)
    ts: str = ""
    chosen_in: str = ""
    """The turn that continues with the choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial(Stored):
    """Kept by the call's essence, so that the same request is recognized."""

    at: str
    by: str = ""
    turn_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedDenial(Stored):
    """A lead's next message until `expires_at` is the reason."""

    confirmation_id: str
    nonce: str
    home: str
    expires_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCall(Stored):
    effect_id: str
    method: str
    ts: str = ""
    essence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownCall(Stored):
    method: str
    ts: str = ""
    confirmation_id: str = ""
    essence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn(Stored):
    turn_id: str
    started: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedTurn(Stored):
    ts: str
    asker: JsonObject
    joined: Sequence[str] = ()
    engine: str = ""
    """"" for the default one."""
    stopped: bool = False
    """By /stop: it does not go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder(Stored):
    due_ts: int
    """Seconds since 1970."""
    text: str = ""
    target: str = ""
    """The record it links to: "deal:481"."""
    status: Literal["waits", "fired"] = "waits"
    ts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardEdit(Stored):
    code: str
    """"" for the choice of the field."""
    by: str
    ask: int
    options: list[dict[str, Any]] = field(default_factory=list)
    """Meanings of an ambiguous answer: {value, label, target}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalState(Stored):
    """Only the portal's own session has it."""

    due: dict[str, dict[str, str]] = field(default_factory=dict)
    """Changed records → {action, ts}, ts that of the first event."""
    seen: dict[str, dict[str, str]] = field(default_factory=dict)
    """Record → its watched values when last read."""
    look_at: str = ""
    tries: int = 0
    told_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener(Stored):
    run: str
    takes: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


def _no_objects() -> dict[str, Any]:
    return {"current_deal_id": None, "current_contact_id": None, "current_company_id": None, "current_task_id": None, "links": {}}


@dataclass(slots=True)
class AgentState:
    """The model's work so far, `agent_state` of S004-13."""

    goals: list[str] = field(default_factory=list)
    done: list[dict[str, Any]] = field(default_factory=list)
    in_progress: list[RunningCall] = field(default_factory=list)
    objects: dict[str, Any] = field(default_factory=_no_objects)
    next_planned_actions: list[JsonObject] = field(default_factory=list)
    confirmations: dict[str, Card] = field(default_factory=dict)
    """All open ones, and the last decided ones in order of decision."""
    event_bindings: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def from_stored(cls, data: JsonObject) -> "AgentState":
        """Raises KeyError or TypeError if `data` is no agent's state."""
        return cls(
            goals=data["goals"],
            done=data["done"],
            in_progress=[RunningCall.from_stored(one) for one in data["in_progress"]],
            objects=data["objects"],
            next_planned_actions=data["next_planned_actions"],
            confirmations={key: Card.from_stored(confirmation) for key, confirmation in data["confirmations"].items()},
            event_bindings=data["event_bindings"],
        )

    def to_stored(self) -> dict[str, Any]:
        return {
            "goals": self.goals,
            "done": self.done,
            "in_progress": [running_call.to_stored() for running_call in self.in_progress],
            "objects": self.objects,
            "next_planned_actions": self.next_planned_actions,
            "confirmations": {key: confirmation.to_stored() for key, confirmation in self.confirmations.items()},
            "event_bindings": self.event_bindings,
        }


@dataclass(slots=True)
class SessionState:
    """A feature's field is None if it was never used."""

    agent: AgentState = field(default_factory=AgentState)
    history: list[HistoryLine] = field(default_factory=list)
    question: Question | None = None
    denied: dict[str, Denial] = field(default_factory=dict)
    unknown: dict[str, UnknownCall] = field(default_factory=dict)
    turn: OpenTurn | None = None
    trusted: list[str] = field(default_factory=list)
    """Records ("deal:481") that people named or clicked, or that turns created."""
    last_shown: ShownList | None = None
    last_asked: ShownList | None = None
    """Options of the question that ended the last turn."""
    portal: PortalState | None = None
    edits: dict[str, CardEdit] | None = None
    reminders: dict[str, Reminder] | None = None
    access: Registry | None = None
    daily: dict[str, int] | None = None
    written: dict[str, dict[str, int]] | None = None
    reasons: dict[str, AwaitedDenial] | None = None
    stops: dict[str, int] | None = None
    """Each person's last /stop, in milliseconds since 1970."""
    rules: int | None = None
    """Which consent people know; None before the first."""
    paused: dict[str, PausedTurn] | None = None
    run: RunState | None = None
    """Only in a run's own stream."""
    schedules: dict[str, Schedule] | None = None
    orders: dict[str, StandingOrder] | None = None
    listening: dict[str, Listener] | None = None
    """By question id, oldest first."""
    reports: dict[str, JsonObject] | None = None
    """By id, the one shown last at the end: {by, question, changes, before}."""
    engine_histories: dict[str, list[HistoryLine]] | None = None
    """Of engines with a history of their own, by name."""

    @classmethod
    def from_stored(cls, data: JsonObject) -> "SessionState":
        """Raises KeyError or TypeError if `data` is no state."""
        question, turn = data["question"], data["turn"]
        return cls(
            agent=AgentState.from_stored(data["agent"]),
            history=[HistoryLine.from_stored(one) for one in data["history"]],
            question=Question.from_stored(question) if question else None,
            denied={key: Denial.from_stored(one) for key, one in data["denied"].items()},
            unknown={key: UnknownCall.from_stored(one) for key, one in data["unknown"].items()},
            turn=OpenTurn.from_stored(turn) if turn else None,
            trusted=data["trusted"],
            last_shown=ShownList.from_stored(data["last_shown"]) if "last_shown" in data else None,
            last_asked=ShownList.from_stored(data["last_asked"]) if "last_asked" in data else None,
            portal=PortalState.from_stored(data["portal"]) if "portal" in data else None,
            edits={key: CardEdit.from_stored(edit) for key, edit in data["edits"].items()} if "edits" in data else None,
            reminders={key: Reminder.from_stored(reminder) for key, reminder in data["reminders"].items()} if "reminders" in data else None,
            access=Registry.from_stored(data["access"]) if "access" in data else None,
            reasons={key: AwaitedDenial.from_stored(reason) for key, reason in data["reasons"].items()} if "reasons" in data else None,
            paused={key: PausedTurn.from_stored(one) for key, one in data["paused"].items()} if "paused" in data else None,
            run=RunState.from_stored(data["run"]) if "run" in data else None,
            schedules={key: Schedule.from_stored(schedule) for key, schedule in data["schedules"].items()} if "schedules" in data else None,
            orders={key: StandingOrder.from_stored(order) for key, order in data["orders"].items()} if "orders" in data else None,
            listening={key: Listener.from_stored(one) for key, one in data["listening"].items()} if "listening" in data else None,
            engine_histories={name: [HistoryLine.from_stored(line) for line in lines] for name, lines in data["engine_histories"].items()}
            if "engine_histories" in data
            else None,
            **{name: data[name] for name in FEATURES if name in data},
        )

    def to_stored(self) -> dict[str, Any]:
        return {
            "agent": self.agent.to_stored(),
            "history": [history_line.to_stored() for history_line in self.history],
            "question": self.question.to_stored() if self.question else None,
            "denied": {key: denial.to_stored() for key, denial in self.denied.items()},
            "unknown": {key: unknown_call.to_stored() for key, unknown_call in self.unknown.items()},
            "turn": self.turn.to_stored() if self.turn else None,
            "trusted": self.trusted,
            **({"last_shown": self.last_shown.to_stored()} if self.last_shown is not None else {}),
            **({"last_asked": self.last_asked.to_stored()} if self.last_asked is not None else {}),
            **({"portal": self.portal.to_stored()} if self.portal is not None else {}),
            **({"edits": {key: edit.to_stored() for key, edit in self.edits.items()}} if self.edits is not None else {}),
            **({"reminders": {key: one.to_stored() for key, one in self.reminders.items()}} if self.reminders is not None else {}),
            **({"access": self.access.to_stored()} if self.access is not None else {}),
            **({"reasons": {key: reason.to_stored() for key, reason in self.reasons.items()}} if self.reasons is not None else {}),
            **({"paused": {key: paused_turn.to_stored() for key, paused_turn in self.paused.items()}} if self.paused is not None else {}),
            **({"run": self.run.to_stored()} if self.run is not None else {}),
            **({"schedules": {key: one.to_stored() for key, one in self.schedules.items()}} if self.schedules is not None else {}),
            **({"orders": {key: one.to_stored() for key, one in self.orders.items()}} if self.orders is not None else {}),
            **({"listening": {key: one.to_stored() for key, one in self.listening.items()}} if self.listening is not None else {}),
            **(
                {"engine_histories": {name: [line.to_stored() for line in lines] for name, lines in self.engine_histories.items()}}
                if self.engine_histories is not None
                else {}
            ),
            **{name: part for name in FEATURES if (part := getattr(self, name)) is not None},
        }

    @property
    def numbered_list(self) -> ShownList | None:
        """The list that "@shown:3" refers to."""
        return self.last_asked or self.last_shown

    @property
    def turn_id(self) -> str:
        """The running turn's id, "" between turns."""
        return self.turn.turn_id if self.turn else ""

    @property
    def cards(self) -> dict[str, Card]:
        return self.agent.confirmations
