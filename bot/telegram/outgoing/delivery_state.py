"""Stores what delivery must remember over a restart in addition to the outbox: ids of messages, never their text.

For a long answer these are the ids of its messages delivered so far. For a turn (processing of a request) it is the id of its placeholder,
the message that shows the progress and is later edited to become the answer.
"""

from state.canonical import dumps, hash_text, loads
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

_MAX_PLACEHOLDERS = 5


def parse_chat(session: str) -> tuple[int, int | None]:
    """Return the chat id and the topic id of a session key, such as (1007, 5) for "tg:1007:5".

    The topic is None if there is none, as in "tg:1007" and in "tg:1007:toast", under which the answers to clicks are delivered.
    """
    parts = session.split(":")
    thread = parts[2] if len(parts) > 2 else ""  # noqa: PLR2004 - channel, chat, thread
    return int(parts[1]), int(thread) if thread.isdecimal() else None


class DeliveryState:
    """Stores the ids of messages that one bot sent to show an outbox row or a turn's progress. Every method may raise StoreError."""

    def __init__(self, store: AsyncStore, bot_id: int) -> None:
        """Keep the state of the bot with the id `bot_id` in `store`."""
        self._store = store
        self._bot_id = bot_id

    async def load_arrived(self, session: str, row_id: str) -> list[int]:
        """Return the ids of the messages already delivered for an outbox row, in order; an empty list if there are none."""
        noted = await self._load_notes("parts", session)
        return [int(ref) for ref in noted["refs"]] if noted.get("row") == row_id else []

    async def record_arrived(self, session: str, row_id: str, refs: list[int]) -> None:
        """Store `refs`, the ids of the messages delivered so far for an outbox row."""
        await self._store.set_value(self._build_key("parts", session), dumps({"row": row_id, "refs": refs}))

    async def find_placeholder(self, session: str, turn: str) -> int:
        """Return the id of the placeholder, the message that shows the turn's progress and becomes the answer; 0 if there is none.

        A turn is the processing of one request; `turn` is its id.
        """
        noted = await self._load_notes("placeholder", session)
        return int(noted.get(turn, 0))

    async def record_placeholder(self, session: str, turn: str, ref: int) -> None:
        """Store `ref`, the id of the placeholder: the message that shows the turn's progress until the answer replaces it.

        The placeholders of the session's last few turns are kept, since answers of earlier turns may not be delivered yet.
        """
        noted = await self._load_notes("placeholder", session)
        newest = sorted(noted.items(), key=lambda item: item[1])[-(_MAX_PLACEHOLDERS - 1) :]
        await self._store.set_value(self._build_key("placeholder", session), dumps({**dict(newest), turn: ref}))

    async def _load_notes(self, what: str, session: str) -> JsonObject:
        noted: JsonObject = loads(await self._store.get_value(self._build_key(what, session)) or "{}")
        return noted

    def _build_key(self, what: str, session: str) -> str:
        return f"telegram:{self._bot_id}:{what}:{hash_text(session)[:24]}"
