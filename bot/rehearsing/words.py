from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from orchestrator.domain.outputs import Reply

_LONGEST: Final = 4000


def cut_text(text: str) -> str:
    """Only the begin if it is too long."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def render_plain_reply(reply: Reply, tr: Translator) -> str:
    return to_plain_text(render_message("reply", reply.model_dump(mode="json"), tr))
