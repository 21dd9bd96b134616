"""Delivery state beside the outbox that must survive a restart.

It holds the delivered parts of a long answer and the placeholder of a running turn: one small value per session, message ids, no text.
"""

from state.canonical import dumps, hash_text, loads
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

_MAX_PLACEHOLDERS = 5


def parse_chat(session: str) -> tuple[int, int | None]:
    """Return chat and thread of a session: "tg:1007:5" is chat 1007, thread 5; "tg:1007:toast" is chat 1007 without a thread."""
    parts = session.split(":")
    thread = parts[2] if len(parts) > 2 else ""  # noqa: PLR2004 - channel, chat, thread
    return int(parts[1]), int(thread) if thread.isdecimal() else None


class DeliveryState:
    """Reads and writes the delivery state of one bot; every method may raise StoreError."""

    def __init__(self, store: AsyncStore, bot_id: int) -> None:
        """Create the accessor; nothing is read yet."""
        self._store = store
        self._bot_id = bot_id

    async def load_arrived(self, session: str, row_id: str) -> list[int]:
        """Return the ids of the messages already delivered for this row, in order."""
        noted = await self._load_notes("parts", session)
        return [int(ref) for ref in noted["refs"]] if noted.get("row") == row_id else []

    async def record_arrived(self, session: str, row_id: str, refs: list[int]) -> None:
        """Store the ids of the row's messages delivered so far."""
        await self._store.set_value(self._build_key("parts", session), dumps({"row": row_id, "refs": refs}))

    async def find_placeholder(self, session: str, turn: str) -> int:
        """Return the message that holds the place of this turn's answer, 0 without one."""
        noted = await self._load_notes("placeholder", session)
        return int(noted.get(turn, 0))

    async def record_placeholder(self, session: str, turn: str, ref: int) -> None:
        """Record the message that will become the turn's answer.

        A few turns' placeholders are kept, since their answers may still be pending.
        """
        noted = await self._load_notes("placeholder", session)
        newest = sorted(noted.items(), key=lambda item: item[1])[-(_MAX_PLACEHOLDERS - 1) :]
        await self._store.set_value(self._build_key("placeholder", session), dumps({**dict(newest), turn: ref}))

    async def _load_notes(self, what: str, session: str) -> JsonObject:
        noted: JsonObject = loads(await self._store.get_value(self._build_key(what, session)) or "{}")
        return noted

    def _build_key(self, what: str, session: str) -> str:
        return f"telegram:{self._bot_id}:{what}:{hash_text(session)[:24]}"
