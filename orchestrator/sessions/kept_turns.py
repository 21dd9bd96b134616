"""Keeps the events of turns that have begun in this process, so that a turn that goes on after its cards need not read them again.

What a session has stored itself is the journal of its turns for as long as it holds the lease. Anything else is read: a turn that began
with the answer to a question (which was asked before it), one that has grown long, and one of a session that was opened since.
"""

from collections.abc import Sequence
from typing import Final

from state.journal.store import StoredEvent

MOST_TURNS: Final = 4
"""Of how many turns that wait for cards the events are kept, the latest ones."""
MOST_EVENTS: Final = 100
"""How many events of one turn are kept; a turn that has more is read from the journal."""


class KeptTurns:
    """The events of the latest turns of one session, by turn."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._turns: dict[str, list[StoredEvent]] = {}

    def keep_events(self, events: Sequence[StoredEvent]) -> None:
        """Keep those of the `events`, which were stored just now, that belong to turns which have not ended for good."""
        for event in events:
            turn_id = event.data.get("turn_id") or str(event.data.get("node") or "").partition("#")[0]
            if event.type == "MessageReceived" and not event.data.get("answers"):
                self._turns[turn_id] = []
                while len(self._turns) > MOST_TURNS:
                    del self._turns[next(iter(self._turns))]
            if turn_id not in self._turns:
                continue
            turn = self._turns[turn_id]
            turn.append(event)
            if len(turn) > MOST_EVENTS or (event.type == "TurnFinished" and not event.data.get("goes_on")):
                del self._turns[turn_id]

    def find_events(self, turn_id: str) -> Sequence[StoredEvent]:
        """Return the events of the turn in order, the one that it began with first; none if they have to be read."""
        return tuple(self._turns.get(turn_id, ()))

    def forget_all(self) -> None:
        """Keep nothing any more: what is known may differ from the journal."""
        self._turns.clear()
