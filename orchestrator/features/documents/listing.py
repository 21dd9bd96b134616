"""/docs and its pages.

A button names a document by a hash of path and stamp: exactly the one that was listed.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.inputs import Command
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.shelf import DocumentShelf, ShelfDocument, ShelfFailed
from orchestrator.features.documents.answering import PRESS, answer, build_failure, describe_document, require_administrator, shorten
from orchestrator.features.documents.offers import Listing, Offer, build_offer_id, keep, load_listing
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.journal.store import InboxRow

LISTED: Final = 10
_WANTED: Final = 100
_MARK: Final = 16
_DIGITS: Final = 6


async def list_documents(row: InboxRow, session: Session, tools: Tools, *, shelf: DocumentShelf | None) -> None:
    """All, or those whose path holds the typed words."""
    actor = await require_administrator(row, session, tools)
    if actor is None:
        return
    if Address.parse(session.key).is_group:
        await answer(build_reply(Notice(code="docs-private")), row, actor, session)
        return
    if shelf is None:
        await answer(build_reply(Notice(code="docs-elsewhere")), row, actor, session)
        return
    query = " ".join(Command.model_validate(row.body).args.split())[:_WANTED]
    listing = Listing(id=build_offer_id(), wanted=query)
    try:
        reply = await _build_page(listing, 0, actor, shelf)
    except ShelfFailed as error:
        reply = build_reply(build_failure(error))
    await answer(reply, row, actor, session, key=_build_key(listing.id), timers=[keep(listing, session)])


async def show_page(
    number: str, listing_id: str, row: InboxRow, actor: Actor, session: Session, tools: Tools, shelf: DocumentShelf
) -> None:
    """Counted from 0; the last page stands for a number that is too large."""
    listing = await load_listing(tools.store, session, listing_id)
    if listing is None or not number.isdecimal() or len(number) > _DIGITS:
        await answer(None, row, actor, session, toast="docs-toast-old")
        return
    try:
        reply = await _build_page(listing, int(number), actor, shelf)
    except ShelfFailed as error:
        await answer(build_reply(build_failure(error)), row, actor, session)
        return
    await answer(reply, row, actor, session, key=_build_key(listing.id), timers=[keep(listing, session)])


async def ask_to_remove(mark: str, row: InboxRow, actor: Actor, session: Session, shelf: DocumentShelf) -> None:
    """Each question is an offer of its own, which one answer ends."""
    try:
        document = next((one for one in await shelf.list_documents() if one.is_file and _build_mark(one) == mark), None)
    except ShelfFailed as error:
        await answer(build_reply(build_failure(error)), row, actor, session)
        return
    if document is None:
        await answer(None, row, actor, session, toast="docs-toast-old")
        return
    offer = Offer(id=build_offer_id(), what="remove", path=document.path, size=document.size, stamp=document.stamp)
    sure = Action(words=(PRESS, "do", offer.id), label=Notice(code="docs-button-remove-sure"))
    left = Action(words=(PRESS, "no", offer.id), label=Notice(code="docs-button-keep"))
    reply = Reply(notices=(Notice(code="docs-remove", args={"path": document.path}),), actions=(sure, left))
    await answer(reply, row, actor, session, timers=[keep(offer, session)])


async def _build_page(listing: Listing, number: int, actor: Actor, shelf: DocumentShelf) -> Reply:
    shelf_documents = [document for document in await shelf.list_documents() if listing.wanted.casefold() in document.path.casefold()]
    pages = max(1, -(-len(shelf_documents) // LISTED))
    page = min(number, pages - 1)
    documents = shelf_documents[page * LISTED : (page + 1) * LISTED]
    args = {"count": len(shelf_documents), "wanted": listing.wanted or "none", "page": page + 1, "pages": pages}
    return Reply(
        notices=(Notice(code="docs-listed", args=args), *(describe_document(shelf_document, actor) for shelf_document in documents)),
        actions=(*_build_removals(documents), *_build_turns(listing, page, pages)),
    )


def _build_removals(shelf_documents: Sequence[ShelfDocument]) -> list[Action]:
    return [
        Action(words=(PRESS, "ask", _build_mark(document)), label=Notice(code="docs-button-remove", args={"name": shorten(document.path)}))
        for document in shelf_documents
        if document.is_file
    ]


def _build_turns(listing: Listing, page: int, pages: int) -> list[Action]:
    turns = [("docs-button-back", page - 1), ("docs-button-on", page + 1)]
    return [
        Action(words=(PRESS, "page", str(number), listing.id), label=Notice(code=code)) for code, number in turns if 0 <= number < pages
    ]


def _build_mark(document: ShelfDocument) -> str:
    return hashlib.sha256(f"{document.stamp}\n{document.path}".encode(errors="surrogatepass")).hexdigest()[:_MARK]


def _build_key(listing_id: str) -> str:
    return f"docs-list:{listing_id}"
