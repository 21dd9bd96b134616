"""Passes contacts, photos and documents on to a waiting run, which downloads them."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import uuid5

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.run_inputs import RunAnswer, RunFile, RunSentItem
from orchestrator.runs.inputs import is_answer_open, settle_answer
from orchestrator.runs.listening import build_input, find_listener
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Files, Tools
from orchestrator.turns.turn import admit_actor
from state.clock import UUID_NAMESPACE
from state.events.runs import InputTaken
from state.journal.blobs import pack_file
from state.journal.store import InboxRow

log = logging.getLogger(__name__)

MEGABYTE: Final = 1024 * 1024
LARGEST_FILE: Final = 20 * MEGABYTE
"""Bytes; Telegram gives a bot no larger one."""
DOWNLOAD_SECONDS: Final = 120.0
AT_ONCE: Final = 2
"""Concurrent downloads; the largest file takes about 130 MB of memory."""


async def pass_item(row: InboxRow, session: Session, tools: Tools) -> None:
    """Without a waiting run it is handled as usual. Of an album only the first item is an answer."""
    item = RunSentItem.model_validate(row.body)
    listener = find_listener(session, row.actor_key, item.answer_kind)
    if item.album and await tools.store.find_inbox(_name_album(session, item)) is not None:
        reply_row = outbox.build_reply_row(session.key, build_reply(Notice(code="run-album")), session.now, key=_name_album(session, item))
        await session.commit(actor=row.actor_key, outbox=[reply_row], inbox_done=[row.id])
        return
    if listener is None:
        await session.commit(actor=row.actor_key, inbox_done=[row.id], inbox_new=[_restate(row, item)])
        return
    actor = await admit_actor(row, session, tools)
    if actor is not None:
        await _pass_on(item, *listener, row, session, actor)


def _name_album(session: Session, item: RunSentItem) -> str:
    return f"run-album:{session.key}:{item.album}"


def _restate(row: InboxRow, item: RunSentItem) -> InboxRow:
    """The same each time, so that a crash does not double it."""
    fresh = uuid5(UUID_NAMESPACE, f"{row.id}/instead").hex
    return replace(
        row, id=fresh, source=f"{row.source}:instead", lane=item.instead_lane, kind=item.instead_kind, body=dict(item.instead), attempts=0
    )


async def _pass_on(item: RunSentItem, question_id: str, run: str, row: InboxRow, session: Session, actor: Actor) -> None:
    if item.answer_kind == "contact":
        answer = RunAnswer(
            question_id=question_id, answer_kind="contact", sent=dict(item.sent), is_own_contact=item.is_own_contact, text=item.caption
        )
        new = build_input(answer, run, actor, session, source=f"run-answer:{row.id}")
        await session.commit(InputTaken(question_id=question_id), actor=actor.key, inbox_done=[row.id], inbox_new=[new])
        return
    file = RunFile(question_id=question_id, answer_kind=item.answer_kind, file_id=item.file_id, sent=dict(item.sent), caption=item.caption)
    source = _name_album(session, item) if item.album else f"run-answer:{row.id}"
    # in the lane in which the run is played, so that decisions and a cancellation do not wait for the download
    new = build_input(file, run, actor, session, source=source, lane="turn")
    await session.commit(actor=actor.key, inbox_done=[row.id], inbox_new=[new])


class FileTaker:
    def __init__(self, files: Files | None) -> None:
        """Without `files` no file can be had."""
        self._files = files
        self._places = asyncio.Semaphore(AT_ONCE)

    async def take_file(self, row: InboxRow, session: Session, tools: Tools) -> None:
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        file = RunFile.model_validate(row.body)
        answer = RunAnswer(question_id=file.question_id, answer_kind=file.answer_kind, text=file.caption, sent=dict(file.sent))
        if not await is_answer_open(answer, row, session, actor):
            return
        async with self._places:
            try:
                content = await self._download(file)
            except FileUnavailable as error:
                log.warning("a file is not given: %s", error, extra={"action": "file_failed", "run": session.key})
                await _refuse(error, row, session, actor, done=[row.id])
                return
            size = len(content)
            digest, text = await asyncio.to_thread(pack_file, session.key, content)
            del content
            answer = answer.model_copy(update={"sent": {**file.sent, "digest": digest, "size": size}})
            await settle_answer(answer, row, session, actor, {digest: text})

    async def _download(self, file: RunFile) -> bytes:
        if self._files is None:
            raise FileUnavailable("no messenger is connected")
        if int(file.sent.get("size") or 0) > LARGEST_FILE:
            raise FileUnavailable("it is too large", is_too_large=True)
        return await self._files.read(file.file_id, LARGEST_FILE, within=DOWNLOAD_SECONDS)

    async def give_up(self, row: InboxRow, session: Session, _tools: Tools) -> None:
        """Each attempt ended the process."""
        actor = Actor.model_validate(row.actor)
        await _refuse(FileUnavailable("each attempt ended the process"), row, session, actor, done=[])


async def _refuse(error: FileUnavailable, row: InboxRow, session: Session, actor: Actor, *, done: Sequence[str]) -> None:
    limit = {"limit": LARGEST_FILE // MEGABYTE}
    notice = Notice(code="run-file-too-large", args=limit) if error.is_too_large else Notice(code="run-file-unread")
    reply_row = outbox.build_reply_row(session.key, build_reply(notice), session.now, key=f"run-file:{row.id}")
    await session.commit(actor=actor.key, outbox=[reply_row], inbox_done=done)
