"""What the endpoints beside /chat work with: the orchestrator, the clock and what is known of the journal. Ring 3; decides nothing.

Places in lists as callers carry them: opaque, checked, and worth nothing to anybody but who may see the list. Ring 3, pure.
"""

import asyncio
import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Final, TypeVar

import orjson
from pydantic import Field

from bot.http_api.server.errors import ApiError
from bot.http_api.server.tokens import Client
from bot.i18n.translate import Translator
from orchestrator.features.history.record_index import RecordIndex
from orchestrator.reports.cards import Card, CardSessions, load_cards
from orchestrator.reports.viewer import Viewer
from orchestrator.runtime.worker import Orchestrator
from state.clock import Clock, read_boottime
from state.journal.async_store import AsyncStore

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
        return Viewer(actor=client.actor, deps=self.orchestrator.tools.gate.deps)

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


_LONGEST: Final = 3000
CursorText = Annotated[
    str,
    Field(
        max_length=_LONGEST, pattern=r"^[A-Za-z0-9_-]+$", description="`next` of the answer before, as it is.", examples=["WyJlIiwiMTIiXQ"]
    ),
]


def encode_cursor(kind: str, *place: str) -> str:
    """A place in lists of that kind."""
    return base64.urlsafe_b64encode(orjson.dumps([kind, *place])).decode().rstrip("=")


def parse_cursor(text: str | None, kind: str, parts: int) -> Sequence[str] | None:
    """The place behind a cursor, None for none; ApiError 400 for one that was not made for such a list."""
    if text is None:
        return None
    try:
        found = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        found = None
    fits = isinstance(found, list) and len(found) == parts + 1 and found[0] == kind and all(isinstance(part, str) for part in found)
    if not fits or any("\x00" in part for part in found):
        raise ApiError(400, "invalid_cursor", "The cursor is none of this list.")
    return [str(part) for part in found[1:]]
