"""Tells what the model withdrew at the person's word, in one neutral line: it is no error, and nothing went wrong."""

from typing import Final

from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.replies.turn_outcome import WITHDRAWN, format_names
from orchestrator.runtime.turn_context import Context
from state.stored import JsonObject

_CODE: Final = "withdrawn"


async def add_withdrawal_line(reply: Reply, context: Context) -> Reply:
    """Return the reply with one line that names what was withdrawn, in place of all sentences that say so; unchanged if nothing was."""
    slots = [slot for slot, item in context.outcomes.items() if _is_withdrawn(item)]
    notices = [notice for notice in reply.notices if notice.code not in WITHDRAWN]
    if not slots and len(notices) == len(reply.notices):
        return reply
    labels = [await context.describe_change(slot) for slot in slots]
    names: list[JsonObject] = [label.named for label in labels if label is not None]
    line = Notice(code=_CODE, args={"calls": format_names(names), "named": bool(names)})
    return reply.model_copy(update={"notices": (line, *notices)})


def _is_withdrawn(result: object) -> bool:
    return isinstance(result, Outcome) and result.reason is not None and result.reason.code in WITHDRAWN
