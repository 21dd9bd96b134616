"""A confirmation card as people see it: the preview of the call, which the gate builds, and the card as it is shown in one chat."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import orjson

from orchestrator.domain.frozen import View
from orchestrator.domain.outcome import CommandReport
from orchestrator.domain.outputs import Notice
from state.model.card import Card
from state.stored import JsonObject

CARD_ROOM: Final = 3000
"""How much text of changes one card shows, in UTF-16 units; Telegram allows 4,096 for the whole message."""
FORM: Final = 1
"""The number of the present way to draw a preview; raise it when cards begin to show something of a call that they left out before."""
CARD_COMMANDS: Final = 15
"""Maximum number of commands of a batch that a card lists one by one."""
LONG_TEXT: Final = 80
"""Length in characters above which any text counts as one that a person would miss, and above which a card leaves out its middle."""
_READ_VERBS: Final = frozenset({"get", "list", "fields"})
_PER_LINE: Final = 8
"""Units that the signs between the parts of one line take."""
_SHOWN_OTHERWISE: Final = frozenset({"opened_here", "is_cut", "in_run_chat", "hidden_waits", "members", "numbers", "steps_hidden"})
"""Fields of a stored message that its card does not have: they say how this chat shows the card."""


def count_units(text: str) -> int:
    """Return the length of a text in UTF-16 units, in which Telegram measures messages."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


class PreviewLine(View):
    """One changed field, its name and values in the language of the person who gets the card.

    If a value has several elements (phones, people, product rows), its text has a line for each element.
    """

    field: str = ""
    """The field's code in the portal."""
    name: str = ""
    before: str = ""
    """The value before the change; "" if there is none."""
    after: str = ""
    lost: int = 0
    """How many characters of a text the change replaces or empties without keeping them; 0 if no text is lost."""

    is_kept: bool = False
    """Whether the change keeps the old text, or all but its end: a card then shows only what is added or taken away."""

    @property
    def added(self) -> str:
        """What the change adds behind a longer text that it keeps; "" if it does anything else."""
        return self.after.removeprefix(self.before) if self.is_kept and not self.lost else ""

    def measure(self) -> int:
        """Return how much of a card's room the line takes, in UTF-16 units; a kept text takes what a card shows of it."""
        if self.added:
            return count_units(self.name) + LONG_TEXT + count_units(self.added) + _PER_LINE
        return count_units(self.name) + count_units(self.before) + count_units(self.after) + _PER_LINE


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
    is_critical: bool = False
    """Whether a person should see the command before others of its batch: it deletes, loses a text, or writes sums, owners and the like."""

    @property
    def is_read(self) -> bool:
        """Whether the call or command that this part describes only reads, so that it changes nothing."""
        return self.verb in _READ_VERBS

    def to_words(self) -> tuple[object, ...]:
        """Return what a person reads of this part: verb and kind of record, from which the heading is made, the title and the lines."""
        return (self.verb, self.entity, self.title, *((line.name, line.before, line.after) for line in self.lines))

    def measure(self) -> int:
        """Return how much of a card's room this part takes, in UTF-16 units: the record's title in the heading, and the lines."""
        return count_units(self.title) + sum(line.measure() for line in self.lines)


class Preview(PreviewPart):
    """The content of a card: what a call will do to one record or, in `items`, to the records of a batch."""

    items: Sequence[PreviewPart] = ()
    count: int = 1
    sum: str = ""
    """The total of a batch's sums as text, "" if there is none."""
    mode: str = ""
    """The safety mode in which the call was only planned, not run; "" in a mode that writes."""
    form: int = 0
    """The `FORM` of the program that drew the preview; 0 for the first versions, which cut values and left out lists."""

    def says_same(self, other: "Preview") -> bool:
        """Return whether a person reads the same on a card of `other`: the acts, the titles of the records and every value."""
        mine, theirs = ([part.to_words() for part in (preview, *preview.items)] for preview in (self, other))
        return mine == theirs

    @property
    def exceeds_card(self) -> bool:
        """Whether the values that the call will send do not fit into one message, so that a card in a chat shows only a part of them."""
        return len(self.items) > CARD_COMMANDS or self.measure_all() > CARD_ROOM

    def measure_all(self) -> int:
        """Return how much of a card's room the changes of the call and of its commands take, in UTF-16 units."""
        return self.measure() + sum(item.measure() for item in self.items)


def is_shown_in_part(card: Card) -> bool:
    """Return whether a chat shows only a part of the card."""
    stored = orjson.dumps(card.preview or {})
    objects = stored.count(b"{")  # at least one for each command and for each line
    if objects <= CARD_COMMANDS and len(stored) + _PER_LINE * objects <= CARD_ROOM:  # a text has no more UTF-16 units than bytes
        return False
    return Preview.model_validate(card.preview or {}).exceeds_card


def must_be_opened(card: Card, reader: str) -> bool:
    """Return whether the person with the key `reader` has yet to open the rest of a card that a chat shows only in part."""
    return reader not in card.opened and is_shown_in_part(card)


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
    """The session that the card belongs to, if it is shown in the chat of another: the copy for a lead (head of sales), and the card of a
    run (an execution of a scenario, flow or workflow), which is shown in the run's chat. In the card's own session it is ""."""
    is_in_run_chat: bool = False
    """Whether this is the card of a run in the run's own chat, where it takes the place of the original."""
    topic: str = ""
    """The session of the card if it stands in a topic of a group; otherwise ""."""
    members: Sequence[Card] = ()
    """For the card of a plan with several waiting steps: the cards of the steps in their order; `card` then stands for all of them."""
    numbers: Sequence[int] = ()
    """The places of `members` in the plan, if the copy of a lead (head of sales) leaves out steps that the lead may not see."""
    steps_hidden: int = 0
    """How many steps the copy leaves out."""
    hidden_waits: bool = False
    """Whether one of them waits: until it is decided or left out, the reader of the copy cannot decide the plan."""
    opened: bool = False
    """Whether the reader of this chat has opened the rest of a card that is shown in part; in a group, whether anybody has."""
    is_cut: bool = False
    """Whether the chat shows only a part of what will be sent; never in the terminal and over the API, which show every value."""

    @classmethod
    def from_card(cls, card: Card, *, stage: int = 1, home: str = "") -> Self:
        """Return the view of a stored card; raises pydantic's ValidationError if its preview, reasons or reports are malformed.

        `stage` is 2 after the first of two taps, otherwise 1. `home` is the session of the card if the view is a copy for a lead (head of
        sales), otherwise "".
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
        """Return the view of the card that is stored as the body of an outbox row of kind "card" or "details".

        A "details" row is the message that describes the call of a card completely.
        """
        view = cls.from_card(Card.from_stored(body), stage=body.get("stage") or 1, home=body.get("home") or "")
        if _SHOWN_OTHERWISE.isdisjoint(body):
            return view
        opened, is_cut, is_in_run_chat, waits = (bool(body.get(mark)) for mark in ("opened_here", "is_cut", "in_run_chat", "hidden_waits"))
        return replace(
            view,
            members=tuple(Card.from_stored(one) for one in body.get("members") or ()),
            numbers=tuple(body.get("numbers") or ()),
            steps_hidden=body.get("steps_hidden") or 0,
            hidden_waits=waits,
            opened=opened,
            is_cut=is_cut,
            is_in_run_chat=is_in_run_chat,
        )

    @property
    def is_plan(self) -> bool:
        """Whether this is the card of a plan with several steps."""
        return bool(self.members or self.steps_hidden)

    @property
    def steps(self) -> Sequence[tuple[int, Card]]:
        """The steps of a plan that this chat shows, each with its number in the plan."""
        return tuple(zip(self.numbers or range(1, len(self.members) + 1), self.members, strict=True))

    @property
    def is_copy(self) -> bool:
        """Whether this is the copy of a card for a lead (head of sales), in the lead's own chat."""
        return bool(self.home) and not self.is_in_run_chat

    @property
    def awaits_opening(self) -> bool:
        """Whether the card may not be approved yet: it is shown in part, and its reader has not opened the part that is not shown."""
        return self.is_cut and not self.opened

    @property
    def is_waiting_for_lead(self) -> bool:
        """Whether this is the requester's view of a card that a lead (head of sales) decides: the requester cannot approve it."""
        return bool(self.card.told_names) and not self.is_copy

    @property
    def is_second_tap_due(self) -> bool:
        """Whether the person pressed the button once and must press it a second time to approve; some cards need two taps."""
        return self.stage == 2  # noqa: PLR2004 - the second of two taps
