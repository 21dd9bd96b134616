"""Restores a session after a crash: looks up unknown outcomes, and resumes approved calls."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.gate.call.ports import Reconciled
from orchestrator.gate.call.serialization import build_doubt_args
from orchestrator.gate.execute.recovery import TIMER, RecoveredEffect, build_reconcile_timer, calculate_wait, reset_wait
from orchestrator.gate.undo import undo_policy
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.decisions import finish_approved
from orchestrator.turns.feature import Tools
from state.clock import format_iso
from state.journal.store import OutboxRow, StoreError, Timer

log = logging.getLogger(__name__)

RECHECK = TIMER


async def recover(session: Session, tools: Tools) -> None:
    """Called before any input is handled. A write that may have been sent is never sent again."""
    for recovered_effect in await tools.gate.recover(session, announce=_build_announcer(session, tools)):
        await _tell_unclear(recovered_effect, session, tools)
    for row in await session.list_effects("approved"):
        try:
            await finish_approved(row.effect_id, row.call["confirmation_id"], session, tools)
        except StoreError:
            raise
        except Exception:  # one row that cannot be resumed must not keep the session from opening
            log.exception("an approved call cannot be gone on with", extra={"action": "recovery_failed", "effect_id": row.effect_id})


async def reconcile_when_settled(effect_id: str, session: Session, tools: Tools) -> Timer | None:
    """Return a timer for a later look if the portal may still work on the call."""
    row = await session.find_effect(effect_id)
    if row is not None and row.status == "unknown" and (left := calculate_wait(row, session)):
        await reset_wait(row, session)
        return build_reconcile_timer(effect_id, session, after=left)
    await reconcile_now(effect_id, session, tools)
    return None


async def reconcile_now(effect_id: str, session: Session, tools: Tools) -> None:
    """Does nothing if the outcome is known."""
    row = await session.find_effect(effect_id)
    if row is None or row.status != "unknown":
        return
    await reset_wait(row, session)
    await _tell_unclear(await tools.gate.reconcile(row, session, announce=_build_announcer(session, tools)), session, tools)


async def _tell_unclear(recovered_effect: RecoveredEffect, session: Session, tools: Tools) -> None:
    """Other results were told by the commit that stored them."""
    if recovered_effect.reconciled.verdict == "unclear":
        await session.commit(actor="system", outbox=_build_announcer(session, tools)(recovered_effect))


def _build_announcer(session: Session, tools: Tools) -> Callable[[RecoveredEffect], list[OutboxRow]]:
    """The messages are a sentence and the cards concerned."""

    def rows(effect: RecoveredEffect) -> list[OutboxRow]:
        stored, seen, now = effect.row.call, effect.reconciled, session.now
        reply = build_reply(_build_verdict_notice(effect))
        entry = session.state.cards.get(stored["confirmation_id"])
        if entry is None:
            return [outbox.build_reply_row(session.key, reply.model_copy(update={"undo": _find_undo_offer(effect, now, tools)}), now)]
        status = {"done": "executed", "not_done": "refused"}.get(seen.verdict, entry.status)
        reports = {"commands": [report.model_dump(mode="json") for report in seen.commands]} if _is_partly_known(seen) else {}
        as_it_will_be = entry.with_values(**{"status": status, f"{status}_at": format_iso(now), "detail": seen.detail, **reports})
        deps = tools.gate.deps
        entries = {**session.state.cards, entry.confirmation_id: as_it_will_be}
        taken_back = undo_policy.find_original(as_it_will_be, entries)
        changed = [as_it_will_be, *([taken_back] if taken_back is not None and taken_back.is_known else [])]
        cards = [undo_policy.add_undo_status(card, entries, now=now, deps=deps) for card in changed]
        return [outbox.build_reply_row(session.key, reply, now), *(outbox.build_card_row(session.key, body, now) for body in cards)]

    return rows


def _find_undo_offer(effect: RecoveredEffect, now: datetime, tools: Tools) -> tuple[str, ...]:
    """Only for calls without a card: else the button is on the card."""
    deps, done = tools.gate.deps, replace(effect.row, status="succeeded", updated_at=now)
    offered = effect.reconciled.verdict == "done" and undo_policy.is_undo_offered(
        done, now=now, policy=deps.policy, catalogue=deps.catalogue
    )
    return (done.effect_id,) if offered else ()


def _build_verdict_notice(recovered_effect: RecoveredEffect) -> Notice:
    seen, args = recovered_effect.reconciled, build_doubt_args(recovered_effect.row.effect_id, recovered_effect.row.call)
    if not _is_partly_known(seen):
        return Notice(code=f"recovered-{seen.verdict.replace('_', '-')}", args=args)
    done = sum(report.status == "success" for report in seen.commands)
    left = sum(report.status == "unknown" for report in seen.commands)
    return Notice(code="recovered-partly", args={**args, "done": done, "commands": len(seen.commands), "unknown": left})


def _is_partly_known(seen: Reconciled) -> bool:
    """Whether the outcome of only some commands is known."""
    return seen.verdict == "unclear" and any(report.status != "unknown" for report in seen.commands)
