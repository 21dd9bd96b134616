"""What the gate returns for an effect: its outcome, or, if a person must decide first, that it waits."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from orchestrator.domain.frozen import Frozen, View
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject

ALREADY_SO: Final = frozenset({"gate-already-so", "came-back-done"})
"""The reasons of refusals that say so: the record holds the values, or the call ran before the bot was restored from a backup."""
COMPUTED_CHANGED: Final = "computed-changed"
"""The reason why an approved call was not made whose values were computed from a record that has changed since."""


class CommandReport(View):
    """The result of one command of a batch (S004-71); `key` is the command's name in the batch."""

    key: str
    method: str
    status: Literal["success", "error", "not_run", "unknown"]
    error: str = ""


class Outcome(Frozen):
    """The outcome of an effect that the gate has handled: a call that ran, was refused or was only planned.

    Status "unknown" means that nobody knows whether the call happened, so a person must check.
    """

    status: Literal["succeeded", "refused", "unknown", "planned"]
    effect_id: str
    method: str
    call_class: str = ""
    result: object = None
    total: int | None = None
    sums: Mapping[str, str] | None = None
    """Sums by currency ("RUB" → "1200000.50") over all `total` rows, of which `result` holds only the first ones; empty if unavailable."""
    reason: Notice | None = None
    detail: str = ""
    """An English sentence for the model and for operations staff."""
    commands: tuple[CommandReport, ...] = ()
    call: JsonObject = Field(default_factory=dict)
    """The exact parameters of the call that the gate checked and that were sent."""
    entity: str = ""
    """The kind of record that the call is about, for example "deal"."""
    created: str = ""
    """The record that the call created, for example "deal:481"; "" if it created none."""
    unchanged: tuple[str, ...] = ()
    """Fields that the portal left unchanged although it reported success; `reason` then tells the person so."""
    foreign_text: bool = False
    """Whether `detail` or `commands` contain texts from the portal.

    Texts from the portal may be written by strangers: once the model has read them, the gate trusts the turn less.
    """
    is_form: bool = False
    """Whether it was refused because it is wrong as it is written, whoever asks for it: no person and no rule decided about it."""
    repeat_of: str = ""
    """The effect of this turn that did the same already, so that nothing was sent for this one; otherwise ""."""
    decided: str = ""
    """For the model: who decided the card of the call, as "approved by Анна" or "denied by Анна"; "" for a call without a card."""
    preview: JsonObject = Field(default_factory=dict)
    """What the confirmation card of a planned call would have shown."""

    @property
    def already(self) -> bool:
        """Whether the call was not sent because what it should bring about was there already: it ran before, or changes nothing."""
        return self.status == "refused" and self.reason is not None and self.reason.code in ALREADY_SO


class Pending(Frozen):
    """What the gate returns for an effect about which a person must decide first, on a confirmation card.

    The engine still runs the steps that need no decision, and then ends its turn.
    """

    effect_id: str
    confirmation_id: str
    method: str
    reasons: tuple[Notice, ...] = ()
    notice: Notice | None = None
    """An extra message next to the card, for a card that has been waiting since an earlier request; otherwise None."""
