"""What the buttons of a chat mean that add or remove documents. A button of a messenger carries 64 bytes, so it names an offer.

An offer is kept with a timer of the chat. So it is stored in the same commit as the message with its button and as the order that
it leads to, goes with the person who is erased, and ends by itself.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from pydantic import TypeAdapter

from orchestrator.domain.inputs import TimerDue
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.clock import generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, Timer

TIMER: Final = "docs_kept"
"""The kind of the timers that keep offers, albums and lists."""
_OFFER_LASTS: Final = timedelta(days=30)
_ALBUM_LASTS: Final = timedelta(hours=1)
_ID_LENGTH: Final = 10

OfferState = Literal["open", "ordered", "done", "failed", "refused"]
"""open: a press counts; ordered: it is being done; failed: it cannot be done as it was offered; refused: the person wants it not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One thing that a button does: add the file `file_id` at `path`, or remove the document there."""

    id: str
    what: Literal["add", "remove"]
    path: str
    size: int = 0
    stamp: str = ""
    """The stamp of the document that is replaced or removed; "" for a new one."""
    file_id: str = ""
    name: str = ""
    """The name of the sent file."""
    readers: str = ""
    """Who may read the document, as the question said it: the code of that notice."""
    message: str = ""
    """The key of the message that asks."""
    state: OfferState = "open"
    tries: int = 0
    """How often it was ordered before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Album:
    """The files that were sent together: the folder that the caption of one names, and the offers that were made of them."""

    id: str
    folder: str = ""
    offers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list of documents that is leafed through: what is looked for."""

    id: str
    wanted: str = ""


Kept = Offer | Album | Listing
_OFFER: Final = TypeAdapter(Offer)
_ALBUM: Final = TypeAdapter(Album)
_LISTING: Final = TypeAdapter(Listing)


def build_offer_id() -> str:
    """Return the id of a new offer."""
    return generate_id()[-_ID_LENGTH:]


async def load_offer(store: AsyncStore, session: Session, offer_id: str) -> Offer | None:
    """Return an offer of the chat, None if it has ended."""
    timer = await store.find_timer(_build_id(session, "offer", offer_id))
    return _OFFER.validate_python(timer.body) if timer is not None else None


async def load_album(store: AsyncStore, session: Session, album: str) -> Album:
    """Return what is known of an album of the chat."""
    timer = await store.find_timer(_build_id(session, "album", album))
    return _ALBUM.validate_python(timer.body) if timer is not None else Album(id=album)


async def load_listing(store: AsyncStore, session: Session, listing: str) -> Listing | None:
    """Return a list of the chat, None if it has ended."""
    timer = await store.find_timer(_build_id(session, "list", listing))
    return _LISTING.validate_python(timer.body) if timer is not None else None


def keep(kept: Kept, session: Session) -> Timer:
    """Return the change that stores an offer, an album or a list, instead of what was stored of it."""
    match kept:
        case Offer():
            name, body, lasts = "offer", _OFFER.dump_python(kept, mode="json"), _OFFER_LASTS
        case Album():
            name, body, lasts = "album", _ALBUM.dump_python(kept, mode="json"), _ALBUM_LASTS
        case Listing():
            name, body, lasts = "list", _LISTING.dump_python(kept, mode="json"), _OFFER_LASTS
    return Timer(id=_build_id(session, name, kept.id), due_at=session.now + lasts, session=session.key, kind=TIMER, body=body)


def end_offer(offer: Offer, session: Session) -> Timer:
    """Return the change that removes an offer, so that its buttons say that they are outdated."""
    return _build_end(_build_id(session, "offer", offer.id), session)


async def forget(row: InboxRow, session: Session, _tools: Tools) -> None:
    """Remove what was kept long enough."""
    await session.commit(actor="system", timers=[_build_end(TimerDue.model_validate(row.body).timer, session)], inbox_done=[row.id])


def _build_end(timer_id: str, session: Session) -> Timer:
    return Timer(id=timer_id, due_at=session.now, session=session.key, kind=TIMER, delete=True)


def _build_id(session: Session, what: str, own: str) -> str:
    return f"docs:{session.key}:{what}:{own}"
