"""What the endpoints beside /chat work with: the orchestrator, the clock and what is known of the journal. Ring 3; decides nothing."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from bot.http_api.tokens import Client
from bot.i18n.translate import Translator
from orchestrator.history.index import RecordIndex
from orchestrator.reports.card_homes import CardSessions
from orchestrator.reports.cards_found import Card, load_cards
from orchestrator.reports.viewing import Viewer
from orchestrator.workers import Orchestrator
from state.clock import Clock, read_boottime
from state.worker import AsyncStore

T = TypeVar("T")
CARD: Final = re.compile(r"[0-9a-f]{6,64}", re.ASCII)
LONGEST_SESSION: Final = 1600
"""A user id of 128 letters may take twelve characters for each."""
SESSION: Final = re.compile(r"[!-~]{1,1600}", re.ASCII)
_LOOK_EVERY: Final = 0.5
"""Seconds after which it is looked although nobody has told that there is something: what another process did may go untold."""


class EndpointContext:
    """See the module docstring. One for the app."""

    def __init__(self, orchestrator: Orchestrator, clock: Clock) -> None:
        """Nothing is read yet."""
        self.orchestrator, self.clock = orchestrator, clock
        self.card_homes = CardSessions(orchestrator.tools.store)
        self.index = RecordIndex(orchestrator.tools.store)

    @property
    def store(self) -> AsyncStore:
        """The memory of the product."""
        return self.orchestrator.tools.store

    def build_viewer(self, client: Client) -> Viewer:
        """The eyes of that client, with the rights and the rules of this moment."""
        return Viewer(actor=client.actor, means=self.orchestrator.tools.gate.means)

    async def find_card(self, client: Client, confirmation_id: str) -> Card | None:
        """That card, None for one that is not there or that the client may not see; both take the same way. Raises StoreError."""
        known = CARD.fullmatch(confirmation_id) is not None
        home = await self.card_homes.find_session(confirmation_id) if known else ""
        session = home or client.actor.key
        cards = {card.entry["confirmation_id"]: card for card in await load_cards(self.store, session)}
        found = cards.get(confirmation_id)
        if found is not None and self.build_viewer(client).may_see_card(session, found.entry):
            return found
        if home:
            await self.card_homes.refresh()  # as for one that is not known
        return None

    async def wait_until(self, look: Callable[[], Awaitable[T | None]], within: float) -> T | None:
        """What `look` finds, looked for whenever something was worked, for so many seconds; None when it found nothing in them."""
        end = read_boottime() + within
        told = asyncio.Event()
        places = (self.orchestrator.listeners, self.store.listeners)
        for listeners in places:
            listeners.append(told.set)
        try:
            while (found := await look()) is None and (left := end - read_boottime()) > 0:
                await _wait_for_event(told, min(left, _LOOK_EVERY))
                told.clear()
        finally:
            for listeners in places:
                listeners.remove(told.set)
        return found


def build_translator(client: Client) -> Translator:
    """The language and the zone of the client."""
    return Translator(client.actor.locale, client.actor.time_zone)


async def _wait_for_event(told: asyncio.Event, within: float) -> None:
    try:
        async with asyncio.timeout(within):
            await told.wait()
    except TimeoutError:
        return
