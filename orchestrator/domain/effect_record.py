"""Typed views of a row of the effects table, for reports and messages: the call, who asked for it, when it began, and its outcome.

`EffectRecord.model_validate(row.call)` reads one. A call that is to be run again must be decoded with
`orchestrator/gate/call/serialization.py` in place of these views.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject


class StoredCall(View):
    """A call to the portal or another service as the effects table stores it, or one command of a batch."""

    kind: str = "bitrix"
    method: str = ""
    params: JsonObject = Field(default_factory=dict)
    entity: str = ""
    targets: Sequence[tuple[str, int]] = ()
    """The records that the call is about, each as kind and number: ("deal", 481)."""
    commands: Sequence["StoredCall"] = ()

    @property
    def leaves(self) -> "Sequence[StoredCall]":
        """The single calls: the commands of a batch, or the call itself if it is no batch."""
        return self.commands or [self]


class EffectRecord(View):
    """One effect as the effects table stores it, from `EffectRow.call`: the call, the requester and the time.

    After the requester's data was erased, `call` is None, and names and texts are empty.
    """

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
    is_computed: bool = False
    """See `Effect.is_computed`."""


class EffectOutcome(View):
    """The outcome of an effect as the effects table stores it, from `EffectRow.outcome`."""

    status: str = ""
    created: str = ""
    """The record that the call created, for example "deal:481"; "" if it created none."""
    commands: Sequence[JsonObject] = ()
    """The results of the commands of a batch, each as a stored `CommandReport`."""
    reason: Notice | None = None
    """The message that the person got about the outcome; None if there was none."""
