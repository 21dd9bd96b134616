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
"""Words of buttons: ("docs", "do" or "no", offer), ("docs", "ask", mark of a document), ("docs", "page", number, list)."""


async def require_administrator(row: InboxRow, session: Session, tools: Tools) -> Actor | None:
    """None, after telling them, for everybody else."""
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
    """The message replaces the earlier one with `key`; None is a toast alone."""
    click_toasts = build_click_toasts(row, session, Notice(code=toast)) if row.kind == FeatureClick.KIND else []
    if reply is not None:
        click_toasts.append(outbox.build_reply_row(session.key, reply, session.now, key=key or f"docs:{row.id}"))
    await session.commit(actor=actor.key, outbox=click_toasts, timers=timers, inbox_done=[row.id])
