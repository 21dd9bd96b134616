"""Registers the talking feature: /stop, voice and edited messages, direct answers, and buttons under forwarded and edited messages."""

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
"""The code of the notice that a message has nothing that the bot can read."""


def build_feature(ear: VoiceInput | None = None) -> Feature:
    """Return the talking feature. `ear` handles voice messages; without it they have no handler."""
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
    """Send the answer that the front end decided on. Raises StoreError.

    If the answer is that the bot cannot read the person's message (a photo, a video), and `hears` says that voice messages are transcribed,
    it also says that the person may send voice messages.
    """
    notice = DirectAnswer.model_validate(row.body).notice
    more = [Notice(code="voice-works")] if hears and notice.code == UNREADABLE else []
    reply_row = outbox.build_reply_row(session.key, build_reply(notice, *more), session.now)
    await session.commit(actor="system", outbox=[reply_row], inbox_done=[row.id])
