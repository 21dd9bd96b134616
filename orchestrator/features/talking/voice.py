"""Voice messages: heard by a transcription service, shown as they were heard, then worked as the person's own words. Ring 2.

A recording is fetched and heard while its input is worked, never when it is taken in. A word that was heard decides no card.
"""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.runtime import outbox
from orchestrator.runtime.input_filter import build_dropped_event
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import Tools, admit_actor, run_turn
from state.canonical import to_storable_text
from state.journal.store import InboxRow

log = logging.getLogger(__name__)
T = TypeVar("T")

LONGEST: Final = 300
"""Seconds; a longer speech is no request."""
LARGEST: Final = 20_000_000
"""Bytes; no more is given to a bot."""
MAX_TEXT: Final = 20_000


class FileUnavailable(Exception):
    """The messenger does not give the file; the text says why, without an address."""


class Files(Protocol):
    """Where recordings come from; a door implements it."""

    async def read(self, file_id: str, limit: int) -> bytes:
        """The file; raises FileUnavailable, also for one above `limit` bytes."""
        ...


class SpeechToText(Protocol):
    """What turns speech into words."""

    async def transcribe(self, recording: bytes, *, language: str) -> str:
        """The words, "" where nothing was said; raises ModelClientError."""
        ...


@dataclass(frozen=True, kw_only=True)
class VoiceInput:
    """How voice messages are heard here; without a listener they are not."""

    files: Files
    transcriber: SpeechToText | None = None

    async def receive_voice(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Work one voice message to its end. Raises StoreError.

        What was heard is stored in the place of the recording before anything comes of it: after a crash it is not heard anew.
        """
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        left_out = build_dropped_event(row, session)
        if left_out is not None:
            await session.commit(left_out, actor=actor.key, inbox_done=[row.id])
            return
        words = row.body.get("heard")
        if words is None:
            words = await self._transcribe(row, actor, session, tools)
        if words is not None:
            await run_turn(replace(row, kind="message", body=_build_request(row.body, words)), session, tools)

    async def _transcribe(self, row: InboxRow, actor: Actor, session: Session, tools: Tools) -> str | None:
        """The words, shown and stored; None where there are none, or where they are not wanted any more, and the person was told so.

        /stop ends it, also while the words are being stored.
        """
        refused = self._find_refusal(row)
        if refused is not None:
            await _finish(row, actor, session, refused)
            return None
        hearing = _Transcription(self._fetch_words(row, actor), actor)
        tools.running[session.key] = hearing
        try:
            await tools.show_partial(session.key, Notice(code="hearing"))
            found = await _find_words(hearing)
            if isinstance(found, str):
                told = outbox.build_reply_row(
                    session.key, build_reply(Notice(code="heard", args={"words": found})), session.now, key=f"heard:{row.id}"
                )
                kept = replace(row, body={**row.body, "heard": found}, attempts=0)
                await session.commit(actor=actor.key, outbox=[told], inbox_new=[kept])
            if hearing.stopped:
                found = Notice(code="stopped")
            if isinstance(found, Notice):
                await _finish(row, actor, session, found)
                return None
        finally:
            hearing.stop()
            tools.running.pop(session.key, None)
        return found

    def _find_refusal(self, row: InboxRow) -> Notice | None:
        if self.transcriber is None:
            return Notice(code="voice-off")
        if row.body["seconds"] > LONGEST or row.body["size"] > LARGEST:
            return Notice(code="voice-too-long", args={"minutes": LONGEST // 60})
        return None

    async def _fetch_words(self, row: InboxRow, actor: Actor) -> str:
        if self.transcriber is None:
            return ""
        recording = await self.files.read(str(row.body["file_id"]), LARGEST)
        return await self.transcriber.transcribe(recording, language=actor.locale)


class _Transcription:
    """A recording that is being heard, for /stop."""

    def __init__(self, work: Awaitable[str], actor: Actor) -> None:
        self.actor = actor
        self._task = asyncio.ensure_future(work)
        self.stopped = False

    def stop(self) -> None:
        """Nobody wants to know any more."""
        self.stopped = True
        self._task.cancel()

    async def wait_for_words(self) -> str:
        """The words, "" where it was stopped."""
        try:
            return await self._task
        except asyncio.CancelledError:
            if not self.stopped:
                self._task.cancel()
                raise
            return ""


async def _find_words(hearing: _Transcription) -> str | Notice:
    """The words, or why there are none."""
    try:
        words = to_storable_text(await hearing.wait_for_words()).strip()
    except FileUnavailable as error:
        log.warning("a recording is not given: %s", error, extra={"action": "voice_failed"})
        return Notice(code="voice-unavailable")
    except ModelClientError as error:
        log.warning("a recording is not heard: %s", error.reason, extra={"action": "voice_failed"})
        return Notice(code="voice-failed")
    return words[:MAX_TEXT] or Notice(code="voice-empty")


async def _finish(row: InboxRow, actor: Actor, session: Session, notice: Notice) -> None:
    told = outbox.build_reply_row(session.key, build_reply(notice), session.now, key=f"turn:{row.id}")
    await session.commit(actor=actor.key, outbox=[told], inbox_done=[row.id])


def _build_request(body: Any, words: str) -> dict[str, Any]:
    """The request that a recording is; one that was forwarded holds the words of somebody else."""
    own, others = ("", words) if body.get("forwarded") else ("\n".join(filter(None, (body.get("caption"), words))), "")
    return {"text": own, "quoted": others, "origin": "voice", "message_id": body.get("message_id", 0)}
