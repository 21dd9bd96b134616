"""Handles /docs, a file that is sent to the bot, and the presses on the buttons under both.

A file becomes a document only after a press: whoever forwards a letter to the bot did not mean that everybody should read it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final
from uuid import uuid5

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.file_path import PathRefused, parse_path
from orchestrator.domain.inputs import Command, DocumentOrder, FeatureClick, SentDocument
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.shelf import DocumentShelf, ShelfDocument, ShelfFailed
from orchestrator.features.documents.offers import Offer, add_offers, build_offer_id, load_offers
from orchestrator.runtime import outbox
from orchestrator.runtime.feature import Tools
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import admit_actor, build_click_toasts
from state.clock import UUID_NAMESPACE, generate_id
from state.journal.store import InboxRow

PRESS: Final = "docs"
"""The first word of the buttons: ("docs", "do" or "ask" or "no", id of the offer)."""
LISTED: Final = 10
MEGABYTE: Final = 1024 * 1024
LARGEST: Final = 20 * MEGABYTE
"""The largest file that Telegram gives to a bot, in bytes."""
LONGEST_SHOWN: Final = 60
NAME_LIMIT: Final = 100
KNOWN: Final = frozenset({".md", ".markdown", ".txt", ".text", ".pdf", ".docx", ".xlsx", ".xlsm", ".html", ".htm"})
ROLES: Final = ("admin", "lead", "manager")


async def list_documents(row: InboxRow, session: Session, tools: Tools, *, shelf: DocumentShelf | None) -> None:
    """Show the documents, or those whose path holds what was typed after the command, each with a button that removes it."""
    actor = await _require_administrator(row, session, tools)
    if actor is None:
        return
    if Address.parse(session.key).is_group:
        await _answer(build_reply(Notice(code="docs-private")), row, actor, session)
        return
    wanted = " ".join(Command.model_validate(row.body).args.split())[:NAME_LIMIT]
    if shelf is None:
        await _answer(build_reply(Notice(code="docs-elsewhere")), row, actor, session)
        return
    try:
        found = [one for one in await shelf.list_documents() if wanted.casefold() in one.path.casefold()]
    except ShelfFailed as error:
        await _answer(build_reply(build_failure(error)), row, actor, session)
        return
    shown = found[:LISTED]
    offers = [Offer(id=build_offer_id(), what="remove", path=one.path, size=one.size, stamp=one.stamp) for one in shown]
    await add_offers(tools.store, session.key, *offers)
    heading = Notice(code="docs-listed", args={"count": len(found), "shown": len(shown), "wanted": wanted or "none"})
    lines = [describe_document(one, actor) for one in shown]
    buttons = [
        Action(words=(PRESS, "ask", one.id), label=Notice(code="docs-button-remove", args={"name": shorten(one.path)})) for one in offers
    ]
    await _answer(Reply(notices=(heading, *lines), actions=tuple(buttons)), row, actor, session)


async def offer_document(row: InboxRow, session: Session, tools: Tools, *, shelf: DocumentShelf | None) -> None:
    """Ask an administrator whether the file becomes a document, and tell everybody else who may do that."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    sent = SentDocument.model_validate(row.body)
    folder = await _find_folder(sent.caption, shelf) if actor.role == "admin" else None
    if (sent.caption and folder is None) or (shelf is None and actor.role != "admin"):  # words are a request, whatever is attached
        await session.commit(actor=actor.key, inbox_done=[row.id], inbox_new=[_restate(row, sent)])
        return
    if actor.role != "admin":
        await _answer(build_reply(Notice(code="docs-file-refused")), row, actor, session)
        return
    if shelf is None:
        await _answer(build_reply(Notice(code="docs-elsewhere")), row, actor, session)
        return
    try:
        reply = await _build_offer(sent, folder or "", shelf, session, tools)
    except ShelfFailed as error:
        reply = build_reply(build_failure(error))
    await _answer(reply, row, actor, session)


async def _find_folder(caption: str, shelf: DocumentShelf | None) -> str | None:
    if not caption or shelf is None:
        return None
    try:
        return await shelf.find_folder(caption)
    except ShelfFailed:
        return None


async def _build_offer(sent: SentDocument, folder: str, shelf: DocumentShelf, session: Session, tools: Tools) -> Reply:
    """Return the question whether the file becomes a document, or why it cannot."""
    shown = {"name": shorten(sent.name), **measure(sent.size)}
    if PurePosixPath(sent.name).suffix.lower() not in KNOWN:
        return build_reply(Notice(code="docs-kind-unknown", args=shown))
    if sent.size > LARGEST:
        return build_reply(Notice(code="docs-too-large", args={**shown, "most": LARGEST // MEGABYTE}))
    try:
        (name,) = parse_path(sent.name)  # the folder is there and has its own spelling
    except (PathRefused, ValueError):
        return build_reply(Notice(code="docs-name-unfit", args=shown))
    path = f"{folder}/{name}" if folder else name
    there = await shelf.find_document(path)
    path = there.path if there is not None else path
    offer = Offer(
        id=build_offer_id(), what="add", path=path, size=sent.size, stamp=there.stamp if there is not None else "", file_id=sent.file_id
    )
    await add_offers(tools.store, session.key, offer)
    readers = describe_readers(await shelf.find_readers(path))
    code, button = ("docs-replace", "docs-button-replace") if there is not None else ("docs-add", "docs-button-add")
    question = Notice(code=code, args={**shown, "path": path, "readers": readers.model_dump()})
    buttons = (
        Action(words=(PRESS, "do", offer.id), label=Notice(code=button)),
        Action(words=(PRESS, "no", offer.id), label=Notice(code="docs-button-no")),
    )
    return Reply(notices=(question,), actions=buttons)


async def take_press(row: InboxRow, session: Session, tools: Tools, *, shelf: DocumentShelf | None) -> None:
    """Do what the pressed button offers, once: a second press is answered and changes nothing."""
    actor = await _require_administrator(row, session, tools)
    if actor is None:
        return
    _, verb, offer_id, *_ = (*FeatureClick.model_validate(row.body).words, "", "", "")
    offer = next((one for one in await load_offers(tools.store, session.key) if one.id == offer_id), None)
    if offer is None or shelf is None:
        await session.commit(actor=actor.key, outbox=build_click_toasts(row, session, Notice(code="choice-outdated")), inbox_done=[row.id])
        return
    source = f"docs:{session.key}:{offer.id}"
    if await tools.store.find_inbox(source) is not None:
        toast = build_click_toasts(row, session, Notice(code="docs-toast-done"))
        await session.commit(actor=actor.key, outbox=toast, inbox_done=[row.id])
        return
    match verb:
        case "ask":
            sure = Action(words=(PRESS, "do", offer.id), label=Notice(code="docs-button-remove-sure"))
            keep = Action(words=(PRESS, "no", offer.id), label=Notice(code="docs-button-keep"))
            asked = Reply(notices=(Notice(code="docs-remove", args={"path": offer.path}),), actions=(sure, keep))
            await _answer(asked, row, actor, session)
        case "do":
            order = DocumentOrder(what=offer.what, path=offer.path, stamp=offer.stamp, file_id=offer.file_id, size=offer.size)
            new = _build_order(order, source, actor, session)
            toast = build_click_toasts(row, session, Notice(code="toast-doing"))
            await session.commit(actor=actor.key, outbox=toast, inbox_done=[row.id], inbox_new=[new])
        case _:
            await _answer(build_reply(Notice(code="docs-left", args={"path": offer.path})), row, actor, session)


def _build_order(order: DocumentOrder, source: str, actor: Actor, session: Session) -> InboxRow:
    """Return the input that carries out the order. It waits its turn in the chat, so that a download delays no decision about a card."""
    return InboxRow(
        id=generate_id(),
        source=source,
        session=session.key,
        lane="turn",
        kind=DocumentOrder.KIND,
        actor=actor.model_dump(mode="json"),
        body=order.to_json(),
        received_at=session.now,
    )


def _restate(row: InboxRow, sent: SentDocument) -> InboxRow:
    """Return the input that the message is beside its file. It is the same one each time, so that a crash does not double it."""
    fresh = uuid5(UUID_NAMESPACE, f"{row.id}/instead").hex
    return replace(
        row, id=fresh, source=f"{row.source}:instead", lane=sent.instead_lane, kind=sent.instead_kind, body=dict(sent.instead), attempts=0
    )


async def _require_administrator(row: InboxRow, session: Session, tools: Tools) -> Actor | None:
    """Return the sender of the input if they are an administrator now; otherwise tell them who may do this, and return None."""
    actor = await admit_actor(row, session, tools)
    if actor is None or actor.role == "admin":
        return actor
    await _answer(build_reply(Notice(code="docs-admins-only")), row, actor, session)
    return None


async def _answer(reply: Reply, row: InboxRow, actor: Actor, session: Session) -> None:
    toasts = build_click_toasts(row, session, Notice(code="toast-doing")) if row.kind == FeatureClick.KIND else []
    told = [*toasts, outbox.build_reply_row(session.key, reply, session.now, key=f"docs:{row.id}")]
    await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id])


def build_failure(error: ShelfFailed) -> Notice:
    """Return the sentence about a folder that cannot be used."""
    return Notice(code="docs-failed", args={"reason": error.reason[:200]})


def describe_document(found: ShelfDocument, actor: Actor) -> Notice:
    """Return the line about a document: its path, size, whether people can ask it, and who."""
    args = {
        "path": found.path,
        **measure(found.size),
        "state": found.state,
        "reason": found.reasons.get(actor.locale, ""),
        "readers": describe_readers(found.readers).model_dump(),
    }
    return Notice(code="docs-line", args=args)


def describe_readers(readers: frozenset[str] | None) -> Notice:
    """Return who may read a document, in words."""
    if readers is None:
        return Notice(code="docs-readers-everybody")
    known: Sequence[str] = [one for one in ROLES if one in readers]
    return Notice(code=f"docs-readers-{'-'.join(known) or 'nobody'}")


def measure(size: int) -> dict[str, object]:
    """Return a size in bytes as people write it: {size, unit}, in whole kilobytes or in megabytes with one decimal."""
    if size < MEGABYTE:
        return {"size": max(1, round(size / 1024)), "unit": "kb"}
    return {"size": round(size / MEGABYTE, 1), "unit": "mb"}


def shorten(path: str) -> str:
    """Return a path that fits on a button: the end of a long one."""
    return path if len(path) <= LONGEST_SHOWN else "…" + path[-LONGEST_SHOWN + 1 :]
