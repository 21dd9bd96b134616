"""A sent file, and presses on buttons about documents.

A file becomes a document only after a press: forwarding a letter does not mean that everybody should read it.
"""

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final, NamedTuple
from uuid import uuid5

from orchestrator.domain.actor import Actor
from orchestrator.domain.file_path import PathRefused, parse_path
from orchestrator.domain.inputs import DocumentOrder, FeatureClick, SentDocument
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.shelf import DocumentShelf, ShelfFailed
from orchestrator.features.documents.answering import (
    MEGABYTE,
    PRESS,
    answer,
    build_failure,
    describe_readers,
    measure,
    require_administrator,
    shorten,
)
from orchestrator.features.documents.listing import ask_to_remove, show_page
from orchestrator.features.documents.offers import Album, Offer, OfferState, build_offer_id, end_offer, keep, load_album, load_offer
from orchestrator.services.rag.document import EXTENSIONS
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.clock import UUID_NAMESPACE
from state.journal.store import InboxRow, OutboxRow, Timer

LARGEST: Final = 20 * MEGABYTE
_TOASTS: Final[dict[OfferState, str]] = {
    "ordered": "toast-already",
    "done": "docs-toast-done",
    "failed": "docs-toast-failed",
    "refused": "docs-toast-refused",
}
"""Answers to a press on an offer that is over."""


class _Asked(NamedTuple):
    """Without an offer the file cannot become a document."""

    row: OutboxRow
    timers: list[Timer]


async def offer_document(row: InboxRow, session: Session, tools: Tools, *, shelf: DocumentShelf | None) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    sent = SentDocument.model_validate(row.body)
    folder = await _find_folder(sent.caption, shelf) if actor.role == "admin" else None
    if (sent.caption and folder is None) or (shelf is None and actor.role != "admin"):  # words are a request, whatever is attached
        await session.commit(actor=actor.key, inbox_done=[row.id], inbox_new=[_restate(row, sent)])
        return
    if actor.role != "admin":
        await answer(build_reply(Notice(code="docs-file-refused")), row, actor, session)
        return
    if shelf is None:
        await answer(build_reply(Notice(code="docs-elsewhere")), row, actor, session)
        return
    try:
        outbox_rows, timers = await _ask_for_folder(sent, folder or "", row, session, tools, shelf)
    except ShelfFailed as error:
        await answer(build_reply(build_failure(error)), row, actor, session)
        return
    await session.commit(actor=actor.key, outbox=outbox_rows, timers=timers, inbox_done=[row.id])


async def _ask_for_folder(
    sent: SentDocument, folder: str, row: InboxRow, session: Session, tools: Tools, shelf: DocumentShelf
) -> tuple[list[OutboxRow], list[Timer]]:
    """Also about files of its album that have no caption."""
    album = await load_album(tools.store, session, sent.album) if sent.album else Album(id="")
    offer = Offer(id=build_offer_id(), what="add", path="", name=sent.name, size=sent.size, file_id=sent.file_id, message=f"docs:{row.id}")
    outbox_rows: list[OutboxRow] = []
    timers: list[Timer] = []
    question = await _ask(offer, folder or album.folder, session, shelf)
    if folder and not album.folder:
        album, outbox_rows, timers = await _move_album(replace(album, folder=folder), session, tools, shelf)
    if not folder:
        album = replace(album, offers=(*album.offers, offer.id))
    timers += [*question.timers, *([keep(album, session)] if album.id else [])]
    return [*outbox_rows, question.row], timers


async def _move_album(album: Album, session: Session, tools: Tools, shelf: DocumentShelf) -> tuple[Album, list[OutboxRow], list[Timer]]:
    """New offers replace the open ones: an old press must not put the file elsewhere."""
    outbox_rows: list[OutboxRow] = []
    timers: list[Timer] = []
    for offer_id in album.offers:
        offer = await load_offer(tools.store, session, offer_id)
        if offer is not None and offer.state == "open":
            question = await _ask(replace(offer, id=build_offer_id()), album.folder, session, shelf)
            outbox_rows.append(question.row)
            timers += [end_offer(offer, session), *question.timers]
    return replace(album, offers=()), outbox_rows, timers


async def _find_folder(caption: str, shelf: DocumentShelf | None) -> str | None:
    if not caption or shelf is None:
        return None
    try:
        return await shelf.find_folder(caption)
    except ShelfFailed:
        return None


async def _ask(offer: Offer, folder: str, session: Session, shelf: DocumentShelf) -> _Asked:
    """Or why the file cannot become a document."""
    built = await _build_question(offer, folder, shelf)
    reply, timers = (built, []) if isinstance(built, Reply) else (_build_reply(*built), [keep(built[0], session)])
    return _Asked(outbox.build_reply_row(session.key, reply, session.now, key=offer.message), timers)


async def _build_question(offer: Offer, folder: str, shelf: DocumentShelf) -> tuple[Offer, Notice] | Reply:
    args = {"name": shorten(offer.name), **measure(offer.size)}
    if PurePosixPath(offer.name).suffix.lower() not in EXTENSIONS:
        return build_reply(Notice(code="docs-kind-unknown", args=args))
    if offer.size > LARGEST:
        return build_reply(Notice(code="docs-too-large", args={**args, "most": LARGEST // MEGABYTE}))
    try:
        (name,) = parse_path(offer.name)  # the folder is there and has its own spelling
    except (PathRefused, ValueError):
        return build_reply(Notice(code="docs-name-unfit", args=args))
    path = f"{folder}/{name}" if folder else name
    there = await shelf.find_document(path)
    if there is not None and not there.is_file:
        return build_reply(Notice(code="docs-name-taken", args={"path": there.path}))
    path, stamp = (there.path, there.stamp) if there is not None else (path, "")
    readers = describe_readers(await shelf.find_readers(path))
    question = Notice(code="docs-replace" if stamp else "docs-add", args={**args, "path": path, "readers": readers.model_dump()})
    return replace(offer, path=path, stamp=stamp, readers=readers.code), question


def _build_reply(offer: Offer, question: Notice) -> Reply:
    yes = Action(words=(PRESS, "do", offer.id), label=Notice(code="docs-button-replace" if offer.stamp else "docs-button-add"))
    no = Action(words=(PRESS, "no", offer.id), label=Notice(code="docs-button-no"))
    return Reply(notices=(question,), actions=(yes, no))


async def take_press(row: InboxRow, session: Session, tools: Tools, *, shelf: DocumentShelf | None) -> None:
    """A press on an offer that is over changes nothing."""
    actor = await require_administrator(row, session, tools)
    if actor is None:
        return
    _, verb, subject, more, *_ = (*FeatureClick.model_validate(row.body).words, "", "", "")
    match verb:
        case "ask" if shelf is not None:
            await ask_to_remove(subject, row, actor, session, shelf)
        case "page" if shelf is not None:
            await show_page(subject, more, row, actor, session, tools, shelf)
        case "do" | "no" if shelf is not None:
            await _take_answer(verb, subject, row, actor, session, tools)
        case _:
            await answer(None, row, actor, session, toast="docs-toast-old")


async def _take_answer(verb: str, offer_id: str, row: InboxRow, actor: Actor, session: Session, tools: Tools) -> None:
    offer = await load_offer(tools.store, session, offer_id)
    if offer is None or offer.state != "open":
        await answer(None, row, actor, session, toast=_TOASTS[offer.state] if offer is not None else "docs-toast-old")
        return
    if verb == "no":
        left = build_reply(Notice(code="docs-left", args={"path": offer.path}))
        await answer(left, row, actor, session, timers=[keep(replace(offer, state="refused"), session)])
        return
    toast = build_click_toasts(row, session, Notice(code="toast-doing"))
    ordered = keep(replace(offer, state="ordered"), session)
    new = _build_order(offer, actor, session)
    await session.commit(actor=actor.key, outbox=toast, timers=[ordered], inbox_done=[row.id], inbox_new=[new])


def _build_order(offer: Offer, actor: Actor, session: Session) -> InboxRow:
    """Return the input that carries out the order. It waits its turn in the chat, so that a download delays no decision about a card."""
    order = DocumentOrder(
        what=offer.what, path=offer.path, stamp=offer.stamp, file_id=offer.file_id, size=offer.size, offer=offer.id, readers=offer.readers
    )
    return order.to_row(
        session.key,
        source=f"docs:{session.key}:{offer.id}:{offer.tries}",
        actor=actor.model_dump(mode="json"),
        now=session.now,
        lane="turn",
    )


def _restate(row: InboxRow, sent: SentDocument) -> InboxRow:
    """Always the same input, so that a crash does not double it."""
    fresh = uuid5(UUID_NAMESPACE, f"{row.id}/instead").hex
    return replace(
        row, id=fresh, source=f"{row.source}:instead", lane=sent.instead_lane, kind=sent.instead_kind, body=dict(sent.instead), attempts=0
    )
