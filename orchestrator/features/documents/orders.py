"""Carries out the orders to add a document and to remove one, each once, and tells what came of it."""

import hashlib
import logging
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.inputs import DocumentOrder
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.shelf import DocumentShelf, ShelfFailed
from orchestrator.features.documents.handlers import LARGEST, MEGABYTE, build_failure, describe_readers, measure
from orchestrator.runtime import outbox
from orchestrator.runtime.feature import Files, Tools
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import admit_actor
from state.events.documents import DocumentChanged
from state.journal.store import InboxRow

DOWNLOAD_SECONDS: Final = 120.0
log = logging.getLogger(__name__)


class OrderTaker:
    """Carries out orders on one folder of documents."""

    def __init__(self, shelf: DocumentShelf | None, files: Files | None) -> None:
        """Change `shelf`, and download with `files`."""
        self._shelf, self._files = shelf, files

    async def take(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Carry out the order if the person still is an administrator. After a crash it is carried out again and changes nothing more."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        order = DocumentOrder.model_validate(row.body)
        event: DocumentChanged | None = None
        if actor.role != "admin":
            told = Notice(code="docs-admins-only")
        elif self._shelf is None:
            told = Notice(code="docs-elsewhere")
        else:
            try:
                event, told = await (self._add if order.what == "add" else self._remove)(order, actor, self._shelf)
            except ShelfFailed as error:
                log.warning("documents: %s", error.reason, extra={"action": "document_not_changed"})
                told = build_failure(error)
        reply = outbox.build_reply_row(session.key, build_reply(told), session.now, key=f"docs-order:{row.id}")
        await session.commit(*([event] if event is not None else []), actor=actor.key, outbox=[reply], inbox_done=[row.id])

    async def _add(self, order: DocumentOrder, actor: Actor, shelf: DocumentShelf) -> tuple[DocumentChanged | None, Notice]:
        shown = {"path": order.path}
        try:
            content = await self._download(order)
        except FileUnavailable as error:
            code = "docs-too-large" if error.is_too_large else "docs-not-downloaded"
            return None, Notice(code=code, args={"name": order.path, **measure(order.size), "most": LARGEST // MEGABYTE})
        result = await shelf.add_document(order.path, content, replaces=order.stamp)
        if result in {"exists", "changed"}:
            return None, Notice(code=f"docs-{result}", args=shown)
        found = await shelf.wait_until_read(order.path)
        event = DocumentChanged(
            what="replaced" if result == "replaced" else "added",
            path=order.path,
            digest=hashlib.sha256(content).hexdigest(),
            size=len(content),
            by=actor.key,
            by_name=actor.name,
            user=actor.bitrix_user_id,
        )
        state = found.state if found is not None else "waiting"
        readers = describe_readers(await shelf.find_readers(order.path)).model_dump()
        reason = found.reasons.get(actor.locale, "") if found is not None else ""
        return event, Notice(code="docs-done", args={**shown, "what": result, "state": state, "reason": reason, "readers": readers})

    async def _download(self, order: DocumentOrder) -> bytes:
        if self._files is None:
            raise FileUnavailable("no messenger is connected")
        return await self._files.read(order.file_id, LARGEST, within=DOWNLOAD_SECONDS)

    async def _remove(self, order: DocumentOrder, actor: Actor, shelf: DocumentShelf) -> tuple[DocumentChanged | None, Notice]:
        result = await shelf.remove_document(order.path, stamp=order.stamp)
        if result == "changed":
            return None, Notice(code="docs-changed", args={"path": order.path})
        await shelf.wait_until_read(order.path)
        event = DocumentChanged(what="removed", path=order.path, by=actor.key, by_name=actor.name, user=actor.bitrix_user_id)
        return event, Notice(code="docs-removed", args={"path": order.path})

    async def give_up(self, row: InboxRow, session: Session, _tools: Tools) -> None:
        """Tell the person that the order was not carried out, because each attempt ended the process."""
        order = DocumentOrder.model_validate(row.body)
        told = Notice(code="docs-given-up", args={"path": order.path})
        await session.commit(
            actor=str(row.actor.get("key", "")), outbox=[outbox.build_reply_row(session.key, build_reply(told), session.now)]
        )
