"""What the buttons of a chat mean that add or remove documents. A button of a messenger carries 64 bytes, so it names an offer."""

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import TypeAdapter

from state.canonical import dumps, loads
from state.clock import generate_id
from state.journal.async_store import AsyncStore

MOST: Final = 100
"""How many offers of a chat are kept; the buttons of older ones say that they are outdated."""
_ID_LENGTH: Final = 10


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


_OFFERS: Final = TypeAdapter(list[Offer])


def build_offer_id() -> str:
    """Return the id of a new offer."""
    return generate_id()[-_ID_LENGTH:]


async def load_offers(store: AsyncStore, session: str) -> list[Offer]:
    """Return the offers of a chat, the newest last."""
    stored = await store.get_value(_build_key(session))
    return _OFFERS.validate_python(loads(stored)) if stored else []


async def add_offers(store: AsyncStore, session: str, *offers: Offer) -> None:
    """Keep new offers of a chat."""
    kept = [*await load_offers(store, session), *offers][-MOST:]
    await store.set_value(_build_key(session), dumps(_OFFERS.dump_python(kept, mode="json")))


def _build_key(session: str) -> str:
    return f"docs-offers:{session}"
