"""Every event the journal may hold: past tense, frozen, versioned. Adding one: see CONTRIBUTING.md, "a new event".

Fields that may hold what people wrote are `Personal` and are sealed when stored; a class that leaves that open cannot be made. How an
event becomes stored data and is read again stands in `event_data`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from state.events import personal
from state.events.personal import Personal

type_names: dict[str, type["Event"]] = {}


class Event(BaseModel):
    """Something that happened in a stream. `V` is the version of its shape."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
    V: ClassVar[int] = 1
    blanks: ClassVar[Mapping[str, Any]] = {}
    """What its personal fields read as where nothing is told of them."""
    models: ClassVar[tuple[str, ...]] = ()
    """Its fields that are models themselves."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Make the class known under its name; TypeError where nobody decided whether a field is personal."""
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
    """What a call changed in agent_state; worked out by the performer, so that the fold needs no portal knowledge."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
    objects: dict[str, int | None] = Field(default_factory=dict)
    links: dict[str, list[str]] = Field(default_factory=dict)
    done: str = ""
    bindings: list[dict[str, str]] | None = None
    bound: list[dict[str, str]] = Field(default_factory=list)
    unbound: list[dict[str, str]] = Field(default_factory=list)


class MessageReceived(Event):
    """A person's input began a turn."""

    turn_id: str
    text: Personal[str]
    origin: Literal["typed", "choice", "button", "portal", "voice"] = "typed"
    quoted: Personal[str] = ""
    """Forwarded or pasted text of somebody else that came along: prose."""
    answers: str = ""
    """The question this input answers, when it is a choice."""
    ref: int = 0
    """The messenger's number of the message, or of the first of several."""


class ModelAnswered(Event):
    """The model's whole answer to one iteration; a restarted turn reads it here and never asks again."""

    turn_id: str
    iteration: int
    text: Personal[str]
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    prose: bool = False
    user: int | None = None
    """The employee for whom it was asked, whatever the account: budgets count people."""
    month: int = 0
    """The month where that person lives, 202611: to which budget it belongs."""


class ModelFailed(Event):
    """The model was unreachable or broke the format."""

    turn_id: str
    iteration: int
    reason: Personal[str]


class PlanRecorded(Event):
    """The steps of one iteration as the model wrote them, with the mode they were judged in."""

    turn_id: str
    iteration: int
    mode: str
    steps: Personal[list[dict[str, Any]]]
    """As they are submitted: names resolved. A restarted turn goes on with exactly these."""
    executed: bool = True
    targets: Personal[list[str]] = Field(default_factory=list)


class NameAsked(Event):
    """A name in the plan fits several records; the person chooses and the recorded plan goes on."""

    turn_id: str
    question_id: str
    iteration: int
    reference: Personal[str]
    options: Personal[list[dict[str, Any]]]
    text: Personal[str]
    """What the person had written; the turn goes on with it."""
    answer: Personal[str] = ""
    """The model's answer whose plan waits; it is parsed again, the model is not asked again."""
    resolved: Personal[dict[str, Any]] = Field(default_factory=dict)
    ask: Personal[dict[str, Any]] = Field(default_factory=dict)
    """The question itself as a notice (code, args)."""
    prose: bool = False
    labels: Personal[list[str]] = Field(default_factory=list)
    """What the asking turn had read of others: a choice must not wash that off."""


class NameChosen(Event):
    """The person answered a NameAsked. A choice names a record; it approves nothing."""

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
    """Arguments of `code`, for whoever tells of it after a restart."""


class ConfirmationRequested(Event):
    """A card went out: one exact call waits for one decision of a person."""

    confirmation_id: str
    effect_id: str
    turn_id: str
    slot: str
    nonce: str
    fingerprint: str
    essence: str
    """The fingerprint without the marks that make each add unique: the same wish has the same essence."""
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
    """Another person with role lead or admin must approve, not the one who asked."""
    lead: bool = False
    """Somebody with role lead or admin must approve."""
    told: list[str] = Field(default_factory=list)
    """The private chats of the leads to whom it is shown too."""
    told_names: Personal[list[str]] = Field(default_factory=list)
    requested_by_user: int | None = None
    """The employee who asked: nobody approves for themselves under another account."""
    policy: str = ""
    """The policy by which it asks."""
    replaces: str = ""
    provenance: Personal[dict[str, Any]] = Field(default_factory=dict)


class ConfirmationApproved(Event):
    """A person approved this exact call. Single use."""

    confirmation_id: str
    effect_id: str
    approved_by: str
    approved_by_name: Personal[str] = ""
    approved_at: str
    via: str


class ConfirmationDenied(Event):
    """A person (or the model, which may only say no) denied this call."""

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
    """A decision that came over the HTTP API did not count; `turn_id` is the input that brought it."""

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
    """The card no longer fits the world or the wish; `by` is the card that took its place, if any."""

    confirmation_id: str
    effect_id: str
    why: str
    by: str = ""


class CallStarted(Event):
    """The durable intent: stored before anything is sent."""

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
    """The policy by which it may run."""
    requested_by_user: int | None = None
    """The employee who asked, whatever the account: the caps count people."""
    writes: int = 1
    """How many changes it makes: as many as the commands of a batch that are no reads."""
    before: Personal[dict[str, Any]] = Field(default_factory=dict)
    """The record as it was, so that a reconciliation after a crash can tell "done" from "not done"."""


class CallSucceeded(Event):
    """The portal said yes."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Only for reads, which have no CallStarted."""
    result: Personal[Any] = None
    result_blob: Personal[str] = ""
    total: int | None = None
    sums: Personal[dict[str, str]] = Field(default_factory=dict)
    """Sums by currency over all rows of a list of which `result` holds the first."""
    seconds: float = 0.0
    changes: Personal[StateChanges] = StateChanges()
    commands: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    confirmation_id: str = ""
    unchanged: list[str] = Field(default_factory=list)
    """Written fields that a look at the record found as they were."""
    created: str = ""
    """The record that the call made: "deal:512"."""


class CallRefused(Event):
    """The call is proven not to have happened: never sent, or turned down by the portal."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: Personal[dict[str, Any]] = Field(default_factory=dict)
    code: str = ""
    detail: Personal[str] = ""
    args: Personal[dict[str, Any]] = Field(default_factory=dict)
    """Arguments of `code` when it is a sentence of ours and not an error of the portal."""
    seconds: float = 0.0
    confirmation_id: str = ""


class CallOutcomeUnknown(Event):
    """The call may or may not have happened. Never repeated by itself; a person is told."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    detail: Personal[str] = ""
    confirmation_id: str = ""


class OutcomeReconciled(Event):
    """A later look at the portal settled (or did not settle) an unknown outcome."""

    effect_id: str
    verdict: Literal["done", "not_done", "unclear"]
    detail: Personal[str] = ""
    changes: Personal[StateChanges] = StateChanges()
    confirmation_id: str = ""


class TurnFinished(Event):
    """The turn said its last word. `history` is what later prompts may show of it."""

    turn_id: str
    reason: Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed", "budget"]
    text: Personal[str] = ""
    history: Personal[str] = ""
    next_planned_actions: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    targets: Personal[list[str]] = Field(default_factory=list)
    """Records the person named, pressed or created in this turn ("deal:481"): later turns may trust them."""


class ConversationCleared(Event):
    """`/new`: goals, history and current objects begin anew; open confirmations stay."""

    by: str


class PortalEventReceived(Event):
    """The portal posted that something changed there; what it is now is looked up later."""

    event: str
    target: str = ""
    """ "deal:481"; "" for an event about no record that is watched."""
    action: Literal["add", "update", "delete", ""] = ""
    ts: int
    member_id: str = ""
    look_at: str = ""
    """When the look at what is due was set for, if this event set it."""


class PortalLookFailed(Event):
    """The portal could not be read; what is due stays due."""

    reason: Personal[str]
    tries: int
    look_at: str


class RecordsSeen(Event):
    """A look at changed records: their watched values as they are now. Who was told of it went out in the same commit."""

    records: Personal[dict[str, dict[str, str]]] = Field(default_factory=dict)
    gone: list[str] = Field(default_factory=list)
    """Deleted, or not to be read any more."""
    told: list[str] = Field(default_factory=list)
    """The chats that were told."""
    look_at: str = ""
    """When the next look was set for, while something is still due."""


class PersonErased(Event):
    """Ops had everything about a person deleted that they could reach; `person` stays as the number in records of who decided."""

    person: str
    by: str
    keys: int
    """So many keys were deleted, and with them what was sealed under them."""
    removed: list[str]
    """ "table: rows", "log: records"."""
    remains: int = 0
    """Places where the search afterwards still found something; ops were told them."""
