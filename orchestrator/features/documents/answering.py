"""What the inputs about documents have in common: who may give them, and how they are answered."""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Notice, Reply, build_reply
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.journal.store import InboxRow, Timer

PRESS: Final = "docs"
"""The first word of the buttons.

("docs", "do" or "no", id of an offer), ("docs", "ask", mark of a listed document), ("docs", "page", number, id of a list).
"""


async def require_administrator(row: InboxRow, session: Session, tools: Tools) -> Actor | None:
    """Return the sender of the input if they are an administrator now; otherwise tell them who may do this, and return None."""
    actor = await admit_actor(row, session, tools)
    if actor is None or actor.role == "admin":
        return actor
    await answer(build_reply(Notice(code="docs-admins-only")), row, actor, session)
    return None


async def answer(
    reply: Reply | None,
    row: InboxRow,
    actor: Actor,
    session: Session,
    *,
    key: str = "",
    toast: str = "toast-doing",
    timers: Sequence[Timer] = (),
) -> None:
    """End the input with a message, or with a toast alone. The message replaces the earlier one that has this key."""
    click_toasts = build_click_toasts(row, session, Notice(code=toast)) if row.kind == FeatureClick.KIND else []
    if reply is not None:
        click_toasts.append(outbox.build_reply_row(session.key, reply, session.now, key=key or f"docs:{row.id}"))
    await session.commit(actor=actor.key, outbox=click_toasts, timers=timers, inbox_done=[row.id])
