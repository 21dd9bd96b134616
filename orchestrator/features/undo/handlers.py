"""«↩ Отменить»: checks the records and proposes the undo to the gate."""

from collections.abc import Sequence

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.undo.proposals import ON_REQUEST, UndoAnswer, UndoProposals, UndoWish
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.undo import undo_policy
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.journal.store import InboxRow, OutboxRow


async def propose_undo(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    words = FeatureClick.model_validate(row.body).words
    effect_id = words[1] if len(words) > 1 else ""
    if effect_id in session.state.cards:  # the button of a run's card names the card, because its data has no room for the effect
        effect_id = session.state.cards[effect_id].effect_id
    is_requested = words[2:] == (ON_REQUEST,) and session.key == actor.key and actor.role in undo_policy.LEADING
    await propose_undos([effect_id], actor, row, session, tools, is_requested=is_requested)


async def propose_undos(
    effect_ids: Sequence[str], actor: Actor, row: InboxRow, session: Session, tools: Tools, *, is_requested: bool = False
) -> None:
    """`is_requested`: by a lead who was asked, so the call is of another session. Raises StoreError."""
    mode = resolve_mode(tools.mode, actor)
    wish = UndoWish(actor=actor, session=session, turn_id=row.id, mode=mode, may_be_elsewhere=is_requested)
    rows: list[OutboxRow] = []
    for answer in await UndoProposals(tools.gate, tools.refresh_actor).propose(effect_ids, wish):
        rows += _build_answer_rows(answer, actor, row, session)
        rows += _build_card_rows(answer, session, tools.gate.deps)
        rows += answer.requests
    await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])


def _build_answer_rows(answer: UndoAnswer, actor: Actor, row: InboxRow, session: Session) -> list[OutboxRow]:
    """Only a toast for a card, or in a group."""
    toasts = build_click_toasts(row, session, answer.notice)
    if answer.card or (toasts and (answer.requests or actor.key != session.key)):
        return toasts
    refused = build_click_toasts(row, session, Notice(code="undo-refused"))
    return [*refused, outbox.build_reply_row(session.key, build_reply(answer.notice), session.now)]


def _build_card_rows(answer: UndoAnswer, session: Session, deps: GateDeps) -> list[OutboxRow]:
    """The original card loses its button when the undo is done or late."""
    entries = session.state.cards
    rows = [outbox.build_card_row(session.key, entries[answer.card], session.now)] if answer.card in entries else []
    if answer.notice.code not in {"undo-late", "undo-done"}:
        return rows
    old = next((entry for entry in entries.values() if entry.effect_id == answer.effect_id and entry.status == "executed"), None)
    if old is not None:
        body = undo_policy.add_undo_status(old, entries, now=session.now, deps=deps)
        if answer.undone_by and not body.undone_at:  # the undo ran in the chat of a lead
            body = old.with_values(undone_at=str(answer.notice.args["at"]), undone_by=answer.undone_by)
        rows.append(outbox.build_card_row(session.key, body, session.now))
    return rows
