"""Voice messages are transcribed, shown, and handled like typed ones, but decide no card."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import FileUnavailable, ModelClientError
from orchestrator.domain.inputs import AnsweringInput, ParsedInput, TextMessage, VoiceMessage
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_dropped_event, recognize_answer
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Files, Tools
from orchestrator.turns.turn import admit_actor, run_turn
from state.canonical import to_storable_text
from state.journal.store import InboxRow

log = logging.getLogger(__name__)

LONGEST: Final = 300
"""Seconds of a recording."""
LARGEST: Final = 20_000_000
"""Bytes that Telegram gives to a bot."""
MAX_TEXT: Final = 20_000


class SpeechToText(Protocol):
    async def transcribe(self, recording: bytes, *, language: str) -> str:
        """ "" if nothing was said. Raises ModelClientError."""


@dataclass(frozen=True, kw_only=True)
class VoiceInput:
    """Without `transcriber` voice messages are refused."""

    files: Files
    transcriber: SpeechToText | None = None

    async def receive_voice(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """The text is stored first: a crash does not transcribe again."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        left_out = build_dropped_event(row, session)
        if left_out is not None:
            await session.commit(left_out, actor=actor.key, inbox_done=[row.id])
            return
        message = VoiceMessage.model_validate(row.body)
        words = message.heard if message.heard is not None else await self._transcribe(row, message, actor, session, tools)
        if words is None:
            return
        heard = _build_request(message, words)
        request = replace(row, kind=TextMessage.KIND, body=heard.to_json())
        answer = await recognize_answer(request, heard, session, tools.store) if session.state.turn_id != row.id else None
        if answer is None:
            await run_turn(ParsedInput(request, heard), session, tools)
            return
        await session.commit(actor=actor.key, inbox_new=[answer], inbox_done=[row.id])

    async def _transcribe(self, row: InboxRow, voice_message: VoiceMessage, actor: Actor, session: Session, tools: Tools) -> str | None:
        """None without text, or after /stop."""
        refused = self._find_refusal(voice_message)
        if refused is not None:
            await _finish(row, actor, session, refused)
            return None
        hearing = _Transcription(self._fetch_words(voice_message, actor), actor)
        tools.running[session.key] = hearing
        try:
            await tools.show_partial(session.key, Notice(code="hearing"))
            words = await _find_words(hearing)
            if isinstance(words, str):
                reply_row = outbox.build_reply_row(
                    session.key, build_reply(Notice(code="heard", args={"words": words})), session.now, key=f"heard:{row.id}"
                )
                inbox_row = replace(row, body={**row.body, "heard": words}, attempts=0)
                await session.commit(actor=actor.key, outbox=[reply_row], inbox_new=[inbox_row])
            if hearing.stopped:
                words = Notice(code="stopped")
            if isinstance(words, Notice):
                await _finish(row, actor, session, words)
                return None
        finally:
            hearing.stop()
            tools.running.pop(session.key, None)
        return words

    def _find_refusal(self, voice_message: VoiceMessage) -> Notice | None:
        if self.transcriber is None:
            return Notice(code="voice-off")
        if voice_message.seconds > LONGEST or voice_message.size > LARGEST:
            return Notice(code="voice-too-long", args={"minutes": LONGEST // 60})
        return None

    async def _fetch_words(self, voice_message: VoiceMessage, actor: Actor) -> str:
        if self.transcriber is None:
            return ""
        recording = await self.files.read(voice_message.file_id, LARGEST)
        return await self.transcriber.transcribe(recording, language=actor.locale)


class _Transcription:
    def __init__(self, work: Awaitable[str], actor: Actor) -> None:
        self.actor = actor
        self._task = asyncio.ensure_future(work)
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True
        self._task.cancel()

    async def wait_for_words(self) -> str:
        try:
            return await self._task
        except asyncio.CancelledError:
            if not self.stopped:
                self._task.cancel()
                raise
            return ""


async def _find_words(hearing: _Transcription) -> str | Notice:
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
    reply_row = outbox.build_reply_row(session.key, build_reply(notice), session.now, key=f"turn:{row.id}")
    await session.commit(actor=actor.key, outbox=[reply_row], inbox_done=[row.id])


def _build_request(voice_message: VoiceMessage, words: str) -> TextMessage:
    """A forwarded recording counts as a quotation."""
    own, others = (
        ("", words) if voice_message.forwarded else ("\n".join(filter(None, (voice_message.caption, words))), voice_message.quoted)
    )
    beside = voice_message.model_dump(include={*AnsweringInput.model_fields} - {"quoted", "at", "album"}, exclude_unset=True)
    return TextMessage(text=own, origin="voice", **{**beside, "quoted": others})
