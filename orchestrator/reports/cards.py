"""Reads confirmation cards of many sessions. Changes nothing.

A page reads at most `SESSIONS` of them; the next goes on behind.
"""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from orchestrator.domain.address import CARD_CHANNELS, RUN_CHANNEL, Address
from orchestrator.gate.approve import card_groups, confirmations
from orchestrator.reports.viewer import Viewer
from state.clock import build_lower_id
from state.events.confirmations import ConfirmationRequested
from state.journal.async_store import AsyncStore
from state.journal.encryption import DamagedCiphertext
from state.journal.journal import load_state, to_lease_key, to_stream
from state.journal.pages import iterate_scan
from state.journal.run_index import MOST, RunFilter
from state.journal.run_index import PREFIX as RUN
from state.journal.store import Store, Timer
from state.model.card import Card
from state.model.run_state import RunState
from state.model.session_state import SessionState

log = logging.getLogger(__name__)

SESSIONS: Final = 100
_TIMERS: Final = 10_000
_FAR: Final = datetime(9000, 1, 1, tzinfo=UTC)
ANY_STATE: Final = "any"
CardPosition = tuple[str, str, str]
"""(session, time of request, step's number with the card's id); as a cursor the last card before the page."""


@dataclass(frozen=True, kw_only=True)
class FoundCard:
    """A card with its session."""

    session: str
    entry: Card
    seq: int
    """Number of the stream's last event when it was read."""
    entries: Mapping[str, Card]
    """All of the session, by id."""
    run: RunState | None = None
    """The run that proposed the call; None for a conversation's card."""

    @property
    def place(self) -> CardPosition:
        """Sort key and cursor; cards of one plan are in the order of its steps."""
        number = self.entry.slot.rpartition("/")[2]
        return self.session, self.entry.requested_at, f"{number:0>4}/{self.entry.confirmation_id}"


@dataclass(frozen=True, kw_only=True)
class Page:
    """`after` is None on the last page."""

    cards: Sequence[FoundCard]
    after: CardPosition | None


async def load_cards_page(store: AsyncStore, viewer: Viewer, *, session: str, state: str, after: CardPosition | None, limit: int) -> Page:
    """Those that `viewer` may see, by session, request and step. Raises StoreError.

    `session` "": all; `ANY_STATE`: every status.
    """
    start = after[0] if after else ""
    homes = [session] if session else await _list_sessions(store, viewer, state)
    homes = [home for home in homes if home >= start]
    page: list[FoundCard] = []
    for home in homes[:SESSIONS]:
        cards = await _load_readable_cards(store, home)
        visible = (card for card in cards if state in (ANY_STATE, card.entry.status) and viewer.may_see_card(home, card.entry))
        page.extend(card for card in visible if after is None or card.place > after)
        if len(page) > limit:
            return Page(cards=page[:limit], after=page[limit - 1].place)
    more = homes[SESSIONS:]
    return Page(cards=page, after=(more[0], "", "") if more else None)


async def load_cards(store: AsyncStore, session: str) -> list[FoundCard]:
    """Oldest request first. Raises StoreError."""
    state, seq = await store.read(load_state, to_stream(session))
    entries = state.cards
    requested = [entry for entry in entries.values() if entry.requested_at]
    cards = [FoundCard(session=session, entry=entry, seq=seq, entries=entries, run=state.run) for entry in requested]
    return sorted(cards, key=lambda card: card.place)


async def _load_readable_cards(store: AsyncStore, session: str) -> list[FoundCard]:
    """Empty for damaged records, so that these hide no card of others."""
    try:
        return await load_cards(store, session)
    except DamagedCiphertext:
        log.warning("the cards of %s cannot be read: run `sdelka journal verify`", session, extra={"action": "cards_unreadable"})
        return []


async def load_recent_cards(store: AsyncStore, viewer: Viewer, *, state: str, since: datetime, limit: int) -> list[FoundCard]:
    """The newest first, from at most `SESSIONS` sessions that still hold them. Raises StoreError."""
    recent_cards: list[FoundCard] = []
    read: dict[str, dict[str, FoundCard]] = {}
    for session, confirmation_id, requested_by in await store.read(_list_requests, since):
        if not (viewer.is_lead or viewer.is_own(session) or requested_by == viewer.actor.key):
            continue
        if session not in read:
            if len(read) == SESSIONS:
                break
            read[session] = {card.entry.confirmation_id: card for card in await _load_readable_cards(store, session)}
        card = read[session].get(confirmation_id)
        if card is not None and state in (ANY_STATE, card.entry.status) and viewer.may_see_card(session, card.entry):
            recent_cards.append(card)
            if len(recent_cards) == limit:
                break
    return recent_cards


def _list_requests(store: Store, since: datetime) -> list[tuple[str, str, str]]:
    """(session, confirmation id, who asked), the newest first."""
    requests: list[tuple[str, str, str]] = []
    for event in iterate_scan(store.scan_clear, (ConfirmationRequested.__name__,), build_lower_id(since)):
        session = to_lease_key(event.stream)
        if session.partition(":")[0] in CARD_CHANNELS:
            requests.append((session, str(event.data["confirmation_id"]), str(event.data.get("requested_by", event.actor))))
    return requests[::-1]


def list_plan_cards(found_card: FoundCard) -> list[FoundCard]:
    """Other cards of its plan, in the order of steps."""
    group = card_groups.find_group(found_card.entry, found_card.entries) if found_card.run is None else None
    members = group.members if group is not None else ()
    return [replace(found_card, entry=card) for card in members if card.confirmation_id != found_card.entry.confirmation_id]


async def _list_sessions(store: AsyncStore, viewer: Viewer, state: str) -> list[str]:
    """In a group a person may see only their own cards."""
    names = await (store.read(_list_waiting_sessions) if state == "requested" else store.read(_list_all_sessions))
    if viewer.is_lead:
        return [name for name in names if viewer.is_own(name) or name.partition(":")[0] in CARD_CHANNELS]
    runs = await store.list_runs(RunFilter(owner=viewer.actor.key, limit=MOST)) if _has_runs(names) else []
    own = {f"{RUN}{one.run_id}" for one in runs}
    own.update(name for name in names if Address.parse(viewer.actor.key).is_messenger and Address.parse(name).is_group)
    return [name for name in names if viewer.is_own(name) or name in own]


def _has_runs(names: Sequence[str]) -> bool:
    return any(name.partition(":")[0] == RUN_CHANNEL for name in names)


def list_card_timers(store: Store) -> list[Timer]:
    """Of the 10,000 timers of all kinds that are due first."""
    return [timer for timer in store.list_due_timers(_FAR, _TIMERS) if timer.kind == confirmations.TIMER]


def _list_waiting_sessions(store: Store) -> list[str]:
    return sorted({timer.session for timer in list_card_timers(store)})


def _list_all_sessions(store: Store) -> list[str]:
    return sorted(to_lease_key(stream) for stream in store.list_streams())


PAGE: Final = 2000
CARDS: Final = 200_000
"""Cards whose session is remembered; the oldest are forgotten first."""
_CARD: Final = re.compile(r'"confirmation_id":"([^"]+)"')


class CardSessions:
    """One for a process; its methods raise StoreError."""

    def __init__(self, store: AsyncStore) -> None:
        """Nothing is read until the first search."""
        self._store = store
        self._read: dict[str, int] = {}
        self._homes: dict[str, str] = {}
        self._order = asyncio.Lock()

    async def find_session(self, confirmation_id: str) -> str:
        """Empty for an unknown card."""
        if confirmation_id not in self._homes and (session := await self._store.read(_find_waiting_session, confirmation_id)):
            return session
        if confirmation_id not in self._homes:
            await self.refresh()
        return self._homes.get(confirmation_id, "")

    async def refresh(self) -> None:
        """Reads what was written since the last call."""
        async with self._order:
            for stream, seq in await self._store.read(_list_heads):
                while self._read.get(stream, 0) < seq:
                    card_ids, last = await self._store.read(_find_requested_cards, stream, self._read.get(stream, 0))
                    self._remember(card_ids, to_lease_key(stream))
                    self._read[stream] = last or seq

    def _remember(self, card_ids: Mapping[str, None], session: str) -> None:
        for card_id in card_ids:
            self._homes.pop(card_id, None)
            self._homes[card_id] = session
        while len(self._homes) > CARDS:
            del self._homes[next(iter(self._homes))]


def _find_waiting_session(store: Store, confirmation_id: str) -> str:
    timers = list_card_timers(store)
    return next((timer.session for timer in timers if timer.body.get("confirmation_id") == confirmation_id), "")


def _list_heads(store: Store) -> list[tuple[str, int]]:
    return [(stream, seq) for stream, seq, _ in store.list_heads()]


def _find_requested_cards(store: Store, stream: str, after: int) -> tuple[dict[str, None], int]:
    """(ids in order, number of the last record or 0) of the page after `after`."""
    page = store.read_encrypted(stream, after, PAGE)
    texts = (data for _, kind, data in page if kind == "ConfirmationRequested")
    card_ids = {hit[1]: None for text in texts if (hit := _CARD.search(text))}
    return card_ids, page[-1][0] if page else 0


async def load_session_state(store: AsyncStore, session: str) -> SessionState:
    """Empty if the session has no events."""
    state, _ = await store.read(load_state, to_stream(session))
    return state


async def list_shown_cards(store: AsyncStore, session: str) -> list[Card]:
    """Oldest first: one for all waiting steps of a plan."""
    return card_groups.list_shown_cards(await load_session_state(store, session), session)
