"""Handles the command /history and its buttons. They only read, so they work even while the bot may not write.

The person's rights to the record are checked again for every page.
"""

from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import parse_target
from orchestrator.domain.outputs import Notice, Reply, build_reply
from orchestrator.features.history.pages import HistoryPages, build_history_row
from orchestrator.features.history.record_index import RecordIndex
from orchestrator.features.history.record_lookup import find_current_record, find_record_by_name, parse_record_reference
from orchestrator.gate.call import targets
from orchestrator.gate.call.permissions import find_visible_users, may_touch
from orchestrator.gate.call.reasons import build_read_refusal
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor
from state.journal.store import InboxRow, OutboxRow

COMMAND: Final = "history"
_WORDS: Final = 4


class History:
    """Handles the command /history and the clicks on the buttons of its pages."""

    async def show_first_page(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Handle /history: show the first page of a record's history. Raises StoreError.

        The argument is a number or a name ("/history 481", "/history Ромашка"); without one, the record that the conversation is about is
        shown.
        """
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        said = str(row.body.get("args") or "")
        screen = row.id[-12:]
        target: str | Reply | Notice = (
            parse_record_reference(said, tools.gate.deps.catalogue) if said.strip() else find_current_record(session.state)
        )
        if not target:
            target = await self._find_by_name(said, actor, session, tools, screen=screen)
        told = await self._build_page(target, 0, actor, session, tools=tools, screen=screen) if isinstance(target, str) else target
        reply = build_reply(told) if isinstance(told, Notice) else told
        outbox_row = outbox.build_reply_row(session.key, reply, session.now) if isinstance(reply, Reply) else reply
        await session.commit(actor=actor.key, outbox=[outbox_row], inbox_done=[row.id])

    async def show_page(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Handle a click on a page button: show that page in the same message. Raises StoreError."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        words: list[str] = list(row.body.get("words") or ())
        target = parse_record_reference(words[1].replace(".", ":"), tools.gate.deps.catalogue) if len(words) == _WORDS else ""
        page = int(words[2]) if len(words) == _WORDS and words[2].isdecimal() and len(words[2]) <= _WORDS else 0
        told: OutboxRow | Notice = Notice(code="history-which")
        if target:
            told = await self._build_page(target, page, actor, session, tools=tools, screen=words[3])
        callback = str(row.body.get("callback_id") or "")
        toast = told if isinstance(told, Notice) else Notice(code="history-turned", args={"page": page + 1})
        rows = [outbox.build_toast_row(session.key, callback, toast, session.now)] if callback else []
        rows += [told] if isinstance(told, OutboxRow) else []
        await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])

    async def _find_by_name(self, said: str, actor: Actor, session: Session, tools: Tools, *, screen: str) -> str | Reply | Notice:
        """Return the record with the name `said`, as a text such as "deal:481"; otherwise a question or a message to show instead.

        `screen` is the id of the message that will show the history; the buttons of the question contain it.
        """
        if not said.strip():
            return Notice(code="history-which")
        try:
            return await find_record_by_name(said, actor, session, tools, screen=screen)
        except BitrixError as error:
            return build_read_refusal(error).reason

    async def _build_page(self, target: str, page: int, actor: Actor, session: Session, *, tools: Tools, screen: str) -> OutboxRow | Notice:
        deps = tools.gate.deps
        kind, number = parse_target(target)
        entity = targets.find_definition(kind, deps.catalogue)
        if entity is None:
            return Notice(code="history-which")
        try:
            record = (await deps.records.load_records([(kind, number)]))[kind, number]
        except BitrixError as error:
            return build_read_refusal(error).reason
        if record is None and find_visible_users(actor) is not None:  # the owner of a deleted record is unknown
            return Notice(code="gate-not-found", args={"entity": kind, "id": number})
        if record is not None and not may_touch(actor, entity, record):
            return Notice(code="gate-not-yours", args={"entity": kind, "id": number})
        body = await HistoryPages(RecordIndex(tools.store), deps, tools.refresh_actor).build_body(
            target, record, page=page, actor=actor, screen=screen, now=session.now
        )
        return build_history_row(session.key, body, session.now)
