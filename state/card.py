"""A confirmation card as a session's state keeps it: a call that waits for a person, or what became of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from state.stored import JsonObject, Stored

CardStatus = Literal["requested", "approved", "denied", "expired", "superseded", "executed", "refused", "unknown"]
OPEN_STATUSES = frozenset({"requested", "approved", "unknown"})
"""A card in one of these is never forgotten: it waits, runs, or nobody knows what became of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card(Stored):
    """One confirmation. Of a card whose request is not in the journal any more only what its decision says is known."""

    confirmation_id: str
    status: CardStatus = "requested"
    effect_id: str = ""
    method: str = ""
    params: JsonObject = field(default_factory=dict)
    """The exact params that were judged and shown."""
    fingerprint: str = ""
    """Hash of portal, method and params."""
    essence: str = ""
    """Hash of what the call is about, whoever asks: two requests for the same thing have the same one."""
    call_class: str = ""
    comment: str = ""
    turn_id: str = ""
    slot: str = ""
    """The place in the plan: "<turn>/<iteration>/<step>"."""
    requested_by: str = ""
    """The key of the person: "tg:1007"."""
    requested_by_name: str = ""
    requested_by_user: int | None = None
    """Their number as an employee of the portal."""
    requested_at: str = ""
    expires_at: str = ""
    nonce: str = ""
    """What proves that a decision was made on this card as it was shown."""
    taps: int = 1
    """How many presses approve it: two where it cannot be taken back."""
    four_eyes: bool = False
    """Another person than the one who asks has to approve."""
    lead: bool = False
    """A head of sales has to approve."""
    told: Sequence[str] = ()
    """The private chats of the leads to whom it was shown."""
    told_names: Sequence[str] = ()
    preview: JsonObject = field(default_factory=dict)
    """The card as people see it: see `orchestrator.gate.approve.preview`."""
    reasons: Sequence[JsonObject] = ()
    """Why it asks, as notices {code, args}."""
    before: Mapping[str, JsonObject] = field(default_factory=dict)
    """The before-image by record: "deal:481" → the fields shown."""
    provenance: JsonObject = field(default_factory=dict)
    via: str = ""
    """How it was decided: "button", "text", "http", "model" …"""
    reason: str = ""
    """Why a person said no."""
    why: str = ""
    """Why it was superseded."""
    by: str = ""
    """The confirmation that took its place."""
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
    """What the portal or the gate said, in English."""
    code: str = ""
    """The code of a refusal."""
    args: JsonObject = field(default_factory=dict)
    commands: Sequence[JsonObject] = ()
    """Of a batch: what became of each command, {key, method, status, error}."""
    unchanged: Sequence[str] = ()
    """Fields that the portal left as they were although it said yes."""
    created: str = ""
    """The record that the call made: "deal:512"."""

    undo_until: str = ""
    """Until when it can be taken back; these three are set on a card that is to be shown and never stored in the state."""
    undone_at: str = ""
    undone_by: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether somebody may still decide it."""
        return self.status == "requested"

    @property
    def is_known(self) -> bool:
        """Whether its request is in the journal, so that it can be shown."""
        return self.has("preview")

    @property
    def has_call(self) -> bool:
        """Whether the exact call is known."""
        return self.has("params")

    def find_time(self, status: str) -> str:
        """When it came into that status, "" where it never did."""
        return str(getattr(self, f"{status}_at", ""))


NO_CARD = Card(confirmation_id="")
"""In the place of a card that is not there: nobody asked, nothing was decided."""
