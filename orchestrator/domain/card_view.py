"""A confirmation card as people see it: the preview that the gate builds and the journal keeps, and the card as one chat shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from orchestrator.domain.frozen import View
from orchestrator.domain.outcome import CommandReport
from orchestrator.domain.outputs import Notice
from state.card import Card
from state.stored import JsonObject


class PreviewLine(View):
    """One change, in the words of the person who gets the card."""

    field: str = ""
    """The field's code in the portal."""
    name: str = ""
    before: str = ""
    """The present value, "" for none."""
    after: str = ""


class PreviewPart(View):
    """One record and what a call changes in it."""

    verb: str = ""
    """add, update, delete, batch, or the last word of an action's method."""
    entity: str = ""
    id: int | str | None = None
    title: str = ""
    url: str = ""
    made_url: str = ""
    """For a record that the call creates: the address of its page with {id} in place of the number."""
    lines: Sequence[PreviewLine] = ()
    key: str = ""
    """The name of the command in its batch; "" for a single call."""
    method: str = ""
    """The method of the command; "" for a single call."""


class Preview(PreviewPart):
    """The preview of a call: of one record, or with `items` of a batch."""

    items: Sequence[PreviewPart] = ()
    count: int = 1
    sum: str = ""
    """The total of a batch's sums, formatted."""
    mode: str = ""
    """The safety mode in which the call was planned, where it was none that writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """A card as one chat shows it: the body of its row in the outbox, read."""

    card: Card
    preview: Preview
    reasons: Sequence[Notice]
    """Why it asks."""
    commands: Sequence[CommandReport]
    """Of a batch that ran: what became of each command."""
    stage: int = 1
    """2 where the first of two taps was made."""
    home: str = ""
    """The session that the card belongs to, on the copy for a lead; "" in that session itself."""
    topic: str = ""
    """The session of a card in a group's topic."""

    @classmethod
    def from_card(cls, card: Card, *, stage: int = 1, home: str = "") -> Self:
        """Return the view of a card; raises pydantic's error if its preview, reasons or reports are malformed."""
        return cls(
            card=card,
            preview=Preview.model_validate(card.preview or {}),
            reasons=[Notice.model_validate(reason) for reason in card.reasons or ()],
            commands=[CommandReport.model_validate(report) for report in card.commands or ()],
            stage=stage,
            home=home,
        )

    @classmethod
    def from_body(cls, body: JsonObject) -> Self:
        """Return the view that the body of an outbox row of kind "card" or "details" stores."""
        return cls.from_card(Card.from_stored(body), stage=body.get("stage") or 1, home=body.get("home") or "")

    @property
    def is_waiting_for_lead(self) -> bool:
        """Whether somebody other than the reader decides: the requester sees the card of a call that a lead must approve."""
        return bool(self.card.told_names) and not self.home

    @property
    def is_second_tap_due(self) -> bool:
        """Whether the first of two taps was made."""
        return self.stage == 2  # noqa: PLR2004 - the second of two taps
