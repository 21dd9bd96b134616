"""Sends the answers that need no turn: the front end stored them as inputs, so that each update is answered once."""

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

    `hears` says whether voice messages are transcribed; if they are, a person whose message cannot be read is told so.
    """
    notice = DirectAnswer.model_validate(row.body).notice
    more = [Notice(code="voice-works")] if hears and notice.code == UNREADABLE else []
    told = outbox.build_reply_row(session.key, build_reply(notice, *more), session.now)
    await session.commit(actor="system", outbox=[told], inbox_done=[row.id])
