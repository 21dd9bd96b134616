"""Ids of messages that delivery must remember over a restart.

A placeholder is the message that shows a turn's progress and becomes its answer.
"""

from state.canonical import dumps, hash_text, loads
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

_MAX_PLACEHOLDERS = 5


def parse_chat(session: str) -> tuple[int, int | None]:
    """(1007, 5) for "tg:1007:5"; no topic in "tg:1007" and "tg:1007:toast"."""
    parts = session.split(":")
    thread = parts[2] if len(parts) > 2 else ""  # noqa: PLR2004 - channel, chat, thread
    return int(parts[1]), int(thread) if thread.isdecimal() else None


class DeliveryState:
    """Every method may raise StoreError."""

    def __init__(self, store: AsyncStore, bot_id: int) -> None:
        self._store = store
        self._bot_id = bot_id

    async def load_arrived(self, session: str, row_id: str) -> list[int]:
        noted = await self._load_notes("parts", session)
        return [int(ref) for ref in noted["refs"]] if noted.get("row") == row_id else []

    async def record_arrived(self, session: str, row_id: str, refs: list[int]) -> None:
        await self._store.set_value(self._build_key("parts", session), dumps({"row": row_id, "refs": refs}))

    async def find_placeholder(self, session: str, turn: str) -> int:
        """0 if there is none."""
        noted = await self._load_notes("placeholder", session)
        return int(noted.get(turn, 0))

    async def record_placeholder(self, session: str, turn: str, ref: int) -> None:
        """The last few are kept: earlier answers may not be delivered yet."""
        noted = await self._load_notes("placeholder", session)
        newest = sorted(noted.items(), key=lambda item: item[1])[-(_MAX_PLACEHOLDERS - 1) :]
        await self._store.set_value(self._build_key("placeholder", session), dumps({**dict(newest), turn: ref}))

    async def _load_notes(self, what: str, session: str) -> JsonObject:
        noted: JsonObject = loads(await self._store.get_value(self._build_key(what, session)) or "{}")
        return noted

    def _build_key(self, what: str, session: str) -> str:
        return f"telegram:{self._bot_id}:{what}:{hash_text(session)[:24]}"
