"""Keeps events of turns of this process, so that a turn that goes on need not read them from the journal."""

from collections.abc import Sequence
from typing import Final

from state.journal.store import StoredEvent

MOST_TURNS: Final = 4
MOST_EVENTS: Final = 100
"""Longer turns are read from the journal."""


class KeptTurns:
    def __init__(self) -> None:
        self._turns: dict[str, list[StoredEvent]] = {}

    def keep_events(self, events: Sequence[StoredEvent]) -> None:
        """Unless they have ended for good."""
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
        """Empty if they have to be read."""
        return tuple(self._turns.get(turn_id, ()))

    def forget_all(self) -> None:
        """Called when what is known may differ from the journal."""
        self._turns.clear()
