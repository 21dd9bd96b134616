"""What buttons about documents mean: their 64 bytes name an offer, which a timer of the chat keeps.

So it is stored in one commit with message and order, is erased with the person, and ends by itself.
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
_OFFER_LASTS: Final = timedelta(days=30)
_ALBUM_LASTS: Final = timedelta(hours=1)
_ID_LENGTH: Final = 10

OfferState = Literal["open", "ordered", "done", "failed", "refused"]
""""failed" cannot be done as offered; "refused" is not wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Add the file `file_id` at `path`, or remove the document there."""

    id: str
    what: Literal["add", "remove"]
    path: str
    size: int = 0
    stamp: str = ""
    """Of the document that is replaced or removed; "" for a new one."""
    file_id: str = ""
    name: str = ""
    readers: str = ""
    """Code of the notice about who may read it."""
    message: str = ""
    """The key of the message that asks."""
    state: OfferState = "open"
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Album:
    """Files sent together, and the offers made of them."""

    id: str
    folder: str = ""
    offers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    id: str
    wanted: str = ""


Kept = Offer | Album | Listing
_OFFER: Final = TypeAdapter(Offer)
_ALBUM: Final = TypeAdapter(Album)
_LISTING: Final = TypeAdapter(Listing)


def build_offer_id() -> str:
    return generate_id()[-_ID_LENGTH:]


async def load_offer(store: AsyncStore, session: Session, offer_id: str) -> Offer | None:
    """None if it has ended."""
    timer = await store.find_timer(_build_id(session, "offer", offer_id))
    return _OFFER.validate_python(timer.body) if timer is not None else None


async def load_album(store: AsyncStore, session: Session, album: str) -> Album:
    timer = await store.find_timer(_build_id(session, "album", album))
    return _ALBUM.validate_python(timer.body) if timer is not None else Album(id=album)


async def load_listing(store: AsyncStore, session: Session, listing: str) -> Listing | None:
    """None if it has ended."""
    timer = await store.find_timer(_build_id(session, "list", listing))
    return _LISTING.validate_python(timer.body) if timer is not None else None


def keep(content: Kept, session: Session) -> Timer:
    """Replaces what was stored."""
    match content:
        case Offer():
            name, body, lasts = "offer", _OFFER.dump_python(content, mode="json"), _OFFER_LASTS
        case Album():
            name, body, lasts = "album", _ALBUM.dump_python(content, mode="json"), _ALBUM_LASTS
        case Listing():
            name, body, lasts = "list", _LISTING.dump_python(content, mode="json"), _OFFER_LASTS
    return Timer(id=_build_id(session, name, content.id), due_at=session.now + lasts, session=session.key, kind=TIMER, body=body)


def end_offer(offer: Offer, session: Session) -> Timer:
    """Buttons then say that they are outdated."""
    return _build_end(_build_id(session, "offer", offer.id), session)


async def forget(row: InboxRow, session: Session, _tools: Tools) -> None:
    await session.commit(actor="system", timers=[_build_end(TimerDue.model_validate(row.body).timer, session)], inbox_done=[row.id])


def _build_end(timer_id: str, session: Session) -> Timer:
    return Timer(id=timer_id, due_at=session.now, session=session.key, kind=TIMER, delete=True)


def _build_id(session: Session, what: str, own: str) -> str:
    return f"docs:{session.key}:{what}:{own}"
