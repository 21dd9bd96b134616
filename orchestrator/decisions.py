"""A person's decision about a card, and cards whose time is over. Overtakes a running turn. Ring 2."""

import contextlib
from collections.abc import Mapping
from typing import Any

from orchestrator import outgoing
from orchestrator.gate import confirmations
from orchestrator.gate.approved import Decided
from orchestrator.gate.confirmations import Decision
from orchestrator.gate.freeze import effect_id_of
from orchestrator.messages import Notice, Outcome, say
from orchestrator.session import Session
from orchestrator.turns import Tools, admitted
from state.store import EffectConflict, InboxRow, OutboxRow


async def run_decision(row: InboxRow, session: Session, tools: Tools) -> None:
    """Apply one press, typed answer or API decision; the card is edited, the press answered once (facts/telegram §5)."""
    actor = await admitted(row, session, tools)
    if actor is None:
        return
    body = row.body
    if not isinstance(body["approve"], bool):  # "no" is a true value too: a door that sends words must not approve by accident
        raise TypeError("a decision is true or false")
    decision = Decision(
        confirmation_id=body["confirmation_id"],
        nonce=body["nonce"],
        approve=body["approve"],
        actor=actor,
        via=body["via"],
        reason=body.get("reason", ""),
    )
    toast = body.get("callback_id", "")
    entry = dict(session.state["agent"]["confirmations"].get(decision.confirmation_id) or {})
    announce = _announcement(entry, decision, toast, session) if entry else []
    decided = await tools.gate.decide_card(decision, mode=tools.mode, ledger=session, announce=announce)
    rows = _closing_rows(decided, decision, toast, session)
    await session.commit(actor=actor.key, outbox=rows, inbox_done=[row.id])
    await _audit(decided, decision, session, tools)


async def run_expiry(row: InboxRow, session: Session, tools: Tools) -> None:
    """The time of a card is over: close it and show that."""
    del tools
    confirmation_id = row.body["confirmation_id"]
    entry = session.state["agent"]["confirmations"].get(confirmation_id)
    timer = confirmations.drop_timer({"confirmation_id": confirmation_id}, session)
    if entry is None or entry["status"] != "requested":
        shown = [_card(confirmation_id, session)] if entry and entry["status"] == "expired" else []  # by a program that died here
        await session.commit(actor="system", timers=[timer], outbox=shown, inbox_done=[row.id])
        return
    with contextlib.suppress(EffectConflict):  # decided in this very moment: the decision wins
        await confirmations.expire(entry, session, [])
    rows = [_card(confirmation_id, session)]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])


async def finish_approved(effect_id: str, confirmation_id: str, session: Session, tools: Tools) -> None:
    """Go on with a call that was approved before the program stopped and never started."""
    await tools.gate.run_approved(effect_id, mode=tools.mode, ledger=session)
    rows = [_card(item, session) for item in (confirmation_id, _successor(confirmation_id, session)) if item]
    await session.commit(actor="system", outbox=rows)


def _announcement(entry: Mapping[str, Any], decision: Decision, toast: str, session: Session) -> list[OutboxRow]:
    """What goes out in the same commit as the decision itself, before the call runs."""
    now = session.now
    status = "approved" if decision.approve else "denied"
    changed = {**entry, "status": status, f"{status}_by_name": decision.actor.name, f"{status}_at": now.isoformat()}
    rows = [outgoing.card_row(session.key, changed, now)]
    if toast:
        code = "toast-running" if decision.approve else "toast-denied"
        rows.insert(0, outgoing.toast_row(session.key, toast, Notice(code=code), now))
    return rows


def _closing_rows(decided: Decided, decision: Decision, toast: str, session: Session) -> list[OutboxRow]:
    """The card as it stands after the decision, and the toast when the decision did not count."""
    rows: list[OutboxRow] = []
    now = session.now
    known = decision.confirmation_id in session.state["agent"]["confirmations"]
    second = decided.notice is not None and decided.notice.code == "card-second-tap"
    counted = decided.outcome is not None or decided.replaced_by is not None
    denied = decided.notice is not None and decided.notice.code == "card-denied"
    if decided.notice is not None and not counted and not denied:
        if toast:
            rows.append(outgoing.toast_row(session.key, toast, decided.notice, now))
        else:
            rows.append(outgoing.reply_row(session.key, say(decided.notice), now))
    if known and not denied:
        rows.append(_card(decision.confirmation_id, session, stage=2 if second else 1))
    if known and (successor := _successor(decision.confirmation_id, session)):
        rows.append(_card(successor, session))
    return rows


def _successor(confirmation_id: str, session: Session) -> str:
    """The open card that took the place of this one when it drifted, or "". Also one that a crash kept from being shown."""
    entries = session.state["agent"]["confirmations"]
    wanted = effect_id_of(f"{entries[confirmation_id]['effect_id']}/again")
    return next((key for key, item in entries.items() if item["effect_id"] == wanted and item["status"] == "requested"), "")


def _card(confirmation_id: str, session: Session, stage: int = 1) -> OutboxRow:
    entry = session.state["agent"]["confirmations"][confirmation_id]
    return outgoing.card_row(session.key, entry, session.now, stage=stage)


async def _audit(decided: Decided, decision: Decision, session: Session, tools: Tools) -> None:
    entry = session.state["agent"]["confirmations"].get(decision.confirmation_id) or {}
    await tools.audit.decision(
        actor=decision.actor,
        session=session.key,
        entry=entry,
        via=decision.via,
        outcome=_outcome(decided.outcome) | {"notice": decided.notice.code if decided.notice else ""},
    )


def _outcome(outcome: Outcome | None) -> dict[str, Any]:
    return outcome.model_dump(mode="json", exclude={"preview"}) if outcome else {}
