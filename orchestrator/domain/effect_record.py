"""What the effects table stores of one effect, as far as people are told of it: the call, who asked for it, and when it began.

Read it from `EffectRow.call` with `model_validate`. To run the call again, decode it (`orchestrator/gate/call/serialization.py`).
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject


class StoredCall(View):
    """A call, or one command of a batch."""

    kind: str = "bitrix"
    method: str = ""
    params: JsonObject = Field(default_factory=dict)
    entity: str = ""
    targets: Sequence[tuple[str, int]] = ()
    """The records that the call is about, each as kind and number: ("deal", 481)."""
    commands: Sequence["StoredCall"] = ()

    @property
    def leaves(self) -> "Sequence[StoredCall]":
        """The commands of a batch, or the call itself."""
        return self.commands or [self]


class EffectRecord(View):
    """One effect. After an erasure of the person's data `call` is None, and names and words are empty."""

    call: StoredCall | None = None
    requested_by: str = ""
    approved_by: str = ""
    actor: JsonObject = Field(default_factory=dict)
    """The requester as a stored `Actor`, for a call that waited for a decision; {} for other calls."""
    slot: str = ""
    started_at: str = ""
    before: Mapping[str, JsonObject | None] = Field(default_factory=dict)
    """The records before the change: "deal:481" → its fields."""
    named: JsonObject = Field(default_factory=dict)
    """The arguments with which a message to people names the call."""


class EffectOutcome(View):
    """The outcome of an effect as the effects table stores it, from `EffectRow.outcome`."""

    status: str = ""
    created: str = ""
    """The record that the call created, for example "deal:481"; "" if it created none."""
    commands: Sequence[JsonObject] = ()
    """The results of the commands of a batch, each as a stored `CommandReport`."""
    reason: Notice | None = None
    """The message that the person got about the outcome; None if there was none."""
