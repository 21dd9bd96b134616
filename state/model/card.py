"""The type of a confirmation card in a session's state. A card asks a person to approve or deny one call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from state.stored import JsonObject, Stored

CardStatus = Literal["requested", "approved", "denied", "expired", "superseded", "executed", "refused", "unknown"]
OPEN_STATUSES = frozenset({"requested", "approved", "unknown"})
"""The statuses in which a card always stays in the state: its call waits, runs, or nobody knows whether it ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Stored):
    """One confirmation card with its call, its status and the decision about it.

    If the journal has the decision about the card but not the event that requested the card, only the fields that the decision's event
    contains are set.
    """

    confirmation_id: str
    status: CardStatus = "requested"
    effect_id: str = ""
    method: str = ""
    params: JsonObject = field(default_factory=dict)
    """The exact params that the gate evaluated and that the card shows."""
    fingerprint: str = ""
    """Hash of portal, method and params."""
    essence: str = ""
    """The fingerprint without the marks that make every add unique: two requests for the same thing have the same essence."""
    call_class: str = ""
    comment: str = ""
    turn_id: str = ""
    slot: str = ""
    """The position of the step in the model's plan: "<turn>/<iteration>/<step>"."""
    requested_by: str = ""
    """The key of the person who asked for the call: "tg:1007"."""
    requested_by_name: str = ""
    requested_by_user: int | None = None
    """The number of that person as an employee of the portal."""
    requested_at: str = ""
    expires_at: str = ""
    nonce: str = ""
    """A random text of this card that a decision must repeat, as proof that it was made on the card as it was shown."""
    taps: int = 1
    """How many button clicks approve the call: two for destructive methods and whatever else the gate asks for twice."""
    four_eyes: bool = False
    """Whether another person than the one who asks has to approve."""
    lead: bool = False
    """Whether a lead (head of sales) has to approve."""
    told: Sequence[str] = ()
    """The private chats of the leads (heads of sales) to whom the card was shown."""
    told_names: Sequence[str] = ()
    preview: JsonObject = field(default_factory=dict)
    """The content of the card as people see it, built by `orchestrator.gate.preview.preview`."""
    reasons: Sequence[JsonObject] = ()
    """Why the call needs a confirmation, as notices {code, args}."""
    before: Mapping[str, JsonObject] = field(default_factory=dict)
    """Values before the change, by record: "deal:481" → the fields that the card shows."""
    provenance: JsonObject = field(default_factory=dict)
    next_steps: Sequence[JsonObject] = ()
    """Previews of the steps that follow when the call has created its record: the card shows them, they are submitted afterwards."""
    covers: Sequence[JsonObject] = ()
    """Of these steps, those that the approval of the card covers: {slot, method, params, made}."""
    opened: Sequence[str] = ()
    """The keys of the people who opened the rest of a card that a chat shows only in part."""
    via: str = ""
    """How the card was decided: "button", "text", "http", "model" …"""
    reason: str = ""
    """The reason that a person gave for denying the call."""
    why: str = ""
    """Why the card was superseded: it no longer matched the portal or the request."""
    by: str = ""
    """The id of the confirmation that replaced this one."""
    approved_by: str = ""
    approved_by_name: str = ""
    approved_at: str = ""
    denied_by: str = ""
    denied_by_name: str = ""
    denied_at: str = ""
    expired_at: str = ""
    superseded_at: str = ""
    executed_at: str = ""
    refused_at: str = ""
    unknown_at: str = ""
    detail: str = ""
    """The message of the portal or the gate about the outcome, in English."""
    code: str = ""
    """The code of a refusal."""
    args: JsonObject = field(default_factory=dict)
    """Arguments of `code`, or of `why`."""
    commands: Sequence[JsonObject] = ()
    """For a batch: the outcome of each command, {key, method, status, error}."""
    unchanged: Sequence[str] = ()
    """Fields that the portal left unchanged although it answered with success."""
    created: str = ""
    """The record that the call created: "deal:512"."""

    hidden_from: Sequence[str] = ()
    """The leads (heads of sales) whose copies leave this step of a plan out, as they may not see its records. This and the next four fields
    are only set on a card that is about to be shown, never stored."""
    undo_until: str = ""
    """Until when the call can be undone."""
    undo_by_lead: bool = False
    """Whether only a lead (head of sales) can undo it, because the requester has handed the record away."""
    undone_at: str = ""
    undone_by: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether the card still waits for a decision."""
        return self.status == "requested"

    @property
    def is_known(self) -> bool:
        """Whether the card can be shown: it has its preview, which comes with the event that requested the card."""
        return self.has("preview")

    @property
    def has_call(self) -> bool:
        """Whether the card has the params of its call."""
        return self.has("params")

    def find_time(self, status: str) -> str:
        """Return the time at which the card got the status `status`, as ISO 8601; "" if it never did."""
        return str(getattr(self, f"{status}_at", ""))


NO_CARD = Card(confirmation_id="")
"""Stands for a card that does not exist; all its fields have their defaults."""
