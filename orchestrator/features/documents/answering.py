from collections.abc import Mapping, Sequence
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Notice, Reply, build_reply
from orchestrator.domain.shelf import Contents, ShelfDocument, ShelfFailed
from orchestrator.language.text import trim_text
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.journal.store import InboxRow, Timer

MEGABYTE: Final = 1024 * 1024
_ON_BUTTON: Final = 60
_IN_LINE: Final = 100
"""So that a page fits into one message of 4,096 characters."""
_ROLES: Final = ("admin", "lead", "manager")


def build_failure(error: ShelfFailed) -> Notice:
    return Notice(code="docs-failed", args={"reason": error.reason[:200]})


def describe_document(shelf_document: ShelfDocument, actor: Actor) -> Notice:
    reason = shelf_document.reasons.get(actor.locale, "")
    args = {
        "path": shorten(shelf_document.path, _IN_LINE),
        **measure(shelf_document.size),
        "state": shelf_document.state if shelf_document.is_file else "link",
        "reason": trim_text(reason, limit=_IN_LINE),
        "readers": describe_readers(shelf_document.readers).model_dump(),
    }
    return Notice(code="docs-line", args=args)


def describe_readers(readers: frozenset[str] | None) -> Notice:
    if readers is None:
        return Notice(code="docs-readers-everybody")
    known: Sequence[str] = [role for role in _ROLES if role in readers]
    return Notice(code=f"docs-readers-{'-'.join(known) or 'nobody'}")


def describe_contents(contents: Contents) -> list[Notice]:
    """What was read, with an example, and what was not."""
    counts = [("sheets", contents.sheets), ("pages", contents.pages), ("slides", contents.slides), ("rows", contents.rows)]
    told = [Notice(code=f"docs-read-{what}", args={"count": count}) for what, count in counts if count]
    if contents.columns:
        told.append(Notice(code="docs-read-columns", args={"names": ", ".join(contents.columns)}))
    if contents.sample:
        told.append(Notice(code="docs-read-sample", args={"text": contents.sample}))
    return [*told, *(Notice(code=f"docs-note-{note.code.replace('_', '-')}", args=_read_details(note.details)) for note in contents.notes)]


def _read_details(details: Mapping[str, str]) -> dict[str, object]:
    return {name: int(detail) if name == "count" else detail for name, detail in details.items()}


def measure(size: int) -> dict[str, object]:
    """{size, unit}, in whole kilobytes or in megabytes with one decimal."""
    if size < MEGABYTE:
        return {"size": max(1, round(size / 1024)), "unit": "kb"}
    return {"size": round(size / MEGABYTE, 1), "unit": "mb"}


def shorten(path: str, longest: int = _ON_BUTTON) -> str:
    """The end stays."""
    return path if len(path) <= longest else "…" + path[-longest + 1 :]


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
