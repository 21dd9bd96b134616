"""Builds the end of a CRM agent's turn: the reply, the text for later prompts, the steps that stay planned.

[[list N]] markers in the ASSISTANT text are replaced by tables that code built. The model's words about steps that did not run
are never shown or kept without a notice that says so.
"""

import re
from collections.abc import Mapping, Sequence

from orchestrator.domain.outputs import Notice, Reply, Table, Text
from orchestrator.engines.base import EndReason, TurnEnd
from orchestrator.engines.crm_agent.turn_work import TurnWork

WITHHELD = "[answer contained text from the CRM; it is not repeated here]"
NOT_RUN = "[shadow mode: the person was shown a plan; nothing was run]"
NOT_DONE = "[written before its steps were judged: what waits for a person is not done]"


def finish_turn(work: TurnWork, reason: EndReason, *, assistant: str, turn_id: str) -> TurnEnd:
    """Build the end of the turn from the model's last text and the recorded results of its steps (S004-15)."""
    reply = Reply(
        parts=insert_tables(assistant if not work.planned else "", work.tables),
        notices=tuple(_drop_duplicates(_build_notices(work, assistant))),
        confirmations=tuple(dict.fromkeys(item.confirmation_id for item in work.pending)),
        turn_id=turn_id,
    )
    return TurnEnd(
        reason=reason,
        reply=reply,
        history=_build_history(work, assistant),
        next_planned_actions=(*work.left, *work.rest),
        targets=frozenset(work.targets),
    )


def _build_notices(work: TurnWork, assistant: str) -> list[Notice]:
    notices = list(work.notices)
    if work.planned:
        items = [{"method": item.method, "preview": dict(item.preview)} for item in work.planned]
        notices.insert(0, Notice(code="shadow-plan", args={"items": items}))
    waiting = len({item.confirmation_id for item in work.pending if item.notice is None})  # for the others `item.notice` says so already
    if waiting and assistant:  # the model wrote its text before it knew that a person would be asked
        notices.append(Notice(code="waiting-on-card", args={"count": waiting}))
    if work.rest:
        notices.append(Notice(code="rest-not-begun", args={"count": len(work.rest)}))
    return notices


def _build_history(work: TurnWork, assistant: str) -> str:
    """Return the answer as later prompts may see it: no text that prose may have dictated, no claim about steps that did not run."""
    if work.prose:
        return WITHHELD
    if work.planned:
        return NOT_RUN
    if work.pending and assistant:
        return f"{assistant}\n{NOT_DONE}"
    return assistant


def _drop_duplicates(notices: Sequence[Notice]) -> list[Notice]:
    kept: list[Notice] = []
    for notice in notices:
        if notice not in kept:
            kept.append(notice)
    return kept


_MARKER = re.compile(r"[ \t]*\[\[\s*list\s+(\d{1,3})\s*\]\][ \t]*", re.IGNORECASE)


def insert_tables(assistant: str, tables: Mapping[int, Table]) -> tuple[Text | Table, ...]:
    """Return text and tables in order; a marker without a table is removed."""
    parts: list[Text | Table] = []
    position = 0
    for match in _MARKER.finditer(assistant):
        _add_text(parts, assistant[position : match.start()])
        table = tables.get(int(match.group(1)))
        if table is not None:
            parts.append(table)
        position = match.end()
    _add_text(parts, assistant[position:])
    return tuple(parts)


def _add_text(parts: list[Text | Table], text: str) -> None:
    if text.strip():
        parts.append(Text(text=text.strip()))
