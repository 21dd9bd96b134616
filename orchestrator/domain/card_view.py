"""A confirmation card as people see it: the preview of the call, which the gate builds, and the card as it is shown in one chat."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from orchestrator.domain.frozen import View
from orchestrator.domain.outcome import CommandReport
from orchestrator.domain.outputs import Notice
from state.card import Card
from state.stored import JsonObject


class PreviewLine(View):
    """One changed field, its name and values in the language of the person who gets the card."""

    field: str = ""
    """The field's code in the portal."""
    name: str = ""
    before: str = ""
    """The value before the change; "" if there is none."""
    after: str = ""


class PreviewPart(View):
    """The part of a card about one record: the record, and the fields that a call changes in it."""

    verb: str = ""
    """The verb of the call: add, update, delete, batch, or for an action the last word of its method."""
    entity: str = ""
    """The kind of what is written, such as comment or email, which may belong to a record of another kind."""
    id: int | str | None = None
    record: str = ""
    """The record that the call concerns, such as "deal:481"; "" if there is none, and in cards of earlier versions."""
    title: str = ""
    url: str = ""
    made_url: str = ""
    """For a record that the call creates: the address of its page, with {id} in place of the number that it will get."""
    lines: Sequence[PreviewLine] = ()
    key: str = ""
    """The name of the command in its batch; "" for a single call."""
    method: str = ""
    """The method of the command; "" for a single call."""


class Preview(PreviewPart):
    """The content of a card: what a call will do to one record or, in `items`, to the records of a batch."""

    items: Sequence[PreviewPart] = ()
    count: int = 1
    sum: str = ""
    """The total of a batch's sums as text, "" if there is none."""
    mode: str = ""
    """The safety mode in which the call was only planned, not run; "" in a mode that writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """A card as it is shown in one chat, parsed from a stored message of the outbox; rendering code draws it."""

    card: Card
    preview: Preview
    reasons: Sequence[Notice]
    """The reasons why the call needs a confirmation."""
    commands: Sequence[CommandReport]
    """For a batch that ran: the result of each of its commands."""
    stage: int = 1
    """1, or 2 after the first of two taps, when the card waits for the second one."""
    home: str = ""
    """The session that the card belongs to, set on the copy for a lead (head of sales); "" in that session itself."""
    topic: str = ""
    """The session of the card if it stands in a topic of a group; otherwise ""."""

    @classmethod
    def from_card(cls, card: Card, *, stage: int = 1, home: str = "") -> Self:
        """Return the view of a stored card; raises pydantic's ValidationError if its preview, reasons or reports are malformed.

        `stage` and `home` become the fields of the same names.
        """
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
        """Return the view of the card that is stored as the body of an outbox row of kind "card" or "details"."""
        return cls.from_card(Card.from_stored(body), stage=body.get("stage") or 1, home=body.get("home") or "")

    @property
    def is_waiting_for_lead(self) -> bool:
        """Whether a lead (head of sales) decides this card, while its reader, who requested the call, only sees it."""
        return bool(self.card.told_names) and not self.home

    @property
    def is_second_tap_due(self) -> bool:
        """Whether the person pressed the button once and must press it a second time to approve; some cards need two taps."""
        return self.stage == 2  # noqa: PLR2004 - the second of two taps
