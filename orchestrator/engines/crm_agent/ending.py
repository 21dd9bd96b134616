"""Builds the end of a CRM agent's turn: the reply, the text for later prompts, and the steps that remain planned.

Markers [[list N]] in the model's text are replaced by tables that code built. The model writes its text before its steps run. So if the
steps were only planned (as in shadow mode), the text is dropped; if a step waits for a person, a notice beside the text says so.
"""

import re
from collections.abc import Mapping, Sequence

from orchestrator.domain.outputs import Notice, Reply, Table, Text
from orchestrator.engines.base import REST_NOT_BEGUN, EndReason, TurnEnd
from orchestrator.engines.crm_agent.setbacks import find_recovered, list_open_steps
from orchestrator.engines.crm_agent.turn_work import TurnWork

WITHHELD = "[answer contained text from the CRM; it is not repeated here]"
NOT_RUN = "[shadow mode: the person was shown a plan; nothing was run]"
NOT_DONE = "[written before its steps were judged: what waits for a person is not done]"


def finish_turn(work: TurnWork, reason: EndReason, *, assistant: str, turn_id: str) -> TurnEnd:
    """Build the end of the turn from `assistant`, the model's last text, and from `work`, the results of the turn's steps (S004-15).

    `reason` says why the turn ends: "answered", "waiting" (for a person) and so on.
    """
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
        next_planned_actions=(*list_open_steps(work.results, work.titles), *work.rest),
        targets=frozenset(work.targets),
    )


def _build_notices(work: TurnWork, assistant: str) -> list[Notice]:
    recovered = [one.notice for one in find_recovered(work.results, work.titles)]
    notices = [notice for notice in work.notices if not any(notice is other for other in recovered)]
    if work.planned:
        items = [{"method": item.method, "preview": dict(item.preview)} for item in work.planned]
        notices.insert(0, Notice(code="shadow-plan", args={"items": items}))
    waiting = len({item.confirmation_id for item in work.pending if item.notice is None})  # for the others `item.notice` says so already
    if waiting and assistant:  # the model wrote its text before it knew that a person would be asked
        notices.append(Notice(code="waiting-on-card", args={"count": waiting}))
    if work.rest:
        notices.append(Notice(code=REST_NOT_BEGUN, args={"count": len(work.rest), "named": False, "calls": []}))
    return notices


def _build_history(work: TurnWork, assistant: str) -> str:
    """Return the model's text in the form that later prompts may contain.

    If the model had read free text of other people, or if its steps were only planned, a fixed sentence stands in its place. If a step
    waits for a person, a note says so.
    """
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
    """Return the text and the tables in order, with each marker [[list N]] replaced by the table N; a marker without a table is removed."""
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
