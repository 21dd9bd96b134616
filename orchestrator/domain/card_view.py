from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import orjson

from orchestrator.domain.effect import CommandReport
from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice
from state.model.card import Card
from state.stored import JsonObject

CARD_ROOM: Final = 3000
"""UTF-16 units of the changes on one card; Telegram allows 4,096 for the whole message."""
FORM: Final = 1
"""Raise it when cards begin to show something that they left out before."""
CARD_COMMANDS: Final = 15
"""Commands of a batch; with more, its card shows groups of them."""
PLAN: Final = "plan"
"""The verb of a card of several steps, which shows each in full, however many there are."""
BULK_VERB: Final = "bulk"
"""The verb of a card of many records, which shows some of them; the others stand in its file."""
BULK_SEEN: Final = 50
"""Records above which the file must have come before the press counts."""
PLAN_STEPS: Final = 50
"""As many as a batch has commands."""
LONG_TEXT: Final = 80
"""Characters above which a person would miss a text, and a card leaves out its middle."""
_READ_VERBS: Final = frozenset({"get", "list", "fields"})
_PER_LINE: Final = 8
_SHOWN_OTHERWISE: Final = frozenset({"opened_here", "is_cut", "in_run_chat", "hidden_waits", "members", "numbers", "steps_hidden"})


def count_units(text: str) -> int:
    """UTF-16 units, in which Telegram measures messages."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


class PreviewLine(View):
    """In the language of who gets the card; a value of several elements has a line for each."""

    field: str = ""
    name: str = ""
    before: str = ""
    """Empty if there is none."""
    after: str = ""
    lost: int = 0
    """Characters of a text that the change does not keep."""

    is_kept: bool = False
    is_held: bool = False
    """The record has the value already."""

    @property
    def added(self) -> str:
        """What the change adds behind a longer text that it keeps; "" if it does anything else."""
        return self.after.removeprefix(self.before) if self.is_kept and not self.lost else ""

    def measure(self) -> int:
        if self.added:
            return count_units(self.name) + LONG_TEXT + count_units(self.added) + _PER_LINE
        return count_units(self.name) + count_units(self.before) + count_units(self.after) + _PER_LINE


class PreviewPart(View):
    verb: str = ""
    entity: str = ""
    id: int | str | None = None
    record: str = ""
    """Such as "deal:481"; "" if there is none."""
    place: str = ""
    """The record on which a changed activity stands, named on the card."""
    title: str = ""
    url: str = ""
    made_url: str = ""
    """Of a new record, with {id} in place of its number."""
    lines: Sequence[PreviewLine] = ()
    key: str = ""
    method: str = ""
    is_critical: bool = False

    @property
    def is_read(self) -> bool:
        return self.verb in _READ_VERBS

    def to_words(self) -> tuple[object, ...]:
        return (self.verb, self.entity, self.title, *((line.name, line.before, line.after) for line in self.lines))

    def measure(self) -> int:
        return count_units(self.title) + sum(line.measure() for line in self.lines)


class Preview(PreviewPart):
    items: Sequence[PreviewPart] = ()
    count: int = 1
    sum: str = ""
    mode: str = ""
    """In which the call was only planned; "" in a mode that writes."""
    form: int = 0

    def says_same(self, other: "Preview") -> bool:
        """A person would read the same: the acts, the titles and every value."""
        mine, theirs = ([part.to_words() for part in (preview, *preview.items)] for preview in (self, other))
        return mine == theirs

    @property
    def exceeds_card(self) -> bool:
        """Never of a plan: one that does not fit is no single card."""
        if self.verb == BULK_VERB:
            return self.count > BULK_SEEN
        return self.verb != PLAN and (len(self.items) > CARD_COMMANDS or self.measure_all() > CARD_ROOM)

    def measure_all(self) -> int:
        return self.measure() + sum(item.measure() for item in self.items)


def group_commands(items: Sequence[PreviewPart]) -> Sequence[Sequence[PreviewPart]]:
    """On the card of a plan: of a long batch, those that change several records from the same to the same stand together."""
    groups: dict[tuple[object, ...], list[PreviewPart]] = {}
    for number, item in enumerate(items):
        is_alone = len(items) <= CARD_COMMANDS or not (item.title or item.id)
        changes = ((line.name, line.before, line.after) for line in item.lines)
        groups.setdefault((number,) if is_alone else (item.verb, item.entity, item.method, *changes), []).append(item)
    return list(groups.values())


def is_shown_in_part(card: Card) -> bool:
    stored = orjson.dumps(card.preview or {})
    objects = stored.count(b"{")  # at least one for each command and for each line
    if objects <= CARD_COMMANDS and len(stored) + _PER_LINE * objects <= CARD_ROOM:  # a text has no more UTF-16 units than bytes
        return False
    return Preview.model_validate(card.preview or {}).exceeds_card


def must_be_opened(card: Card, reader: str) -> bool:
    """`reader` has yet to open the rest of the card."""
    return reader not in card.opened and is_shown_in_part(card)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    card: Card
    preview: Preview
    reasons: Sequence[Notice]
    commands: Sequence[CommandReport]
    stage: int = 1
    """2 after the first of two taps."""
    home: str = ""
    """The session of the card, if it is shown in another's chat; "" in its own."""
    is_in_run_chat: bool = False
    topic: str = ""
    members: Sequence[Card] = ()
    numbers: Sequence[int] = ()
    """Places of `members` in the plan, if the copy leaves out steps that its reader may not see."""
    steps_hidden: int = 0
    hidden_waits: bool = False
    """A hidden step waits: until it is decided, the reader cannot decide the plan."""
    opened: bool = False
    """The rest of a card shown in part; in a group by anybody."""
    is_cut: bool = False
    """Never in the terminal and over the API, which show every value."""

    @classmethod
    def from_card(cls, card: Card, *, stage: int = 1, home: str = "") -> Self:
        """Raises pydantic's ValidationError for a malformed preview, reasons or reports."""
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
        """Of an outbox row "card" or "details" (the whole call)."""
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
        return tuple(zip(self.numbers or range(1, len(self.members) + 1), self.members, strict=True))

    @property
    def is_copy(self) -> bool:
        return bool(self.home) and not self.is_in_run_chat

    @property
    def awaits_opening(self) -> bool:
        """It may not be approved before its reader has opened the rest."""
        return self.is_cut and not self.opened

    @property
    def is_waiting_for_lead(self) -> bool:
        """The requester's view of a card that a lead decides."""
        return bool(self.card.told_names) and not self.is_copy

    @property
    def is_second_tap_due(self) -> bool:
        return self.stage == 2  # noqa: PLR2004 - the second of two taps
