"""Rows of the effects table, for reports and messages. To run a call again, decode it with `orchestrator/gate/call/serialization.py`."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject


class StoredCall(View):
    kind: str = "bitrix"
    method: str = ""
    params: JsonObject = Field(default_factory=dict)
    entity: str = ""
    targets: Sequence[tuple[str, int]] = ()
    commands: Sequence["StoredCall"] = ()

    @property
    def leaves(self) -> "Sequence[StoredCall]":
        """The commands of a batch, or the call itself."""
        return self.commands or [self]


class EffectRecord(View):
    """From `EffectRow.call`. After an erasure `call` is None, and texts are empty."""

    call: StoredCall | None = None
    requested_by: str = ""
    approved_by: str = ""
    actor: JsonObject = Field(default_factory=dict)
    """A stored `Actor`, for a call that waited; else {}."""
    slot: str = ""
    started_at: str = ""
    before: Mapping[str, JsonObject | None] = Field(default_factory=dict)
    """Such as "deal:481" → its fields."""
    named: JsonObject = Field(default_factory=dict)
    is_computed: bool = False


class EffectOutcome(View):
    status: str = ""
    created: str = ""
    """Such as "deal:481"; "" if nothing was created."""
    commands: Sequence[JsonObject] = ()
    reason: Notice | None = None
