"""Reads confirmation cards of many sessions, as a page or as one card by its id. Changes nothing.

A run (an execution of a scenario, flow or workflow) is a session of its own, "run:<id>", and its cards are found like all others.

One request for a page reads at most `SESSIONS` sessions. If there are more, the page is short, and the next page continues after the last
session that was read.

The session of a waiting card is known from the timer that will expire the card. The session of any other card is searched for in the
journal. This search decrypts no record and reads each record only once per process.
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
from state.journal.journal import load_state
from state.journal.pages import iterate_scan
from state.journal.run_index import MOST, RunFilter
from state.journal.run_index import PREFIX as RUN
from state.journal.store import Store, Timer
from state.journal.streams import to_lease_key, to_stream
from state.model.card import Card
from state.model.run_state import RunState
from state.model.session_state import SessionState

log = logging.getLogger(__name__)

SESSIONS: Final = 100
_TIMERS: Final = 10_000
_FAR: Final = datetime(9000, 1, 1, tzinfo=UTC)
ANY_STATE: Final = "any"
CardPosition = tuple[str, str, str]
"""The sort key of a card: session, time of the request, then the number of its step in the plan with the card's id.

As a cursor it names the last card before the page.
"""


@dataclass(frozen=True, kw_only=True)
class FoundCard:
    """One confirmation card (the question to a person whether a proposed call may run) with its session."""

    session: str
    entry: Card
    seq: int
    """The sequence number of the last event in the session's stream when the card was read."""
    entries: Mapping[str, Card]
    """All cards of the session by id."""
    run: RunState | None = None
    """The run (execution of a scenario, flow or workflow) that proposed the call; None for the card of a conversation."""

    @property
    def place(self) -> CardPosition:
        """The sort key of the card in lists. It also serves as the cursor for requesting the cards that follow this one.

        The cards of one plan are requested at the same time: they stand in the order of its steps.
        """
        number = self.entry.slot.rpartition("/")[2]
        return self.session, self.entry.requested_at, f"{number:0>4}/{self.entry.confirmation_id}"


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page of cards in order; `after` is the cursor for requesting the next page, None on the last page."""

    cards: Sequence[FoundCard]
    after: CardPosition | None


async def load_cards_page(store: AsyncStore, viewer: Viewer, *, session: str, state: str, after: CardPosition | None, limit: int) -> Page:
    """Return a page of at most `limit` cards that have the status `state` and that `viewer` may see. Raises StoreError.

    Cards are ordered by session, within a session by the time of the request, oldest first, and then in the order of their plan. With the
    state `ANY_STATE`, cards of every status are returned. A `session` limits the page to this session ("": all sessions). `after` is the
    cursor from the previous page (None for the first page).
    """
    start = after[0] if after else ""
    homes = [session] if session else await _list_sessions(store, viewer, state)
    homes = [home for home in homes if home >= start]
    found: list[FoundCard] = []
    for home in homes[:SESSIONS]:
        cards = await _load_readable_cards(store, home)
        wanted = (card for card in cards if state in (ANY_STATE, card.entry.status) and viewer.may_see_card(home, card.entry))
        found.extend(card for card in wanted if after is None or card.place > after)
        if len(found) > limit:
            return Page(cards=found[:limit], after=found[limit - 1].place)
    more = homes[SESSIONS:]
    return Page(cards=found, after=(more[0], "", "") if more else None)


async def load_cards(store: AsyncStore, session: str) -> list[FoundCard]:
    """Return the cards of one session, oldest request first. Raises StoreError."""
    state, seq = await store.read(load_state, to_stream(session))
    entries = state.cards
    shown = [entry for entry in entries.values() if entry.requested_at]
    cards = [FoundCard(session=session, entry=entry, seq=seq, entries=entries, run=state.run) for entry in shown]
    return sorted(cards, key=lambda card: card.place)


async def _load_readable_cards(store: AsyncStore, session: str) -> list[FoundCard]:
    """Return the cards of one session as `load_cards`; none of one whose records are damaged, so that it hides no card of others."""
    try:
        return await load_cards(store, session)
    except DamagedCiphertext:
        log.warning("the cards of %s cannot be read: run `sdelka journal verify`", session, extra={"action": "cards_unreadable"})
        return []


async def load_recent_cards(store: AsyncStore, viewer: Viewer, *, state: str, since: datetime, limit: int) -> list[FoundCard]:
    """Return at most `limit` cards asked for at `since` or later that have the status `state`, the newest first. Raises StoreError.

    With the state `ANY_STATE`, cards of every status are returned. Only cards that `viewer` may see and that their sessions still hold are
    among them, and at most `SESSIONS` sessions are read.
    """
    found: list[FoundCard] = []
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
            found.append(card)
            if len(found) == limit:
                break
    return found


def _list_requests(store: Store, since: datetime) -> list[tuple[str, str, str]]:
    """Return (session, confirmation id, person who asked) of every card asked for since then, the newest first."""
    found: list[tuple[str, str, str]] = []
    for event in iterate_scan(store.scan_clear, (ConfirmationRequested.__name__,), build_lower_id(since)):
        session = to_lease_key(event.stream)
        if session.partition(":")[0] in CARD_CHANNELS:
            found.append((session, str(event.data["confirmation_id"]), str(event.data.get("requested_by", event.actor))))
    return found[::-1]


def list_plan_cards(found: FoundCard) -> list[FoundCard]:
    """Return the other cards of the plan that the card belongs to, in the order of its steps; empty if it is of none."""
    group = card_groups.find_group(found.entry, found.entries) if found.run is None else None
    members = group.members if group is not None else ()
    return [replace(found, entry=card) for card in members if card.confirmation_id != found.entry.confirmation_id]


async def _list_sessions(store: AsyncStore, viewer: Viewer, state: str) -> list[str]:
    """Return the sessions that may hold cards in `state` which the viewer may see; in a group a person may see the own ones alone."""
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
    """Return the timer of each waiting card. When this timer is due, the card expires.

    Only the 10,000 timers of all kinds that are due first are looked at.
    """
    return [timer for timer in store.list_due_timers(_FAR, _TIMERS) if timer.kind == confirmations.TIMER]


def _list_waiting_sessions(store: Store) -> list[str]:
    return sorted({timer.session for timer in list_card_timers(store)})


def _list_all_sessions(store: Store) -> list[str]:
    return sorted(to_lease_key(stream) for stream in store.list_streams())


PAGE: Final = 2000
CARDS: Final = 200_000
"""The most cards whose session is kept in memory; the oldest are forgotten first."""
_CARD: Final = re.compile(r'"confirmation_id":"([^"]+)"')


class CardSessions:
    """Finds the session that a card belongs to. One instance serves a whole process, and its methods raise StoreError."""

    def __init__(self, store: AsyncStore) -> None:
        """Keep the store. Nothing is read until the first search."""
        self._store = store
        self._read: dict[str, int] = {}
        self._homes: dict[str, str] = {}
        self._order = asyncio.Lock()

    async def find_session(self, confirmation_id: str) -> str:
        """Return the name of the session that the card belongs to; "" for an unknown card."""
        if confirmation_id not in self._homes and (found := await self._store.read(_find_waiting_session, confirmation_id)):
            return found
        if confirmation_id not in self._homes:
            await self.refresh()
        return self._homes.get(confirmation_id, "")

    async def refresh(self) -> None:
        """Read the journal records written since the last call of `refresh`, and remember the session of each card requested in them."""
        async with self._order:
            for stream, seq in await self._store.read(_list_heads):
                while self._read.get(stream, 0) < seq:
                    found, last = await self._store.read(_find_requested_cards, stream, self._read.get(stream, 0))
                    self._remember(found, to_lease_key(stream))
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
    return [(stream, seq) for stream, seq, _ in store.list_heads()]


def _find_requested_cards(store: Store, stream: str, after: int) -> tuple[dict[str, None], int]:
    """Read one page of the stream (the events of one session); return (ids of the cards requested in it, number of its last record).

    The page begins after the record with the sequence number `after`. The returned number is 0 if the page is empty. The ids are the keys
    of a dict, which keeps them in the order of the records; its values are None.
    """
    page = store.read_encrypted(stream, after, PAGE)
    texts = (data for _, kind, data in page if kind == "ConfirmationRequested")
    found = {named[1]: None for text in texts if (named := _CARD.search(text))}
    return found, page[-1][0] if page else 0


async def load_session_state(store: AsyncStore, session: str) -> SessionState:
    """Return the state of a session, computed from its events; an empty state if the session has no events."""
    state, _ = await store.read(load_state, to_stream(session))
    return state


async def list_shown_cards(store: AsyncStore, session: str) -> list[Card]:
    """Return the cards that wait as a chat shows them, oldest first: one for all waiting steps of a plan."""
    return card_groups.list_shown_cards(await load_session_state(store, session), session)
