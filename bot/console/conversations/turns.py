"""A turn is all that one message led to; what happens later to its cards belongs to it too."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from state.journal.store import StoredEvent

Kind = Literal[
    "asked", "thought", "proposed", "read", "card", "decided", "sent", "outcome", "refused", "failed", "question", "answered", "notice"
]
Tone = Literal["plain", "good", "warn", "bad", "live"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`record` is such as "deal:481"; "" for none."""

    text: str
    record: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """All texts may be of customers or of the model."""

    kind: Kind
    at: str
    who: str = ""
    text: str = ""
    lines: Sequence[Line] = ()
    note: str = ""
    """Said beside, such as how somebody decided."""
    details: str = ""
    """Folded: JSON, or words of others."""
    tone: Tone = "plain"
    record: str = ""
    effect_id: str = ""
    """The call, which has a page of its own; "" for none."""
    is_voice: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one message led to, or one thing that belongs to none, such as a reminder."""

    key: str
    items: Sequence[Item]

    @property
    def is_alone(self) -> bool:
        return self.key.startswith(_ALONE)


_ALONE = "alone:"
_BY_ITSELF = frozenset({"ReminderFired"})
"""They name a call of an old turn, and yet are read at their own time."""


def group_items(events: Iterable[tuple[StoredEvent, Sequence[Item]]]) -> list[Turn]:
    """In the order in which turns began; `events` come with what each tells."""
    items_by_turn: dict[str, list[Item]] = {}
    homes: dict[str, str] = {}
    for event, items in events:
        key = _find_turn(event, homes)
        homes.update(dict.fromkeys(_list_names(event), key))
        if items:
            items_by_turn.setdefault(key, []).extend(items)
    return [Turn(key=key, items=tuple(items)) for key, items in items_by_turn.items()]


def _find_turn(event: StoredEvent, homes: dict[str, str]) -> str:
    """`homes` tells the turn of each card and call named before."""
    known = next((homes[name] for name in _list_names(event) if name in homes), "")
    # The `turn_id` of a refused decision is not that of the turn that asked for the card.
    own = "" if event.type == "DecisionRefused" else str(event.data.get("turn_id") or event.data.get("cause") or "")
    return known or own or f"{_ALONE}{event.seq}"


def _list_names(event: StoredEvent) -> list[str]:
    if event.type in _BY_ITSELF:
        return []
    return [str(event.data[name]) for name in ("confirmation_id", "effect_id") if event.data.get(name)]
