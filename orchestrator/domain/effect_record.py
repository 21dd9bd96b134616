"""What the effects table stores of one effect, as far as it is told to people: the call, who asked for it, and when it began.

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
    """The records it is about, by kind and number."""
    commands: Sequence["StoredCall"] = ()

    @property
    def leaves(self) -> "Sequence[StoredCall]":
        """The commands of a batch, or the call itself."""
        return self.commands or [self]


class EffectRecord(View):
    """One effect; after an erasure there is no call and nobody's name or words."""

    call: StoredCall | None = None
    requested_by: str = ""
    approved_by: str = ""
    actor: JsonObject = Field(default_factory=dict)
    """The requester, for a call that waited for a decision."""
    slot: str = ""
    started_at: str = ""
    before: Mapping[str, JsonObject | None] = Field(default_factory=dict)
    """The records before the change: "deal:481" → its fields."""
    named: JsonObject = Field(default_factory=dict)
    """The arguments of the sentence that names the call."""


class EffectOutcome(View):
    """The outcome of an effect as the effects table stores it, from `EffectRow.outcome`."""

    status: str = ""
    created: str = ""
    """The record that the call created, for example "deal:481"."""
    commands: Sequence[JsonObject] = ()
    """Of a batch, as `CommandReport`."""
    reason: Notice | None = None
    """What the person was told."""
