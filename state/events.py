"""Every event the journal may hold: past tense, frozen, versioned. Adding one: see CONTRIBUTING.md, "a new event".

A version newer than ours is refused, an older one is upcast when read; the stored bytes are never rewritten.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

type_names: dict[str, type["Event"]] = {}


class UnknownEvent(ValueError):
    """The journal holds an event that this version of the program does not know."""


class Event(BaseModel):
    """Something that happened in a stream. `V` is the version of its shape."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
    V: ClassVar[int] = 1

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make the class known under its name."""
        super().__init_subclass__(**kwargs)
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
    text: str
    origin: Literal["typed", "choice", "button", "portal"] = "typed"
    quoted: str = ""
    """Forwarded or pasted text of somebody else that came along: prose."""
    answers: str = ""
    """The question this input answers, when it is a choice."""


class ModelAnswered(Event):
    """The model's whole answer to one iteration; a restarted turn reads it here and never asks again."""

    turn_id: str
    iteration: int
    text: str
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    prose: bool = False


class ModelFailed(Event):
    """The model was unreachable or broke the format."""

    turn_id: str
    iteration: int
    reason: str


class PlanRecorded(Event):
    """The steps of one iteration as the model wrote them, with the mode they were judged in."""

    turn_id: str
    iteration: int
    mode: str
    steps: list[dict[str, Any]]
    """As they are submitted: names resolved. A restarted turn goes on with exactly these."""
    executed: bool = True
    targets: list[str] = Field(default_factory=list)


class NameAsked(Event):
    """A name in the plan fits several records; the person chooses and the recorded plan goes on."""

    turn_id: str
    question_id: str
    iteration: int
    reference: str
    options: list[dict[str, Any]]
    text: str
    """What the person had written; the turn goes on with it."""
    answer: str = ""
    """The model's answer whose plan waits; it is parsed again, the model is not asked again."""
    resolved: dict[str, Any] = Field(default_factory=dict)
    ask: dict[str, Any] = Field(default_factory=dict)
    """The question itself as a notice (code, args)."""
    prose: bool = False
    labels: list[str] = Field(default_factory=list)
    """What the asking turn had read of others: a choice must not wash that off."""


class NameChosen(Event):
    """The person answered a NameAsked. A choice names a record; it approves nothing."""

    turn_id: str
    question_id: str
    reference: str
    value: Any
    label: str = ""


class StepRefused(Event):
    """The gate refused a step; nothing was sent."""

    turn_id: str
    slot: str
    method: str
    params: dict[str, Any]
    code: str
    detail: str = ""


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
    params: dict[str, Any]
    before: dict[str, Any] = Field(default_factory=dict)
    preview: dict[str, Any] = Field(default_factory=dict)
    reasons: list[dict[str, Any]] = Field(default_factory=list)
    comment: str = ""
    proposed_by: str = "crm_agent"
    requested_by: str
    requested_by_name: str = ""
    requested_at: str
    expires_at: str
    taps: int = 1
    four_eyes: bool = False
    """Another person with role lead or admin must approve, not the one who asked."""
    replaces: str = ""
    provenance: dict[str, Any] = Field(default_factory=dict)


class ConfirmationApproved(Event):
    """A person approved this exact call. Single use."""

    confirmation_id: str
    effect_id: str
    approved_by: str
    approved_by_name: str = ""
    approved_at: str
    via: str


class ConfirmationDenied(Event):
    """A person (or the model, which may only say no) denied this call."""

    confirmation_id: str
    effect_id: str
    essence: str
    denied_by: str
    denied_by_name: str = ""
    denied_at: str
    via: str
    reason: str = ""
    turn_id: str = ""
    method: str = ""
    params: dict[str, Any] = Field(default_factory=dict)


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
    params: dict[str, Any]
    fingerprint: str
    requested_by: str
    approved_by: str = ""
    confirmation_id: str = ""
    proposed_by: str = "crm_agent"
    essence: str = ""
    before: dict[str, Any] = Field(default_factory=dict)
    """The record as it was, so that a reconciliation after a crash can tell "done" from "not done"."""


class CallSucceeded(Event):
    """The portal said yes."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: dict[str, Any] = Field(default_factory=dict)
    """Only for reads, which have no CallStarted."""
    result: Any = None
    result_blob: str = ""
    total: int | None = None
    sums: dict[str, str] = Field(default_factory=dict)
    """Sums by currency over all rows of a list of which `result` holds the first."""
    seconds: float = 0.0
    changes: StateChanges = StateChanges()
    commands: list[dict[str, Any]] = Field(default_factory=list)
    confirmation_id: str = ""
    unchanged: list[str] = Field(default_factory=list)
    """Written fields that a look at the record found as they were."""


class CallRefused(Event):
    """The call is proven not to have happened: never sent, or turned down by the portal."""

    effect_id: str
    turn_id: str
    slot: str
    method: str
    call_class: str
    params: dict[str, Any] = Field(default_factory=dict)
    code: str = ""
    detail: str = ""
    args: dict[str, Any] = Field(default_factory=dict)
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
    detail: str = ""
    confirmation_id: str = ""


class OutcomeReconciled(Event):
    """A later look at the portal settled (or did not settle) an unknown outcome."""

    effect_id: str
    verdict: Literal["done", "not_done", "unclear"]
    detail: str = ""
    changes: StateChanges = StateChanges()
    confirmation_id: str = ""


class TurnFinished(Event):
    """The turn said its last word. `history` is what later prompts may show of it."""

    turn_id: str
    reason: Literal["answered", "waiting", "asked", "limit", "degraded", "planned", "stopped", "failed"]
    text: str = ""
    history: str = ""
    next_planned_actions: list[dict[str, Any]] = Field(default_factory=list)
    targets: list[str] = Field(default_factory=list)
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

    reason: str
    tries: int
    look_at: str


class RecordsSeen(Event):
    """A look at changed records: their watched values as they are now. Who was told of it went out in the same commit."""

    records: dict[str, dict[str, str]] = Field(default_factory=dict)
    gone: list[str] = Field(default_factory=list)
    """Deleted, or not to be read any more."""
    told: list[str] = Field(default_factory=list)
    """The chats that were told."""
    look_at: str = ""
    """When the next look was set for, while something is still due."""


Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(type, version) -> the function that lifts its data to version + 1."""


def upcast(type_name: str, version: int, data: dict[str, Any]) -> dict[str, Any]:
    """`data` in the newest shape of its type; raises UnknownEvent for a type or version of a newer program."""
    cls = type_names.get(type_name)
    if cls is None or version > cls.V:
        msg = f"event {type_name} v{version} was written by a newer version of this program"
        raise UnknownEvent(msg)
    while version < cls.V:
        data = UPCASTERS[type_name, version](data)
        version += 1
    return data


def decode(type_name: str, version: int, data: dict[str, Any]) -> Event:
    """The event behind stored data; raises UnknownEvent as `upcast` does."""
    return type_names[type_name].model_validate(upcast(type_name, version, data))
