"""What a session is owed when it is opened after a crash: unknown outcomes named and shown, approved calls gone on with. Ring 2."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from orchestrator import outgoing
from orchestrator.decisions import finish_approved
from orchestrator.gate import undoing
from orchestrator.gate.named import doubt
from orchestrator.gate.ports import Reconciled
from orchestrator.gate.recovery import TIMER, Recovered, look_again, recount, too_early
from orchestrator.messages import Notice, say
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.clock import iso
from state.store import OutboxRow, StoreError, Timer

log = logging.getLogger(__name__)

RECHECK = TIMER


async def recover(session: Session, tools: Tools) -> None:
    """Before any input of the session is worked on. Sends no write that could have been sent before."""
    for found in await tools.gate.recover(session, announce=_announce(session, tools)):
        await _tell_unclear(found, session, tools)
    for row in await session.effects("approved"):
        try:
            await finish_approved(row.effect_id, row.call["confirmation_id"], session, tools)
        except StoreError:
            raise
        except Exception:  # one row that cannot be gone on with must not keep the session from opening
            log.exception("an approved call cannot be gone on with", extra={"action": "recovery_failed", "effect_id": row.effect_id})


async def recheck_settled(effect_id: str, session: Session, tools: Tools) -> Timer | None:
    """Look at an unknown outcome once the portal is done with it whatever it was; the timer to do that later if it is too early."""
    row = await session.effect(effect_id)
    if row is not None and row.status == "unknown" and (left := too_early(row, session)):
        await recount(row, session)
        return look_again(effect_id, session, after=left)
    await recheck(effect_id, session, tools)
    return None


async def recheck(effect_id: str, session: Session, tools: Tools) -> None:
    """Look now at an outcome that is still unknown, because a person wants to know."""
    row = await session.effect(effect_id)
    if row is None or row.status != "unknown":
        return
    await recount(row, session)
    await _tell_unclear(await tools.gate.reconcile(row, session, announce=_announce(session, tools)), session, tools)


async def _tell_unclear(found: Recovered, session: Session, tools: Tools) -> None:
    """A verdict was told with the commit that stored it; that there is none changes nothing but is told too."""
    if found.reconciled.verdict == "unclear":
        await session.commit(actor="system", outbox=_announce(session, tools)(found))


def _announce(session: Session, tools: Tools) -> Callable[[Recovered], list[OutboxRow]]:
    """What a person reads of a call whose answer never came: a sentence, the card as it will stand, and that of what it took back."""

    def rows(found: Recovered) -> list[OutboxRow]:
        stored, seen, now = found.row.call, found.reconciled, session.now
        told = say(_verdict(found))
        entry = session.state["agent"]["confirmations"].get(stored["confirmation_id"])
        if entry is None:
            return [outgoing.reply_row(session.key, told.model_copy(update={"undo": _way_back(found, now, tools)}), now)]
        status = {"done": "executed", "not_done": "refused"}.get(seen.verdict, entry["status"])
        as_it_will_be = {**entry, "status": status, f"{status}_at": iso(now), "detail": seen.detail}
        if _is_partly_known(seen):
            as_it_will_be["commands"] = [report.model_dump(mode="json") for report in seen.commands]
        means = tools.gate.means
        entries = {**session.state["agent"]["confirmations"], entry["confirmation_id"]: as_it_will_be}
        taken_back = undoing.original_of(as_it_will_be, entries)
        changed = [as_it_will_be, *([taken_back] if taken_back is not None and "preview" in taken_back else [])]
        shown = [undoing.as_shown(one, entries, now=now, policy=means.policy, catalogue=means.catalogue) for one in changed]
        return [outgoing.reply_row(session.key, told, now), *(outgoing.card_row(session.key, body, now) for body in shown)]

    return rows


def _way_back(found: Recovered, now: datetime, tools: Tools) -> tuple[str, ...]:
    """The call that turned out to be done, where it can be taken back: without a card no other message offers that."""
    means, done = tools.gate.means, replace(found.row, status="succeeded", updated_at=now)
    offered = found.reconciled.verdict == "done" and undoing.offer(done, now=now, policy=means.policy, catalogue=means.catalogue)
    return (done.effect_id,) if offered else ()


def _verdict(found: Recovered) -> Notice:
    seen, args = found.reconciled, doubt(found.row.effect_id, found.row.call)
    if not _is_partly_known(seen):
        return Notice(code=f"recovered-{seen.verdict.replace('_', '-')}", args=args)
    done = sum(report.status == "success" for report in seen.commands)
    left = sum(report.status == "unknown" for report in seen.commands)
    return Notice(code="recovered-partly", args={**args, "done": done, "commands": len(seen.commands), "unknown": left})


def _is_partly_known(seen: Reconciled) -> bool:
    """Whether the portal shows of a batch what became of some of its commands, and not the same of all."""
    return seen.verdict == "unclear" and any(report.status != "unknown" for report in seen.commands)
