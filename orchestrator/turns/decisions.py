"""Applies decisions about cards in the express lane, beside a running turn, and closes expired cards."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.card_view import Preview
from orchestrator.domain.effect import Outcome
from orchestrator.domain.inputs import ANSWERED_THERE, LONGEST_REASON, CardDecision, CardTimerDue, Click
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.card_groups import find_group, find_shown_card, is_merged
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.approve.plan_slots import find_origin_slots
from orchestrator.gate.approve.run_approved import DecisionResult
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.undo import undo_policy
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.group_decisions import ButtonClick, decide_group
from orchestrator.turns.turn import admit_actor, build_access_denied_rows
from state.canonical import to_storable_text
from state.clock import parse_iso
from state.events.confirmations import DecisionRefused
from state.journal.store import EffectConflict, InboxRow, OutboxRow
from state.model.card import NO_CARD, OPEN_STATUSES, Card
from state.model.session_state import PausedTurn

_ACCESS_LOST: Final = "no-access-any-more"


async def run_decision(row: InboxRow, session: Session, tools: Tools) -> None:
    """A click is answered exactly once."""
    actor = await _admit_decider(row, session, tools)
    if actor is None:
        return
    card_decision, reply_chat = CardDecision.model_validate(row.body), _find_reply_chat(row, session)
    decision = Decision(
        confirmation_id=card_decision.confirmation_id,
        nonce=card_decision.nonce,
        approve=card_decision.approve,
        actor=actor,
        via=card_decision.via,
        reason=to_storable_text(card_decision.reason)[:LONGEST_REASON].strip(),
        saw_all=card_decision.via in ANSWERED_THERE or not Address.parse(reply_chat).is_messenger,
    )
    entry = session.state.cards.get(decision.confirmation_id)
    group = find_group(entry, session.state.cards) if entry is not None and session.state.run is None else None
    card = find_shown_card(decision.confirmation_id, session.state, session.key) or NO_CARD
    press = ButtonClick(
        decision=decision,
        toast=card_decision.callback_id,
        reply_chat=reply_chat,
        leads_notified=bool(card.told),
    )
    if group is not None and group.is_meant_by(decision):
        await decide_group(group, press, row, session, tools)
        return
    announce = _build_announcement(entry, press, session) if entry else []
    decided = await tools.gate.decide_card(decision, mode=tools.mode, ledger=session, announce=announce)
    refused = _build_refusals(decided, press, session, row)
    rows = [*_build_closing_rows(decided, press, session, tools), *_build_lead_news(decided, press, session)]
    if not _is_void(decided):
        rows.extend(await build_undo_news(decision.confirmation_id, session))
    await session.commit(*refused, actor=actor.key, outbox=rows, inbox_done=[row.id])
    await _record_audit(decided, decision, session, tools)


async def run_expiry(row: InboxRow, session: Session, _tools: Tools) -> None:
    confirmation_id = CardTimerDue.model_validate(row.body).confirmation_id
    entry = session.state.cards.get(confirmation_id)
    timer = confirmations.drop_timer(entry or Card(confirmation_id=confirmation_id), session)
    if entry is None or entry.status != "requested":
        outbox_rows = [_build_card(confirmation_id, session)] if entry and entry.status == "expired" else []  # by a program that died here
        await session.commit(actor="system", timers=[timer], outbox=outbox_rows, inbox_done=[row.id])
        return
    with contextlib.suppress(EffectConflict):  # decided at this very moment: the decision wins
        await confirmations.expire(entry, session, [])
    rows = [_build_card(confirmation_id, session)]
    if session.state.cards[confirmation_id].status == "expired":
        rows.extend(_build_expiry_rows(entry, session))
        if left := await list_left_undone(entry, session):
            rows.append(outbox.build_reply_row(session.key, build_reply(*left), session.now, key=f"left-undone:{confirmation_id}"))
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])


def _find_reply_chat(row: InboxRow, session: Session) -> str:
    """A lead's own chat for a copy of the card."""
    entry = find_shown_card(Click.model_validate(row.body).confirmation_id, session.state, session.key) or NO_CARD
    return row.actor_key if row.actor_key in (entry.told or ()) else session.key


def build_failure_rows(row: InboxRow, session: Session) -> list[OutboxRow]:
    """To a lead; empty for others."""
    entry = find_shown_card(Click.model_validate(row.body).confirmation_id, session.state, session.key)
    if entry is None or (door := _find_reply_chat(row, session)) == session.key:
        return []
    about = {"what": find_title(entry), "who": entry.requested_by_name, "id": row.id[-8:]}
    return [outbox.build_reply_row(door, build_reply(Notice(code="lead-press-failed", args=about)), session.now, key=f"gave-up:{row.id}")]


async def _admit_decider(row: InboxRow, session: Session, tools: Tools) -> Actor | None:
    """None, after telling them, without access."""
    door = _find_reply_chat(row, session)
    card_decision = CardDecision.model_validate(row.body)
    is_answered_there = card_decision.via in ANSWERED_THERE
    if door == session.key and not is_answered_there:
        return await admit_actor(row, session, tools)
    actor = tools.refresh_actor(Actor.model_validate(row.actor))
    if actor is None:
        entry = session.state.cards.get(card_decision.confirmation_id) or NO_CARD
        refused = [_build_refusal(row, row.actor_key, _ACCESS_LOST, entry)] if is_answered_there else []
        access_denied_rows = [] if is_answered_there else build_access_denied_rows(row, door, session)
        await session.commit(*refused, actor=row.actor_key, outbox=access_denied_rows, inbox_done=[row.id])
    return actor


async def finish_approved(effect_id: str, confirmation_id: str, session: Session, tools: Tools) -> None:
    """Called after a crash."""
    decided = await tools.gate.resume_approved(effect_id, mode=tools.mode, ledger=session)
    if decided.reopened and decided.notice is not None:
        reply_row = outbox.build_reply_row(session.key, build_reply(decided.notice), session.now)
        await session.commit(actor="system", outbox=[reply_row, _build_card(confirmation_id, session)])
        return
    rows = _build_settled_cards(confirmation_id, session, tools)
    entry = session.state.cards.get(confirmation_id) or NO_CARD
    if decided.outcome is not None and entry.told and entry.approved_by != entry.requested_by:
        rows.append(_build_lead_approved_row(entry, entry.approved_by_name, decided.outcome, session))
    if successor := _find_successor(confirmation_id, session):
        rows.append(_build_card(successor, session))
    await session.commit(actor="system", outbox=[*rows, *await build_undo_news(confirmation_id, session)])


def _is_void(decided: DecisionResult) -> bool:
    denied = decided.notice is not None and decided.notice.code == "card-denied"
    return decided.notice is not None and not denied and decided.outcome is None and decided.replaced_by is None


def _build_refusals(decided: DecisionResult, press: ButtonClick, session: Session, row: InboxRow) -> list[DecisionRefused]:
    """Answers the HTTP API; empty for others."""
    entry = session.state.cards.get(press.decision.confirmation_id) or NO_CARD
    if not press.quiet or not _is_void(decided) or decided.notice is None or _is_same(press.decision, entry):
        return []
    return [] if decided.notice.code == "card-second-tap" else [_build_refusal(row, press.decision.actor.key, decided.notice.code, entry)]


def _is_same(decision: Decision, entry: Card) -> bool:
    """It came twice, or after a crash."""
    return bool((entry.approved_by if decision.approve else entry.denied_by) == decision.actor.key)


def _build_refusal(row: InboxRow, by: str, code: str, entry: Card) -> DecisionRefused:
    card_decision = CardDecision.model_validate(row.body)
    return DecisionRefused(
        confirmation_id=card_decision.confirmation_id,
        effect_id=str(entry.effect_id or ""),
        by=by,
        approve=card_decision.approve,
        via=card_decision.via,
        code=code,
        turn_id=row.id,
    )


def _build_announcement(entry: Card, press: ButtonClick, session: Session) -> list[OutboxRow]:
    now, decision = session.now, press.decision
    status = "approved" if decision.approve else "denied"
    reason = {"reason": decision.reason} if decision.reason and not decision.approve else {}
    values = {"status": status, f"{status}_by_name": decision.actor.name, f"{status}_at": now.isoformat(), **reason}
    changed = entry.with_values(**values)
    rows = [outbox.build_card_row(session.key, changed, now)]
    if press.toast:
        code = "toast-running" if decision.approve else "toast-denied"
        rows.insert(0, outbox.build_toast_row(press.reply_chat, press.toast, Notice(code=code), now))
    return rows


def _build_closing_rows(decided: DecisionResult, press: ButtonClick, session: Session, tools: Tools) -> list[OutboxRow]:
    """And why a decision had no effect."""
    rows: list[OutboxRow] = []
    now, decision = session.now, press.decision
    entry = session.state.cards.get(decision.confirmation_id)
    known = entry is not None
    second = decided.notice is not None and decided.notice.code == "card-second-tap"
    denied = decided.notice is not None and decided.notice.code == "card-denied"
    if press.quiet and _is_void(decided) and not decided.reopened and not _is_same(decision, entry or NO_CARD):
        return rows
    if _is_void(decided) and decided.notice is not None and not press.quiet:
        if press.toast and not decided.reopened:  # otherwise the approval has already answered the click
            rows.append(outbox.build_toast_row(press.reply_chat, press.toast, decided.notice, now))
        else:
            rows.append(outbox.build_reply_row(press.reply_chat, build_reply(decided.notice), now))
    if entry is not None and entry.status == "executed":
        rows.extend(_build_settled_cards(decision.confirmation_id, session, tools, at=press.reply_chat))
    elif known and not denied:
        rows.append(_build_card(decision.confirmation_id, session, stage=2 if second else 1, at=press.reply_chat))
    if known and (successor := _find_successor(decision.confirmation_id, session)):
        rows.append(_build_card(successor, session))
    return rows


def _find_successor(confirmation_id: str, session: Session) -> str:
    """Its record or the rules changed; "" if none."""
    entries = session.state.cards
    effect_id = build_effect_id(f"{entries[confirmation_id].effect_id}/again")
    return next((key for key, item in entries.items() if item.effect_id == effect_id and item.status == "requested"), "")


def _build_lead_news(decided: DecisionResult, press: ButtonClick, session: Session) -> list[OutboxRow]:
    """Editing the card notifies nobody. Empty without leads, or if the requester decided."""
    entry = session.state.cards.get(press.decision.confirmation_id)
    if not press.leads_notified or entry is None or press.decision.actor.key == entry.requested_by:
        return []
    about = {"who": press.decision.actor.name, "what": find_title(entry)}
    if decided.notice is not None and decided.notice.code == "card-denied":
        reason = press.decision.reason
        denied = Notice(code="lead-denied-why", args={**about, "reason": reason}) if reason else Notice(code="lead-denied", args=about)
        rows = [outbox.build_reply_row(session.key, build_reply(denied), session.now)]
        if not press.toast and not press.quiet:  # the reason was typed as a message, which is answered too
            rows.append(
                outbox.build_reply_row(
                    press.reply_chat,
                    build_reply(Notice(code="lead-reason-sent", args={"who": entry.requested_by_name})),
                    session.now,
                )
            )
        return rows
    if decided.outcome is not None:
        return [_build_lead_approved_row(entry, press.decision.actor.name, decided.outcome, session)]
    return []


async def build_undo_news(confirmation_id: str, session: Session) -> list[OutboxRow]:
    """To who asked a lead for the undo. Raises StoreError."""
    entry = session.state.cards.get(confirmation_id) or NO_CARD
    code = {"executed": "undo-returned", "denied": "undo-not-returned"}.get(entry.status)
    undone = undo_policy.parse_undo_slot(entry.slot)
    row = await session.find_effect(undone) if code and undone else None
    if row is None or code is None or row.stream == session.stream:
        return []
    about = {"who": entry.approved_by_name or entry.denied_by_name, "what": find_title(entry)}
    reply = build_reply(Notice(code=code, args=about))
    home = await session.find_home(row.stream)
    return [outbox.build_reply_row(home, reply, session.now, key=f"undo-news:{confirmation_id}")] if home else []


def _build_lead_approved_row(entry: Card, who: str, outcome: Outcome, session: Session) -> OutboxRow:
    code = "lead-approved" if outcome.status == "succeeded" else "lead-approved-but"
    return outbox.build_reply_row(session.key, build_reply(Notice(code=code, args={"who": who, "what": find_title(entry)})), session.now)


def _build_expiry_rows(entry: Card, session: Session) -> list[OutboxRow]:
    """Empty without leads. Of a plan only the last card tells."""
    card = find_shown_card(entry.confirmation_id, session.state, session.key)
    if not entry.told or (card is not None and card.is_waiting):
        return []
    about = {"who": ", ".join(entry.told_names or ()), "what": find_title(card or entry)}
    rows = [outbox.build_reply_row(session.key, build_reply(Notice(code="lead-expired", args=about)), session.now)]
    over = Notice(code="lead-expired-yours", args={"what": find_title(card or entry), "who": entry.requested_by_name})
    return [*rows, *(outbox.build_reply_row(chat, build_reply(over), session.now) for chat in entry.told)]


def find_title(entry: Card) -> str:
    """Titles of records, else the method."""
    preview = Preview.model_validate(entry.preview or {})
    titles = [part.title for part in preview.items if part.title] if is_merged(entry) else []
    return preview.title or ", ".join(dict.fromkeys(titles)) or entry.method


def _build_settled_cards(confirmation_id: str, session: Session, tools: Tools, at: str = "") -> list[OutboxRow]:
    """Also of the call that was undone. `at` is the chat of the decision."""
    entries = session.state.cards
    original = undo_policy.find_original(entries[confirmation_id], entries)
    cards = [entries[confirmation_id], *([original] if original is not None and original.is_known else [])]
    deps = tools.gate.deps
    rows = []
    for entry in cards:
        shown_card = undo_policy.add_undo_status(entry, entries, now=session.now, deps=deps)
        row = outbox.build_card_row(session.key, shown_card, session.now)
        rows.append(replace(row, body={**row.body, "at": at}) if at and entry.told else row)
    return rows


def _build_card(confirmation_id: str, session: Session, stage: int = 1, at: str = "") -> OutboxRow:
    entry = session.state.cards[confirmation_id]
    row = outbox.build_card_row(session.key, entry, session.now, stage=stage)
    return replace(row, body={**row.body, "at": at}) if at and entry.told else row


async def _record_audit(decided: DecisionResult, decision: Decision, session: Session, tools: Tools) -> None:
    entry = session.state.cards.get(decision.confirmation_id) or NO_CARD
    await tools.audit.record_decision(
        actor=decision.actor,
        session=session.key,
        entry=entry,
        via=decision.via,
        outcome=decided.outcome,
        notice=decided.notice.code if decided.notice else "",
        home=session.state.run.home if session.state.run else "",
    )


async def list_left_undone(expired: Card, session: Session) -> list[Notice]:
    """«Затем» of approved cards whose turn no longer goes on. Raises StoreError."""
    cards = session.state.cards
    origins = find_origin_slots(cards)
    notices: list[Notice] = []
    for turn, paused in (session.state.paused or {}).items():
        own = [card for card in cards.values() if _is_awaited(origins[card.confirmation_id], turn, paused)]
        is_over = not any(card.status in OPEN_STATUSES for card in own)
        if is_over and not paused.stopped and any(card.confirmation_id == expired.confirmation_id for card in own):
            notices.extend([notice for card in own if await _is_ahead(card, paused, session) for notice in _name_steps(card)])
    return notices


def _is_awaited(origin: str, turn: str, paused: PausedTurn) -> bool:
    return origin.startswith(f"{turn}/") or origin in paused.joined


async def _is_ahead(card: Card, paused: PausedTurn, session: Session) -> bool:
    """It ran, and what follows was never begun."""
    if card.status != "executed" or not card.executed_at or parse_iso(card.executed_at) < parse_iso(paused.ts):
        return False
    return not any([await session.find_effect(build_effect_id(str(cover["slot"]))) for cover in card.covers])


def _name_steps(card: Card) -> Iterator[Notice]:
    after = Preview.model_validate(card.preview or {}).title
    for preview in map(Preview.model_validate, card.next_steps):
        values = "; ".join(f"{line.name}: {', '.join(line.after.split(chr(10)))}" for line in preview.lines)
        args = {"method": preview.method, "after": after or "none", "values": values or "none"}
        yield Notice(code="left-undone", args=args)
