"""The base class of events and every event of the core: past tense, frozen, versioned. To add one, see CONTRIBUTING.md, "a new event".

Fields that may hold what people wrote are `Personal` and are encrypted when stored; a class with an undecided field cannot be defined. How
events are stored and read is in `state/events/codec.py`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from state.events import personal
from state.events.personal import Personal

type_names: dict[str, type["Event"]] = {}


class Event(BaseModel):
    """Something that happened in a stream. `V` is the version of its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
    V: ClassVar[int] = 1
    blanks: ClassVar[Mapping[str, Any]] = {}
    """The values of its personal fields when they are missing in the stored data."""
    models: ClassVar[tuple[str, ...]] = ()
    """Names of its fields that are pydantic models."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Register the class by its name. Raises TypeError if a field is neither marked personal nor known to be clear."""
        super().__pydantic_init_subclass__(**kwargs)
        for name in personal.list_undecided(cls.model_fields):
            raise TypeError(f"{cls.__name__}.{name}: mark it Personal, or list it as CLEAR if nobody's words can ever be in it")
        cls.blanks = personal.build_blanks(cls.model_fields)
        cls.models = tuple(
            name
            for name, field in cls.model_fields.items()
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        )
        type_names[cls.__name__] = cls


class StateChanges(BaseModel):
    """What a call changed in the agent state; computed by the performer, so that the fold needs no knowledge of the portal."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
    objects: dict[str, int | None] = Field(default_factory=dict)
    links: dict[str, list[str]] = Field(default_factory=dict)
    done: str = ""
    bindings: list[dict[str, str]] | None = None
    bound: list[dict[str, str]] = Field(default_factory=list)
    unbound: list[dict[str, str]] = Field(default_factory=list)


class MessageReceived(Event):
    """A person's input started a turn."""

    turn_id: str
    text: Personal[str]
    origin: Literal["typed", "choice", "button", "portal", "voice"] = "typed"
    quoted: Personal[str] = ""
    """Text of somebody else that was forwarded or pasted along; treated as prose."""
    answers: str = ""
    """The id of the question that this input answers, if it is a choice."""
    ref: int = 0
    """The messenger's number of the message, or of the first of several."""


class ModelAnswered(Event):
    """The model's complete answer in one iteration; a restarted turn reads it here instead of asking the model again."""

    turn_id: str
    iteration: int
    text: Personal[str]
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    prose: bool = False
    user: int | None = None
    """The employee for whom the model was asked, whatever the account: budgets count people."""
    month: int = 0
    """The month in that person's time zone, such as 202611: the budget that is charged."""


class ModelFailed(Event):
    """The model was unreachable or its answer had the wrong format."""

    turn_id: str
    iteration: int
    reason: Personal[str]


class PlanRecorded(Event):
    """The steps of one iteration as the model wrote them, with the mode in which they were evaluated."""

    turn_id: str
    iteration: int
    mode: str
    steps: Personal[list[dict[str, Any]]]
    """The steps as submitted, with names resolved. A restarted turn continues with exactly these."""
    executed: bool = True
    targets: Personal[list[str]] = Field(default_factory=list)


class NameAsked(Event):
    """A name in the plan matches several records; the person chooses one and the recorded plan continues."""

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
    labels: Personal[list[str]] = Field(default_factory=list)
    """The taint labels of the asking turn: answering the question must not remove them."""


class NameChosen(Event):
    """The person answered a NameAsked. The choice names a record; it approves nothing."""

    turn_id: str
    question_id: str
    reference: Personal[str]
    value: Personal[Any]
    label: Personal[str] = ""


class StepRefused(Event):
    """The gate refused a step; nothing was sent."""

    turn_id: str
    slot: str
    method: str
    params: Personal[dict[str, Any]]
    code: str
    detail: Personal[str] = ""
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Arguments of the message `code`, to report the refusal after a restart."""


class ConfirmationRequested(Event):
    """A card was sent: one exact call waits for one decision of a person."""

    confirmation_id: str
    effect_id: str
    turn_id: str
    slot: str
    nonce: str
    fingerprint: str
    essence: str
    """The fingerprint without the marks that make each add unique: equal requests have the same essence."""
    method: str
    call_class: str
    params: Personal[dict[str, Any]]
    before: Personal[dict[str, Any]] = Field(default_factory=dict)
    preview: Personal[dict[str, Any]] = Field(default_factory=dict)
    reasons: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    comment: Personal[str] = ""
    proposed_by: str = "crm_agent"
    requested_by: str
    requested_by_name: Personal[str] = ""
    requested_at: str
    expires_at: str
    taps: int = 1
    four_eyes: bool = False
    """A person with role lead or admin other than the requester must approve."""
    lead: bool = False
    """A person with role lead or admin must approve."""
    told: list[str] = Field(default_factory=list)
    """The private chats of the leads to whom the card is also shown."""
    told_names: Personal[list[str]] = Field(default_factory=list)
    requested_by_user: int | None = None
    """The employee who asked: nobody may approve their own request through another account."""
    policy: str = ""
    """The policy that requires the confirmation."""
    replaces: str = ""
    provenance: Personal[dict[str, Any]] = Field(default_factory=dict)


class ConfirmationApproved(Event):
    """A person approved this exact call. Valid for a single use."""

    confirmation_id: str
    effect_id: str
    approved_by: str
    approved_by_name: Personal[str] = ""
    approved_at: str
    via: str


class ConfirmationDenied(Event):
    """A person denied this call, or the model did, which may only deny."""

    confirmation_id: str
    effect_id: str
    essence: str
    denied_by: str
    denied_by_name: Personal[str] = ""
    denied_at: str
    via: str
    reason: Personal[str] = ""
    turn_id: str = ""
    method: str = ""
    params: Personal[dict[str, Any]] = Field(default_factory=dict)


class DecisionRefused(Event):
    """A decision sent through the HTTP API was rejected; `turn_id` is the input that brought it."""

    confirmation_id: str
    effect_id: str = ""
    by: str
    approve: bool
    via: str
    code: str
    turn_id: str


class ConfirmationExpired(Event):
    """Nobody decided in time."""

    confirmation_id: str
    effect_id: str
    expired_at: str


class ConfirmationSuperseded(Event):
    """The card no longer matches the portal or the request; `by` is the card that replaced it, if any."""

    confirmation_id: str
    effect_id: str
    why: str
    by: str = ""


class CallStarted(Event):
    """The durable intent of a call, stored before anything is sent."""

    effect_id: str
    turn_id: str
    slot: str
    kind: str = "bitrix"
    method: str
    call_class: str
    params: Personal[dict[str, Any]]
    fingerprint: str
    requested_by: str
    approved_by: str = ""
    confirmation_id: str = ""
    proposed_by: str = "crm_agent"
    essence: str = ""
    policy: str = ""
    """The policy that allows the call."""
    requested_by_user: int | None = None
    """The employee who asked, whatever the account: the caps count people."""
    writes: int = 1
    """The number of changes the call makes: for a batch, the number of commands that are not reads."""
    before: Personal[dict[str, Any]] = Field(default_factory=dict)
    """The record before the change, so that reconciliation after a crash can tell "done" from "not done"."""


class CallSucceeded(Event):
    """The portal answered the call with success."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Set only for reads, which have no CallStarted."""
    result: Personal[Any] = None
    result_blob: Personal[str] = ""
    total: int | None = None
    sums: Personal[dict[str, str]] = Field(default_factory=dict)
    """Sums by currency over all rows of a list of which `result` holds the first rows."""
    seconds: float = 0.0
    changes: Personal[StateChanges] = StateChanges()
    commands: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    confirmation_id: str = ""
    unchanged: list[str] = Field(default_factory=list)
    """Written fields whose values were unchanged when the record was read back."""
    created: str = ""
    """The record that the call created: "deal:512"."""


class CallRefused(Event):
    """The call is proven not to have happened: never sent, or refused by the portal."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: Personal[dict[str, Any]] = Field(default_factory=dict)
    code: str = ""
    detail: Personal[str] = ""
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Arguments of `code` if it is a message of this program and not an error of the portal."""
    seconds: float = 0.0
    confirmation_id: str = ""


class CallOutcomeUnknown(Event):
    """The call may or may not have happened. It is never repeated automatically; a person is notified."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    detail: Personal[str] = ""
    confirmation_id: str = ""


class OutcomeReconciled(Event):
    """The portal was checked for a call with an unknown outcome; `verdict` says whether it was done."""

    effect_id: str
    verdict: Literal["done", "not_done", "unclear"]
    detail: Personal[str] = ""
    changes: Personal[StateChanges] = StateChanges()
    confirmation_id: str = ""


class TurnFinished(Event):
    """The turn ended. `history` is what later prompts may show of it."""

    turn_id: str
    reason: Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed", "budget"]
    text: Personal[str] = ""
    history: Personal[str] = ""
    next_planned_actions: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    targets: Personal[list[str]] = Field(default_factory=list)
    """Records that the person named, clicked or created in this turn ("deal:481"): later turns may trust them."""


class ConversationCleared(Event):
    """`/new`: goals, history and current objects are reset; open confirmations stay."""

    by: str


class PortalEventReceived(Event):
    """The portal posted that something changed there; the current values are read later."""

    event: str
    target: str = ""
    """"deal:481"; "" if the event is about no watched record."""
    action: Literal["add", "update", "delete", ""] = ""
    ts: int
    member_id: str = ""
    look_at: str = ""
    """The time for which this event scheduled the reading of due records, if it did."""


class PortalLookFailed(Event):
    """The portal could not be read; the due records stay due."""

    reason: Personal[str]
    tries: int
    look_at: str


class RecordsSeen(Event):
    """Changed records were read: their watched values now. Notifications about them were stored in the same commit."""

    records: Personal[dict[str, dict[str, str]]] = Field(default_factory=dict)
    gone: list[str] = Field(default_factory=list)
    """Records that were deleted or may no longer be read."""
    told: list[str] = Field(default_factory=list)
    """The chats that were notified."""
    look_at: str = ""
    """The time of the next scheduled reading, if records are still due."""


class PersonErased(Event):
    """Operations erased everything reachable about a person; `person` stays as the key in records of who decided."""

    person: str
    by: str
    keys: int
    """The number of keys that were deleted, and with them everything encrypted under them."""
    removed: list[str]
    """What was removed: "table: rows", "log: records"."""
    remains: int = 0
    """The number of places where the search afterwards still found something; they were reported to operations."""
