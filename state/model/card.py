from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from state.stored import JsonObject, Stored

CardStatus = Literal["requested", "approved", "denied", "expired", "superseded", "executed", "refused", "unknown"]
OPEN_STATUSES = frozenset({"requested", "approved", "unknown"})
"""Such a card always stays in the state: its call waits, runs, or may have run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Stored):
    """If the journal lost the request, only the fields of the decision's event are set."""

    confirmation_id: str
    status: CardStatus = "requested"
    effect_id: str = ""
    method: str = ""
    params: JsonObject = field(default_factory=dict)
    fingerprint: str = ""
    essence: str = ""
    """The fingerprint without what makes every add unique."""
    call_class: str = ""
    comment: str = ""
    turn_id: str = ""
    slot: str = ""
    """Its step's place in the model's plan: "<turn>/<iteration>/<step>"."""
    requested_by: str = ""
    """A person's key: "tg:1007"."""
    requested_by_name: str = ""
    requested_by_user: int | None = None
    requested_at: str = ""
    expires_at: str = ""
    nonce: str = ""
    """Repeated by a decision, as proof that it was made on this card."""
    taps: int = 1
    """Clicks that approve it."""
    four_eyes: bool = False
    """Whether somebody else than the requester has to approve."""
    lead: bool = False
    """Whether a lead (head of sales) has to approve."""
    told: Sequence[str] = ()
    """Private chats of the leads who saw the card."""
    told_names: Sequence[str] = ()
    preview: JsonObject = field(default_factory=dict)
    """What people see, built by `orchestrator.gate.preview.preview`."""
    reasons: Sequence[JsonObject] = ()
    before: Mapping[str, JsonObject] = field(default_factory=dict)
    """Values before the change, by record ("deal:481")."""
    provenance: JsonObject = field(default_factory=dict)
    next_steps: Sequence[JsonObject] = ()
    covers: Sequence[JsonObject] = ()
    opened: Sequence[str] = ()
    """Keys of the people who opened its hidden part."""
    via: str = ""
    reason: str = ""
    why: str = ""
    """Why it was superseded."""
    by: str = ""
    """The confirmation that replaced this one."""
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
    code: str = ""
    args: JsonObject = field(default_factory=dict)
    """Those of `code` or `why`."""
    commands: Sequence[JsonObject] = ()
    unchanged: Sequence[str] = ()
    """Though the portal reported success."""
    now: Mapping[str, str] = field(default_factory=dict)
    """In words, what fields of `unchanged` hold that changed to another value."""
    created: str = ""
    """"deal:512"."""
    files: JsonObject = field(default_factory=dict)
    """Kept of what the call took away, for an undo."""

    hidden_from: Sequence[str] = ()
    """The leads who do not see this step. This and the next four are never stored."""
    undo_until: str = ""
    undo_by_lead: bool = False
    undone_at: str = ""
    undone_by: str = ""

    @property
    def is_waiting(self) -> bool:
        return self.status == "requested"

    @property
    def is_known(self) -> bool:
        return self.has("preview")

    @property
    def has_call(self) -> bool:
        return self.has("params")

    def find_time(self, status: str) -> str:
        """Return ISO time, "" for never."""
        return str(getattr(self, f"{status}_at", ""))


NO_CARD = Card(confirmation_id="")
