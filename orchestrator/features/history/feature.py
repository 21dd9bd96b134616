"""The command /history and the buttons of its pages."""

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
from orchestrator.turns.feature import Feature, Tools
from orchestrator.turns.turn import admit_actor
from state.journal.store import InboxRow, OutboxRow

COMMAND: Final = "history"
_WORDS: Final = 4


class History:
    """It only reads, so it works during a freeze. Rights are checked for every page."""

    async def show_first_page(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """By default of the conversation's record."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        words = str(row.body.get("args") or "")
        screen = row.id[-12:]
        target: str | Reply | Notice = (
            parse_record_reference(words, tools.gate.deps.catalogue) if words.strip() else find_current_record(session.state)
        )
        if not target:
            target = await self._find_by_name(words, actor, session, tools, screen=screen)
        page = await self._build_page(target, 0, actor, session, tools=tools, screen=screen) if isinstance(target, str) else target
        reply = build_reply(page) if isinstance(page, Notice) else page
        outbox_row = outbox.build_reply_row(session.key, reply, session.now) if isinstance(reply, Reply) else reply
        await session.commit(actor=actor.key, outbox=[outbox_row], inbox_done=[row.id])

    async def show_page(self, row: InboxRow, session: Session, tools: Tools) -> None:
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        words: list[str] = list(row.body.get("words") or ())
        target = parse_record_reference(words[1].replace(".", ":"), tools.gate.deps.catalogue) if len(words) == _WORDS else ""
        page = int(words[2]) if len(words) == _WORDS and words[2].isdecimal() and len(words[2]) <= _WORDS else 0
        body: OutboxRow | Notice = Notice(code="history-which")
        if target:
            body = await self._build_page(target, page, actor, session, tools=tools, screen=words[3])
        callback = str(row.body.get("callback_id") or "")
        toast = body if isinstance(body, Notice) else Notice(code="history-turned", args={"page": page + 1})
        rows = [outbox.build_toast_row(session.key, callback, toast, session.now)] if callback else []
        rows += [body] if isinstance(body, OutboxRow) else []
        await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])

    async def _find_by_name(self, name: str, actor: Actor, session: Session, tools: Tools, *, screen: str) -> str | Reply | Notice:
        """Or a question or message to show instead."""
        if not name.strip():
            return Notice(code="history-which")
        try:
            return await find_record_by_name(name, actor, session, tools, screen=screen)
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


def build_feature() -> Feature:
    """Buttons hold ("history", record, page, message)."""
    history = History()
    return Feature(commands={COMMAND: history.show_first_page}, buttons={COMMAND: history.show_page})
