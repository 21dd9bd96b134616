"""/stop, voice and edited messages, direct answers, and buttons under forwarded ones."""

from functools import partial
from typing import Final

from orchestrator.domain.inputs import DirectAnswer
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.talking import button_requests, stop_queue
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.replies import code_notes
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Tools
from state.journal.store import InboxRow

UNREADABLE: Final = "only-text"
"""A message has nothing that the bot can read."""


def build_feature(ear: VoiceInput | None = None) -> Feature:
    """Without `ear` voice messages have no handler."""
    answer = partial(send_answer, hears=ear is not None and ear.transcriber is not None)
    return Feature(
        inbox={"answer": answer, "edited": button_requests.offer_edited, **({"voice": ear.receive_voice} if ear else {})},
        commands={"stop": stop_queue.stop},
        buttons={
            code_notes.FORWARD_BUTTON: button_requests.create_from_forward,
            button_requests.EDITED_BUTTON: button_requests.run_edited,
            stop_queue.PRESS: stop_queue.restore_dropped,
        },
    )


async def send_answer(row: InboxRow, session: Session, _tools: Tools, *, hears: bool) -> None:
    """With `hears` an unreadable message gets a hint at voice messages."""
    notice = DirectAnswer.model_validate(row.body).notice
    more = [Notice(code="voice-works")] if hears and notice.code == UNREADABLE else []
    reply_row = outbox.build_reply_row(session.key, build_reply(notice, *more), session.now)
    await session.commit(actor="system", outbox=[reply_row], inbox_done=[row.id])
