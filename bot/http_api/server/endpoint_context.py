"""The orchestrator and the cursors of lists, for all endpoints but /chat. Cursors are validated, and give no rights."""

import asyncio
import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

import orjson
from pydantic import Field

from bot.http_api.server.errors import MEANINGS, ApiError
from bot.http_api.server.tokens import Client
from bot.i18n.translate import Translator
from orchestrator.domain.inputs import Input
from orchestrator.features.history.record_index import RecordIndex
from orchestrator.gate.call.ports import FreezeSwitch
from orchestrator.gate.preview.whole_file import add_records
from orchestrator.reports.cards import CardSessions, FoundCard, load_cards
from orchestrator.reports.viewer import Viewer
from state.clock import Clock, generate_id, read_boottime
from state.journal.async_store import AsyncStore
from state.journal.encryption import DamagedCiphertext
from state.journal.journal import to_stream
from state.journal.store import InboxRow, Lane, StoredEvent

if TYPE_CHECKING:  # a command of the terminal has no orchestrator
    from orchestrator.runtime.worker import Orchestrator

T = TypeVar("T")
WITHIN: Final = 30.0
"""Seconds for what a request has submitted; after that the answer is 202."""
CARD: Final = re.compile(r"[0-9a-f]{6,64}", re.ASCII)
LONGEST_SESSION: Final = 1600
"""A user id of up to 128 characters, each twelve when quoted."""
SESSION: Final = re.compile(r"[!-~]{1,1600}", re.ASCII)
_LOOK_EVERY: Final = 0.5
"""Seconds; changes by another process may come without a notification."""


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """ "done" if the expected `event` came, "refused" if the input was worked without it, else "waiting"."""

    row: InboxRow
    """That of the first request if this one repeats it."""
    status: Literal["done", "refused", "waiting"]
    event: StoredEvent | None = None


Expects = Callable[[StoredEvent, InboxRow], bool]
"""Whether an event after the input is what it was for."""


class EndpointContext:
    """One instance per app."""

    def __init__(self, orchestrator: "Orchestrator", clock: Clock, *, within: float | None = None) -> None:
        """Requests wait `within` seconds for what they submit, by default as each says."""
        self.orchestrator, self.clock, self._within = orchestrator, clock, within
        self.card_homes = CardSessions(orchestrator.tools.store)
        self.index = RecordIndex(orchestrator.tools.store)

    @property
    def store(self) -> AsyncStore:
        return self.orchestrator.tools.store

    @property
    def switch(self) -> FreezeSwitch:
        """Which the gate checks before each write."""
        return self.orchestrator.tools.gate.deps.switch

    def build_viewer(self, client: Client) -> Viewer:
        """With present rights."""
        return Viewer(actor=client.actor, deps=self.orchestrator.tools.gate.deps)

    async def find_card(self, client: Client, confirmation_id: str) -> FoundCard | None:
        """None if missing or not to be seen, in the same time. Raises StoreError, and DamagedCiphertext only to its person and leads."""
        known = CARD.fullmatch(confirmation_id) is not None
        home = await self.card_homes.find_session(confirmation_id) if known else ""
        session = home or client.actor.key
        viewer = self.build_viewer(client)
        try:
            cards = {card.entry.confirmation_id: card for card in await load_cards(self.store, session)}
        except DamagedCiphertext:
            if viewer.is_lead or viewer.is_own(session):
                raise
            cards = {}
        card = cards.get(confirmation_id)
        if card is not None and viewer.may_see_card(session, card.entry):
            return card
        if home:
            await self.card_homes.refresh()  # the same work as for an unknown card, so that timing reveals nothing
        return None

    async def add_records(self, card: FoundCard) -> FoundCard:
        """Of a change of many records with every one of them, as who decides must see it. May raise StoreError."""
        return replace(card, entry=await add_records(card.entry, self.orchestrator.tools.gate.deps.bulk))

    def build_row(
        self, client: Client, session: str, new_input: Input, *, source: str = "", lane: Lane = "express", request: str = ""
    ) -> InboxRow:
        """`request` is the hash that `store_once` compares."""
        row_id = generate_id()
        source = source or f"{client.actor.key}:{new_input.KIND}:{row_id}"
        actor = client.actor.model_dump(mode="json")
        row = new_input.to_row(session, source=source, actor=actor, now=self.clock.now(), lane=lane, row_id=row_id)
        return replace(row, body={**row.body, "request": request}) if request else row

    async def take(self, row: InboxRow) -> bool:
        """True if the row is new."""
        [is_new] = await self.orchestrator.receive([row])
        return is_new

    async def submit(self, row: InboxRow, expects: Expects, *, within: float = WITHIN) -> Submitted:
        """Waits for an event that the caller `expects`, or until the input was worked without. `store_once` says what a `request` does."""
        stream = to_stream(row.session)
        after, _ = await self.store.read_head(stream)
        stored_row = row
        if "request" in row.body:
            stored_row = await store_once(row, self.take, self.store)
            stream, after = to_stream(stored_row.session), after if stored_row is row else 0
        else:
            await self.take(row)

        async def look() -> Submitted | None:
            nonlocal after
            stored = await self.store.find_inbox(stored_row.source)  # read first: what it caused was stored with its end
            while page := await self.store.read_events(stream, after=after):
                if event := next((event for event in page if expects(event, stored_row)), None):
                    return Submitted(row=stored_row, status="done", event=event)
                after = page[-1].seq
            is_worked = stored is None or stored.status != "new"
            return Submitted(row=stored_row, status="refused") if is_worked else None

        waited = within if self._within is None else self._within
        return await self.wait_until(look, waited) or Submitted(row=stored_row, status="waiting")

    async def wait_until(self, look: Callable[[], Awaitable[T | None]], within: float) -> T | None:
        """None after `within` seconds. Looks at once, after each change, and at least every half second."""
        end = read_boottime() + within
        event = asyncio.Event()
        places = (self.orchestrator.listeners, self.store.listeners, self.orchestrator.tools.progress.listeners)
        for listeners in places:
            listeners.append(event.set)
        try:
            while (outcome := await look()) is None and (left := end - read_boottime()) > 0:
                await _wait_for_event(event, min(left, _LOOK_EVERY))
                event.clear()
        finally:
            for listeners in places:
                listeners.remove(event.set)
        return outcome


async def store_once(row: InboxRow, take: Callable[[InboxRow], Awaitable[bool]], store: AsyncStore) -> InboxRow:
    """Once for each `source`: a repetition gives the earlier row.

    Raises ApiError 422 if the earlier `request` was different, 409 if it was erased, 503 if it cannot be found, and StoreError.
    """
    if await take(row):
        return row
    known = await store.find_inbox(row.source)
    if known is None:
        raise ApiError(503, "unavailable", MEANINGS[503], headers={"Retry-After": "5"})
    if "request" not in known.body:
        raise ApiError(409, "answer_gone", "The request of this Idempotency-Key was erased.")
    if known.body["request"] != row.body["request"]:
        raise ApiError(422, "idempotency_mismatch", "This Idempotency-Key was used before with another request.")
    return known


def build_translator(client: Client) -> Translator:
    """With the reader's time zone."""
    return Translator(client.reader.locale, client.reader.time_zone)


async def _wait_for_event(event: asyncio.Event, within: float) -> None:
    try:
        async with asyncio.timeout(within):
            await event.wait()
    except TimeoutError:
        return


_LONGEST: Final = 3000
Moment = Annotated[str, Field(examples=["2026-11-22T14:05:00.000000Z"])]
CursorText = Annotated[
    str,
    Field(
        max_length=_LONGEST, pattern=r"^[A-Za-z0-9_-]+$", description="`next` of the answer before, as it is.", examples=["WyJlIiwiMTIiXQ"]
    ),
]


def encode_cursor(kind: str, *place: str) -> str:
    """As text for a URL; `kind` is the letter of the list."""
    return base64.urlsafe_b64encode(orjson.dumps([kind, *place])).decode().rstrip("=")


def parse_cursor(text: str | None, kind: str, parts: int) -> Sequence[str] | None:
    """None without a text. Raises ApiError 400 for an invalid cursor or one of another list."""
    if text is None:
        return None
    try:
        place = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        place = None
    fits = isinstance(place, list) and len(place) == parts + 1 and place[0] == kind and all(isinstance(part, str) for part in place)
    if not fits or any("\x00" in part for part in place):
        raise ApiError(400, "invalid_cursor", "The cursor is none of this list.")
    return [str(part) for part in place[1:]]
