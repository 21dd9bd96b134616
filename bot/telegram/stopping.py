"""The Stop button of a draft as the command /stop. Ring 3, pure."""

from datetime import datetime

from aiogram.types import Update

from bot.access import Access
from bot.telegram.rows import ParsedUpdate
from state.clock import generate_id
from state.store import InboxRow


def parse_stop(update: Update, access: Access, source: str, now: datetime) -> ParsedUpdate | None:
    """The person wants no more of the answer being written; None for other updates, nothing from strangers.

    Drafts exist in private chats only, so the chat is the person.
    """
    stop = update.stopped_message_generation
    if stop is None:
        return None
    actor = access.find_actor(stop.chat.id)
    if actor is None or stop.chat.type != "private":
        return ParsedUpdate()
    session = f"tg:{stop.chat.id}" + (f":{stop.message_thread_id}" if stop.message_thread_id else "")
    row = InboxRow(
        id=generate_id(),
        source=source,
        session=session,
        lane="express",
        kind="command",
        actor=actor.model_dump(mode="json"),
        body={"name": "stop"},
        received_at=now,
    )
    return ParsedUpdate(session=session, rows=(row,))
