"""Sends answers that a front end decided on without a turn, for example that the bot cannot read a photo.

The front end stores such an answer as an input, so that it is sent once even if the front end receives the same message twice.
"""

from typing import Final

from orchestrator.domain.inputs import DirectAnswer
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.runtime import outbox
from orchestrator.runtime.feature import Tools
from orchestrator.runtime.session import Session
from state.journal.store import InboxRow

UNREADABLE: Final = "only-text"
"""The code of the notice that a message has nothing that the bot can read."""


async def send_answer(row: InboxRow, session: Session, _tools: Tools, *, hears: bool) -> None:
    """Send the answer that the front end decided on. Raises StoreError.

    If the answer is that the bot cannot read the person's message (a photo, a video), and `hears` says that voice messages are transcribed,
    it also says that the person may send voice messages.
    """
    notice = DirectAnswer.model_validate(row.body).notice
    more = [Notice(code="voice-works")] if hears and notice.code == UNREADABLE else []
    told = outbox.build_reply_row(session.key, build_reply(notice, *more), session.now)
    await session.commit(actor="system", outbox=[told], inbox_done=[row.id])
