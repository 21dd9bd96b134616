"""The types of a session's state, which is computed by applying the session's events in order.

The state holds what the model is told about its work, and the data of each feature, such as reminders. Only the folds in `state/events`
(the functions that apply events) change it, in place; everybody else only reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from state.model.card import Card
from state.model.registry import Registry
from state.model.run_state import RunState
from state.model.schedule_state import Schedule
from state.model.shown_lists import ShownList
from state.stored import JsonObject, Stored

FEATURES = ("daily", "written", "stops", "rules")
"""Parts that are plain JSON data and that a session only has if the feature was used in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine(Stored):
    """One message of the conversation, as it is repeated in the model's prompt."""

    role: Literal["user", "assistant"]
    text: str
    quoted: bool = False
    """Whether the person quoted or forwarded text of somebody else, or replied to it."""
    ts: str = ""
    turn_id: str = ""
    """The turn to which the message belongs; "" for lines of earlier versions and those that belong to no turn."""
    by: str = ""
    """The key of the person who wrote the message; "" for answers of the bot and lines of earlier versions."""
    is_foreign: bool = False
    """Whether an answer of the bot may quote free text of others."""
    acted: bool = False
    """Whether its turn has made a change, or proposed one on a card."""
    lists: list[JsonObject] = field(default_factory=list)
    """The lists that the person saw, as stored; a marker such as "[[list 2.1]]" in `text` names the place of each."""

    @property
    def shown_lists(self) -> list[ShownList]:
        """The lists that the person saw with this message."""
        return [ShownList.from_stored(one) for one in self.lists]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Stored):
    """A question to a person about which record a name means, because the name fits several records."""

    turn_id: str
    question_id: str
    iteration: int = 1
    reference: str = ""
    """The name as the model wrote it: "@deal:Ромашка"."""
    options: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    """What the person had asked for; the turn that gets the choice continues with it."""
    answer: str = ""
    """The model's answer that contains the waiting plan."""
    resolved: dict[str, Any] = field(default_factory=dict)
    ask: dict[str, Any] = field(default_factory=dict)
    """The question as a notice {code, args}."""
    prose: bool = False
    """Whether the turn that asks has read free text of others."""
    labels: list[str] = field(default_factory=list)
    message: dict[str, Any] = field(default_factory=dict)
    """What the message orders, as stored `MessageFacts`."""
    ts: str = ""
    chosen_in: str = ""
    """The turn that continues with the person's choice, "" before it; the question stays until that turn has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial(Stored):
    """The denial of a call, kept so that the same request is recognized later.

    It is stored by the call's essence: a hash of the call without the parts that make every request unique.
    """

    at: str
    by: str = ""
    turn_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedDenial(Stored):
    """A lead (head of sales) clicked "deny with a reason": until `expires_at` their next message is the reason."""

    confirmation_id: str
    nonce: str
    home: str
    expires_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCall(Stored):
    """A call that was started (its event CallStarted is stored) and whose outcome is not stored yet."""

    effect_id: str
    method: str
    ts: str = ""
    essence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownCall(Stored):
    """A call of which nobody knows whether the portal executed it."""

    method: str
    ts: str = ""
    confirmation_id: str = ""
    essence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn(Stored):
    """The turn that is under way, that is, the input that is being processed."""

    turn_id: str
    started: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedTurn(Stored):
    """A turn that ended with cards and goes on when the last of them is decided."""

    ts: str
    asker: JsonObject
    """The person who asked, as a stored `Actor`."""
    joined: Sequence[str] = ()
    """The places of the steps of other turns that led to cards for which this turn waits too."""
    engine: str = ""
    """The engine with which it goes on; "" for the default one."""
    stopped: bool = False
    """Whether the person who asked has said /stop since: it does not go on when its cards are decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder(Stored):
    """A reminder that waits or has fired."""

    due_ts: int
    """Seconds since 1970."""
    text: str = ""
    target: str = ""
    """The record it links to: "deal:481"."""
    status: Literal["waits", "fired"] = "waits"
    ts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardEdit(Stored):
    """A question to a person who edits a card; it waits for the answer."""

    code: str
    """The field whose value was asked for, "" for the choice of the field."""
    by: str
    ask: int
    """The number of the question."""
    options: list[dict[str, Any]] = field(default_factory=list)
    """The meanings to choose from if the answer was ambiguous: {value, label, target}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalState(Stored):
    """What the bot knows about records of the portal (Bitrix24) whose changes it reports to people.

    Only the portal's own session has it.
    """

    due: dict[str, dict[str, str]] = field(default_factory=dict)
    """The records that changed and were not read since → {action, ts}: what happened, and the time of the first event about it."""
    seen: dict[str, dict[str, str]] = field(default_factory=dict)
    """Record → its watched values when it was last read."""
    look_at: str = ""
    tries: int = 0
    told_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener(Stored):
    """A run that waits for an answer which a person types or sends in this chat."""

    run: str
    """The session key of the run: "run:<id>"."""
    takes: list[str] = field(default_factory=list)
    """What may be sent as the answer: "text", "contact", "photo", "document"."""
    answers: list[str] = field(default_factory=list)
    """The people who may answer, by key ("tg:1007")."""


def _no_objects() -> dict[str, Any]:
    return {"current_deal_id": None, "current_contact_id": None, "current_company_id": None, "current_task_id": None, "links": {}}


@dataclass(slots=True)
class AgentState:
    """The model's work in a session so far, which the model is told in each prompt; called `agent_state` in the requirements (S004-13)."""

    goals: list[str] = field(default_factory=list)
    done: list[dict[str, Any]] = field(default_factory=list)
    in_progress: list[RunningCall] = field(default_factory=list)
    objects: dict[str, Any] = field(default_factory=_no_objects)
    next_planned_actions: list[JsonObject] = field(default_factory=list)
    """Steps that the model proposed and that have not run."""
    confirmations: dict[str, Card] = field(default_factory=dict)
    """Cards by id: all open ones and the last decided ones, which are in the order of their decisions."""
    event_bindings: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def from_stored(cls, data: JsonObject) -> "AgentState":
        """Return the agent's state from its JSON data. Raises KeyError or TypeError if `data` is not the data of an agent's state."""
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
        """Return the agent's state as JSON data."""
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
    """The state of one session. A field of a feature, such as `reminders`, is None if the feature was never used in the session."""

    agent: AgentState = field(default_factory=AgentState)
    history: list[HistoryLine] = field(default_factory=list)
    question: Question | None = None
    denied: dict[str, Denial] = field(default_factory=dict)
    """Denials by the essence of the denied call."""
    unknown: dict[str, UnknownCall] = field(default_factory=dict)
    """Calls with an unknown outcome, by effect id."""
    turn: OpenTurn | None = None
    trusted: list[str] = field(default_factory=list)
    """Records that people named or clicked, or that turns created, as "deal:481"."""
    last_shown: ShownList | None = None
    """The list that the person saw last; None before the first one."""
    last_asked: ShownList | None = None
    """The options of the question with which the last turn ended; None if it ended with none, or if the person chose one."""
    portal: PortalState | None = None
    edits: dict[str, CardEdit] | None = None
    reminders: dict[str, Reminder] | None = None
    access: Registry | None = None
    daily: dict[str, int] | None = None
    written: dict[str, dict[str, int]] | None = None
    """The number of changes started, by person and hour."""
    reasons: dict[str, AwaitedDenial] | None = None
    """The denial reasons that are awaited, by the key of the lead."""
    stops: dict[str, int] | None = None
    """The time of each person's last /stop, in milliseconds since 1970."""
    rules: int | None = None
    """The rules of consent that the people of this conversation know: a new number is told with the next answer; None before the first."""
    paused: dict[str, PausedTurn] | None = None
    """The turns that go on when the last card that they wait for is decided, by id."""
    run: RunState | None = None
    """The run itself, if this is the state of a run's stream."""
    schedules: dict[str, Schedule] | None = None
    """The schedules that are shown in this chat and not over, by id."""
    listening: dict[str, Listener] | None = None
    """The runs that wait for an answer in this chat, by the id of their question, oldest first."""
    engine_histories: dict[str, list[HistoryLine]] | None = None
    """The conversations with engines that have a history of their own, by the name of the engine."""

    @classmethod
    def from_stored(cls, data: JsonObject) -> "SessionState":
        """Return the state from the JSON data of a snapshot. Raises KeyError or TypeError if `data` is not a state."""
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
            listening={key: Listener.from_stored(one) for key, one in data["listening"].items()} if "listening" in data else None,
            engine_histories={name: [HistoryLine.from_stored(line) for line in lines] for name, lines in data["engine_histories"].items()}
            if "engine_histories" in data
            else None,
            **{name: data[name] for name in FEATURES if name in data},
        )

    def to_stored(self) -> dict[str, Any]:
        """Return the state as JSON data, for snapshots and the audit log."""
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
        """The list to whose rows "@shown:3" refers: the options of a question that was just asked, else the list shown last."""
        return self.last_asked or self.last_shown

    @property
    def turn_id(self) -> str:
        """The id of the turn (processing of an input) that is under way, "" between turns."""
        return self.turn.turn_id if self.turn else ""

    @property
    def cards(self) -> dict[str, Card]:
        """The confirmation cards by id."""
        return self.agent.confirmations
