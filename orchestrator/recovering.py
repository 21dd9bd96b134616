"""What a session is owed when it is opened after a crash: unknown outcomes named and shown, approved calls gone on with. Ring 2."""

from orchestrator import outgoing
from orchestrator.decisions import finish_approved
from orchestrator.gate.recovery import Recovered
from orchestrator.messages import Notice, say
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.store import OutboxRow, Timer

RECHECK = "reconcile"


async def recover(session: Session, tools: Tools) -> None:
    """Before any input of the session is worked on. Sends no write that could have been sent before."""
    for found in await tools.gate.recover(session):
        await tell(found, session)
    for row in await session.effects("approved"):
        await finish_approved(row.effect_id, row.call["confirmation_id"], session, tools)


async def recheck(effect_id: str, session: Session, tools: Tools) -> None:
    """Look again at an outcome that is still unknown (a timer, or the person's button)."""
    row = await session.effect(effect_id)
    if row is None or row.status != "unknown":
        return
    await tell(await tools.gate.reconcile(row, session), session)


async def tell(found: Recovered, session: Session) -> None:
    """Show a person what is known of a call whose answer never came."""
    stored = found.row.call
    now = session.now
    verdict = found.reconciled.verdict
    args = {"method": stored["call"]["method"], "verdict": verdict, "detail": found.reconciled.detail}
    rows: list[OutboxRow] = [outgoing.reply_row(session.key, say(Notice(code=f"recovered-{verdict.replace('_', '-')}", args=args)), now)]
    entry = session.state["agent"]["confirmations"].get(stored["confirmation_id"])
    if entry is not None:
        rows.append(outgoing.card_row(session.key, entry, now))
    timers = []
    if found.settle_at is not None:
        body = {"effect_id": found.row.effect_id}
        timers.append(Timer(id=f"reconcile:{found.row.effect_id}", due_at=found.settle_at, session=session.key, kind=RECHECK, body=body))
    await session.commit(actor="system", outbox=rows, timers=timers)
