"""Tells leads and administrators that a version of a definition was published, and by whom."""

from functools import partial

from orchestrator.domain.actor import Actor, Staff
from orchestrator.domain.inputs import DefinitionNews
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Tools
from state.journal.store import InboxRow


def build_feature(staff: Staff | None) -> Feature:
    """Without `staff` nobody is told."""
    return Feature(inbox={DefinitionNews.KIND: partial(tell_leads, staff=staff)})


async def tell_leads(row: InboxRow, session: Session, _tools: Tools, *, staff: Staff | None) -> None:
    """Not the one who published it."""
    news, by = DefinitionNews.model_validate(row.body), Actor.model_validate(row.actor)
    args = {
        "kind": news.definition_kind,
        "definition": " ".join(news.title.split()) or news.key,
        "version": news.version,
        "who": by.name,
        "door": by.key.partition(":")[0],
        "given": "yes" if news.note else "no",
        "note": news.note,
    }
    notice = Notice(code="definition-published", args=args)
    people = [one for one in staff.list_people() if one.role in {"lead", "admin"} and one.key != by.key] if staff is not None else []
    outbox_rows = [outbox.build_reply_row(person.key, build_reply(notice), session.now) for person in people]
    await session.commit(actor="system", outbox=outbox_rows, inbox_done=[row.id])
