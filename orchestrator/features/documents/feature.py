"""/docs, and files that are sent to the bot."""

import hashlib
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, NamedTuple

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.inputs import DocumentOrder, SentDocument
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.shelf import DocumentShelf, ShelfDocument, ShelfFailed
from orchestrator.features.documents import handlers, listing, offers
from orchestrator.features.documents.answering import MEGABYTE, PRESS, build_failure, describe_contents, describe_readers, measure
from orchestrator.features.documents.handlers import LARGEST
from orchestrator.features.documents.offers import Offer, OfferState, keep, load_offer
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import CommandSpec, Feature, Files, Tools
from orchestrator.turns.turn import admit_actor
from state.events.documents import DocumentChanged
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, Timer

DOWNLOAD_SECONDS: Final = 120.0
log = logging.getLogger(__name__)


class _Outcome(NamedTuple):
    """The journal notes an event only if this order changed something."""

    told: Notice
    state: OfferState
    event: DocumentChanged | None = None


@dataclass(frozen=True, slots=True)
class _Order:
    body: DocumentOrder
    row: InboxRow
    actor: Actor
    shelf: DocumentShelf
    store: AsyncStore


class OrderTaker:
    def __init__(self, shelf: DocumentShelf | None, files: Files | None) -> None:
        self._shelf, self._files = shelf, files

    async def take(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """After a crash it changes nothing more. What may pass leaves the offer open, with a button."""
        actor = await admit_actor(row, session, tools)
        body = DocumentOrder.model_validate(row.body)
        offer = await load_offer(tools.store, session, body.offer)
        if actor is None:
            await session.commit(actor=row.actor_key, timers=_settle(offer, "open", session))
            return
        outcome = await self._carry_out(body, row, actor, tools)
        retry = Action(words=(PRESS, "do", body.offer), label=Notice(code="docs-button-retry"))
        actions = (retry,) if outcome.state == "open" and offer is not None and actor.role == "admin" else ()
        reply = Reply(notices=(outcome.told,), actions=actions)
        await session.commit(
            *([outcome.event] if outcome.event is not None else []),
            actor=actor.key,
            outbox=[outbox.build_reply_row(session.key, reply, session.now, key=f"docs-order:{row.id}")],
            timers=_settle(offer, outcome.state, session),
            inbox_done=[row.id],
        )

    async def _carry_out(self, body: DocumentOrder, row: InboxRow, actor: Actor, tools: Tools) -> _Outcome:
        if actor.role != "admin":
            return _Outcome(Notice(code="docs-admins-only"), "open")
        if self._shelf is None:
            return _Outcome(Notice(code="docs-elsewhere"), "open")
        order = _Order(body, row, actor, self._shelf, tools.store)
        try:
            return await (self._add if body.what == "add" else self._remove)(order)
        except ShelfFailed as error:
            log.warning("documents: %s", error.reason, extra={"action": "document_not_changed"})
            return _Outcome(build_failure(error), "open")

    async def _add(self, order: _Order) -> _Outcome:
        path, shelf = order.body.path, order.shelf
        readers = describe_readers(await shelf.find_readers(path))
        if readers.code != order.body.readers and not await _may_be_done(order):
            return _Outcome(Notice(code="docs-readers-changed", args={"path": path, "readers": readers.model_dump()}), "failed")
        try:
            content = await self._download(order.body)
        except FileUnavailable as error:
            notice = Notice(
                code="docs-too-large" if error.is_too_large else "docs-not-downloaded",
                args={"name": path, **measure(order.body.size), "most": LARGEST // MEGABYTE},
            )
            return _Outcome(notice, "failed" if error.is_too_large else "open")
        result = await shelf.add_document(path, content, replaces=order.body.stamp)
        if result in {"exists", "changed"}:
            return _Outcome(Notice(code=f"docs-{result}", args={"path": path}), "failed")
        if result == "same" and not await _was_done_before(order):
            return _Outcome(Notice(code="docs-same", args={"path": path}), "done")
        what: Literal["added", "replaced"] = "replaced" if order.body.stamp else "added"
        event = DocumentChanged(
            what=what,
            path=path,
            digest=hashlib.sha256(content).hexdigest(),
            size=len(content),
            by=order.actor.key,
            by_name=order.actor.name,
            user=order.actor.bitrix_user_id,
        )
        shelf_document = await _wait_until_read(order)
        state = shelf_document.state if shelf_document is not None else "waiting"
        reason = shelf_document.reasons.get(order.actor.locale, "") if shelf_document is not None else ""
        read = [one.model_dump() for one in describe_contents(shelf_document.contents)] if shelf_document is not None else []
        args = {"path": path, "what": what, "state": state, "reason": reason, "readers": readers.model_dump(), "read": read or "none"}
        return _Outcome(Notice(code="docs-done", args=args), "done", event)

    async def _download(self, order: DocumentOrder) -> bytes:
        if self._files is None:
            raise FileUnavailable("no messenger is connected")
        return await self._files.read(order.file_id, LARGEST, within=DOWNLOAD_SECONDS)

    async def _remove(self, order: _Order) -> _Outcome:
        path, actor = order.body.path, order.actor
        result = await order.shelf.remove_document(path, stamp=order.body.stamp)
        if result == "changed":
            return _Outcome(Notice(code="docs-changed", args={"path": path}), "failed")
        if result == "gone" and not await _was_done_before(order):
            return _Outcome(Notice(code="docs-gone", args={"path": path}), "done")
        await _wait_until_read(order)
        event = DocumentChanged(what="removed", path=path, by=actor.key, by_name=actor.name, user=actor.bitrix_user_id)
        return _Outcome(Notice(code="docs-removed", args={"path": path}), "done", event)

    async def give_up(self, row: InboxRow, session: Session, tools: Tools) -> None:
        order = DocumentOrder.model_validate(row.body)
        offer = await load_offer(tools.store, session, order.offer)
        body = build_reply(Notice(code="docs-given-up", args={"path": order.path}))
        reply = outbox.build_reply_row(session.key, body, session.now)
        await session.commit(actor=row.actor_key, outbox=[reply], timers=_settle(offer, "failed", session))


def _settle(offer: Offer | None, state: OfferState, session: Session) -> list[Timer]:
    """An offer that is open again can be ordered once more."""
    if offer is None or offer.state != "ordered":
        return []
    return [keep(replace(offer, state=state, tries=offer.tries + 1), session)]


async def _was_done_before(order: _Order) -> bool:
    """An attempt that was not noted made what is there now; otherwise the journal names somebody else."""
    if order.row.attempts <= 1:
        return False
    others = await order.store.scan((DocumentChanged.__name__,), order.row.id)
    return all(DocumentChanged.from_data(one.data).path != order.body.path for one in others)


async def _may_be_done(order: _Order) -> bool:
    """Something stands there that the question did not show."""
    if order.row.attempts <= 1:
        return False
    document = await order.shelf.find_document(order.body.path)
    return document is not None and document.stamp != order.body.stamp


async def _wait_until_read(order: _Order) -> ShelfDocument | None:
    """The change is made: a failure now must not be told as if it were not."""
    try:
        return await order.shelf.wait_until_read(order.body.path)
    except ShelfFailed as error:
        log.warning("documents: %s", error.reason, extra={"action": "document_not_found"})
        return None


def build_feature(shelf: DocumentShelf | None, files: Files | None) -> Feature:
    """Without `shelf` documents are kept elsewhere; without `files` nothing can be sent."""
    taker = OrderTaker(shelf, files)
    return Feature(
        inbox={SentDocument.KIND: partial(handlers.offer_document, shelf=shelf), DocumentOrder.KIND: taker.take},
        commands={"docs": partial(listing.list_documents, shelf=shelf)},
        command_specs={"docs": CommandSpec(menu=Notice(code="menu-docs"), for_admins=True)} if shelf is not None else {},
        buttons={PRESS: partial(handlers.take_press, shelf=shelf)},
        timers={offers.TIMER: offers.forget},
        given_up_inputs={DocumentOrder.KIND: taker.give_up},
    )
