"""In which session a card waits or waited: from the timer of one that waits, else from the journal as it lies there. Ring 2; reads only.

Nothing is unsealed for it, and each record is looked at once a process; the numbers of cards stand clear in every record.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Final

from orchestrator.reports.cards_found import list_card_timers
from state.store import Store
from state.worker import AsyncStore

PAGE: Final = 2000
CARDS: Final = 200_000
"""So many are remembered, those that were met last."""
_SESSION: Final = "session:"
_CARD: Final = re.compile(r'"confirmation_id":"([^"]+)"')


class CardSessions:
    """See the module docstring. One for a process; raises StoreError."""

    def __init__(self, store: AsyncStore) -> None:
        """Nothing is read yet."""
        self._store = store
        self._read: dict[str, int] = {}
        self._homes: dict[str, str] = {}
        self._order = asyncio.Lock()

    async def find_session(self, confirmation_id: str) -> str:
        """The session, "" for a card that is not known."""
        if confirmation_id not in self._homes and (found := await self._store.read(_find_waiting_session, confirmation_id)):
            return found
        if confirmation_id not in self._homes:
            await self.refresh()
        return self._homes.get(confirmation_id, "")

    async def refresh(self) -> None:
        """Look at what was written since the last time, a piece at a time."""
        async with self._order:
            for stream, seq in await self._store.read(_list_heads):
                while self._read.get(stream, 0) < seq:
                    found, last = await self._store.read(_find_requested_cards, stream, self._read.get(stream, 0))
                    self._remember(found, stream.removeprefix(_SESSION))
                    self._read[stream] = last or seq

    def _remember(self, found: Mapping[str, None], session: str) -> None:
        for one in found:
            self._homes.pop(one, None)
            self._homes[one] = session
        while len(self._homes) > CARDS:
            del self._homes[next(iter(self._homes))]


def _find_waiting_session(store: Store, confirmation_id: str) -> str:
    timers = list_card_timers(store)
    return next((timer.session for timer in timers if timer.body.get("confirmation_id") == confirmation_id), "")


def _list_heads(store: Store) -> list[tuple[str, int]]:
    return [(stream, seq) for stream, seq, _ in store.list_heads() if stream.startswith(_SESSION)]


def _find_requested_cards(store: Store, stream: str, after: int) -> tuple[dict[str, None], int]:
    """The cards that were asked for behind that place, and how far was looked; 0 where nothing lies there."""
    page = store.read_encrypted(stream, after, PAGE)
    texts = (data for _, kind, data in page if kind == "ConfirmationRequested")
    found = {named[1]: None for text in texts if (named := _CARD.search(text))}
    return found, page[-1][0] if page else 0
