"""How a turn of the CRM agent ends: what is said, what is remembered, what stays planned. Words about steps never stand alone. Ring 2."""

from collections.abc import Sequence

from orchestrator.engines.base import EndReason, TurnEnd
from orchestrator.engines.crm_agent.replies import insert_tables
from orchestrator.engines.crm_agent.work import TurnWork
from orchestrator.messages import Notice, Reply

WITHHELD = "[answer contained text from the CRM; it is not repeated here]"
NOT_RUN = "[shadow mode: the person was shown a plan; nothing was run]"
NOT_DONE = "[written before its steps were judged: what waits for a person is not done]"


def finish_turn(work: TurnWork, reason: EndReason, *, assistant: str, turn_id: str) -> TurnEnd:
    """The end of the turn with the model's last words and what code knows of its steps (S004-15)."""
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
    waiting = len({item.confirmation_id for item in work.pending if item.notice is None})  # a notice says it of the others
    if waiting and assistant:  # the model wrote its words before it knew that a person would be asked
        notices.append(Notice(code="waiting-on-card", args={"count": waiting}))
    if work.rest:
        notices.append(Notice(code="rest-not-begun", args={"count": len(work.rest)}))
    return notices


def _build_history(work: TurnWork, assistant: str) -> str:
    """What later prompts may know of the answer: nothing that prose may have dictated, no claim of what did not happen."""
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
