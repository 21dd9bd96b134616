"""Groups the events of a conversation into turns, each a list of things that happened, for people to read. Pure: no input or output.

A turn is all that one message led to: what the model thought and proposed, the cards and who decided them, the calls, and the answer. What
happens later to a card of a turn, such as an approval the next day, belongs to that turn too.
"""

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
    """One line of a thing that happened, with the record that it is about ("deal:481"); "" for none."""

    text: str
    record: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that happened in a conversation. All texts may be of customers or of the model."""

    kind: Kind
    at: str
    who: str = ""
    text: str = ""
    lines: Sequence[Line] = ()
    note: str = ""
    """What is to be said beside, such as how somebody decided."""
    details: str = ""
    """What is folded away until somebody opens it: JSON, or words of others."""
    tone: Tone = "plain"
    record: str = ""
    effect_id: str = ""
    """The call that it is about, which has a page of its own; "" for none."""
    is_voice: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one message led to; or one thing that belongs to no message, such as a reminder."""

    key: str
    items: Sequence[Item]

    @property
    def is_alone(self) -> bool:
        """Whether it is no turn but something by itself."""
        return self.key.startswith(_ALONE)


_ALONE = "alone:"
_BY_ITSELF = frozenset({"ReminderFired"})
"""Events that name a call of an old turn, and yet are to be read at their own time."""


def group_items(told: Iterable[tuple[StoredEvent, Sequence[Item]]]) -> list[Turn]:
    """Return the turns in the order in which they began; `told` are the events of a stream in order, each with what it tells people."""
    found: dict[str, list[Item]] = {}
    homes: dict[str, str] = {}
    for event, items in told:
        key = _find_turn(event, homes)
        homes.update(dict.fromkeys(_list_names(event), key))
        if items:
            found.setdefault(key, []).extend(items)
    return [Turn(key=key, items=tuple(items)) for key, items in found.items()]


def _find_turn(event: StoredEvent, homes: dict[str, str]) -> str:
    """Return the key of the turn that the event belongs to. `homes` tells it of each card and call that an earlier event has named."""
    known = next((homes[name] for name in _list_names(event) if name in homes), "")
    # The `turn_id` of a refused decision is not that of the turn that asked for the card.
    own = "" if event.type == "DecisionRefused" else str(event.data.get("turn_id") or event.data.get("cause") or "")
    return known or own or f"{_ALONE}{event.seq}"


def _list_names(event: StoredEvent) -> list[str]:
    """Return the ids of the card and the call that the event is about."""
    if event.type in _BY_ITSELF:
        return []
    return [str(event.data[name]) for name in ("confirmation_id", "effect_id") if event.data.get(name)]
