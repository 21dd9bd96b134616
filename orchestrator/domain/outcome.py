from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from orchestrator.domain.frozen import Frozen, View
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject

ALREADY_SO: Final = frozenset({"gate-already-so", "came-back-done"})
"""The record holds the values, or the call ran before the backup."""
COMPUTED_CHANGED: Final = "computed-changed"
"""A computed value's record has changed, so the approved call was not made."""


class CommandReport(View):
    key: str
    method: str
    status: Literal["success", "error", "not_run", "unknown"]
    error: str = ""


class Outcome(Frozen):
    """ "unknown": nobody knows whether the call happened, a person must check."""

    status: Literal["succeeded", "refused", "unknown", "planned"]
    effect_id: str
    method: str
    call_class: str = ""
    result: object = None
    total: int | None = None
    sums: Mapping[str, str] | None = None
    reason: Notice | None = None
    detail: str = ""
    """English, for the model and operations staff."""
    commands: tuple[CommandReport, ...] = ()
    call: JsonObject = Field(default_factory=dict)
    """As checked and sent."""
    entity: str = ""
    created: str = ""
    unchanged: tuple[str, ...] = ()
    """Fields unchanged although the portal reported success."""
    foreign_text: bool = False
    """`detail` or `commands` hold text of the portal, maybe of strangers: the gate then trusts the turn less."""
    is_form: bool = False
    """Refused as wrong in itself, not by a person or a rule."""
    repeat_of: str = ""
    """The effect of this turn that did the same."""
    decided: str = ""
    """For the model: "approved by Анна"; "" without a card."""
    preview: JsonObject = Field(default_factory=dict)

    @property
    def already(self) -> bool:
        """Not sent, because what it should bring about was there."""
        return self.status == "refused" and self.reason is not None and self.reason.code in ALREADY_SO


class Pending(Frozen):
    """A person must decide; the engine runs the other steps and ends its turn."""

    effect_id: str
    confirmation_id: str
    method: str
    reasons: tuple[Notice, ...] = ()
    notice: Notice | None = None
