"""A person's decision about a card, and cards whose time is over. Overtakes a running turn. Ring 2."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from orchestrator import outgoing
from orchestrator.gate import confirmations, undoing
from orchestrator.gate.approved import Decided
from orchestrator.gate.confirmations import Decision
from orchestrator.gate.stored_call import effect_id_of
from orchestrator.messages import Actor, Notice, Outcome, say
from orchestrator.session import Session
from orchestrator.turns import Tools, admitted, turned_away
from state.canonical import clean_text
from state.events import DecisionRefused
from state.store import EffectConflict, InboxRow, OutboxRow

LONGEST_REASON: Final = 500
_GONE: Final = "no-access-any-more"
OVER_HTTP: Final = "http"
"""Who decides over the HTTP API is answered by it: the chat of the card is told what changed, and nothing of what did not count."""


async def run_decision(row: InboxRow, session: Session, tools: Tools) -> None:
    """Apply one press, typed answer or API decision; the card is edited, the press answered once (facts/telegram §5)."""
    actor = await _allowed(row, session, tools)
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
        reason=clean_text(str(body.get("reason", "")))[:LONGEST_REASON].strip(),
    )
    entry = dict(session.state["agent"]["confirmations"].get(decision.confirmation_id) or {})
    press = _Press(decision=decision, toast=body.get("callback_id", ""), door=_door(row, session), told=bool(entry.get("told")))
    announce = _announcement(entry, press, session) if entry else []
    decided = await tools.gate.decide_card(decision, mode=tools.mode, ledger=session, announce=announce)
    refused = _refused(decided, press, session, row)
    rows = [*_closing_rows(decided, press, session, tools), *_news(decided, press, session)]
    await session.commit(*refused, actor=actor.key, outbox=rows, inbox_done=[row.id])
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
    if session.state["agent"]["confirmations"][confirmation_id]["status"] == "expired":
        rows.extend(_expired_news(entry, session))
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])


@dataclass(frozen=True, kw_only=True)
class _Press:
    """A decision, how it is answered and in which chat."""

    decision: Decision
    toast: str
    door: str
    """The chat in which it was made: a lead's own, or that of the card."""
    told: bool
    """Leads were asked, so the one who asked waits somewhere else and is told what came of it."""

    @property
    def quiet(self) -> bool:
        """Whether it is answered elsewhere than in a chat."""
        return self.decision.via == OVER_HTTP


def _door(row: InboxRow, session: Session) -> str:
    """Where the person is answered: a lead who was asked in their own chat is answered there."""
    entry = session.state["agent"]["confirmations"].get(row.body["confirmation_id"]) or {}
    person = str(row.actor["key"])
    return person if person in (entry.get("told") or ()) else session.key


def given_up(row: InboxRow, session: Session) -> list[OutboxRow]:
    """What a lead reads in their own chat of a press or a reason that could not be worked, besides the one who asked."""
    entry = session.state["agent"]["confirmations"].get(str(row.body.get("confirmation_id")))
    if entry is None or (door := _door(row, session)) == session.key:
        return []
    about = {"what": title_of(entry), "who": entry["requested_by_name"], "id": row.id[-8:]}
    return [outgoing.reply_row(door, say(Notice(code="lead-press-failed", args=about)), session.now, key=f"gave-up:{row.id}")]


async def _allowed(row: InboxRow, session: Session, tools: Tools) -> Actor | None:
    """As `admitted`, but whoever has lost access is told in the chat in which they pressed."""
    door = _door(row, session)
    over_http = row.body["via"] == OVER_HTTP
    if door == session.key and not over_http:
        return await admitted(row, session, tools)
    actor = tools.present(Actor.model_validate(row.actor))
    if actor is None:
        by, entry = str(row.actor["key"]), session.state["agent"]["confirmations"].get(row.body["confirmation_id"]) or {}
        refused = [_refusal(row, by, _GONE, entry)] if over_http else []
        told = [] if over_http else turned_away(row, door, session)
        await session.commit(*refused, actor=by, outbox=told, inbox_done=[row.id])
    return actor


async def finish_approved(effect_id: str, confirmation_id: str, session: Session, tools: Tools) -> None:
    """Go on with a call that was approved before the program stopped and never started."""
    decided = await tools.gate.resume_approved(effect_id, mode=tools.mode, ledger=session)
    if decided.reopened and decided.notice is not None:
        told = outgoing.reply_row(session.key, say(decided.notice), session.now)
        await session.commit(actor="system", outbox=[told, _card(confirmation_id, session)])
        return
    rows = _settled(confirmation_id, session, tools)
    entry = session.state["agent"]["confirmations"].get(confirmation_id) or {}
    if decided.outcome is not None and entry.get("told") and entry.get("approved_by") != entry["requested_by"]:
        rows.append(_lead_approved(entry, entry.get("approved_by_name", ""), decided.outcome, session))
    if successor := _successor(confirmation_id, session):
        rows.append(_card(successor, session))
    await session.commit(actor="system", outbox=rows)


def _counts_not(decided: Decided) -> bool:
    """Whether the decision changed nothing."""
    denied = decided.notice is not None and decided.notice.code == "card-denied"
    return decided.notice is not None and not denied and decided.outcome is None and decided.replaced_by is None


def _refused(decided: Decided, press: _Press, session: Session, row: InboxRow) -> list[DecisionRefused]:
    """What the journal keeps of a decision over the API that did not count: there it is the answer, and proof of who tried."""
    entry = session.state["agent"]["confirmations"].get(press.decision.confirmation_id) or {}
    if not press.quiet or not _counts_not(decided) or decided.notice is None or _is_same(press.decision, entry):
        return []
    return [] if decided.notice.code == "card-second-tap" else [_refusal(row, press.decision.actor.key, decided.notice.code, entry)]


def _is_same(decision: Decision, entry: Mapping[str, Any]) -> bool:
    """Whether the card was decided by this very decision: it came twice, or its program died in the middle."""
    return bool(entry.get("approved_by" if decision.approve else "denied_by") == decision.actor.key)


def _refusal(row: InboxRow, by: str, code: str, entry: Mapping[str, Any]) -> DecisionRefused:
    body = row.body
    return DecisionRefused(
        confirmation_id=body["confirmation_id"],
        effect_id=str(entry.get("effect_id") or ""),
        by=by,
        approve=body["approve"],
        via=body["via"],
        code=code,
        turn_id=row.id,
    )


def _announcement(entry: Mapping[str, Any], press: _Press, session: Session) -> list[OutboxRow]:
    """What goes out in the same commit as the decision itself, before the call runs."""
    now, decision = session.now, press.decision
    status = "approved" if decision.approve else "denied"
    changed = {**entry, "status": status, f"{status}_by_name": decision.actor.name, f"{status}_at": now.isoformat()}
    if decision.reason and not decision.approve:
        changed["reason"] = decision.reason
    rows = [outgoing.card_row(session.key, changed, now)]
    if press.toast:
        code = "toast-running" if decision.approve else "toast-denied"
        rows.insert(0, outgoing.toast_row(press.door, press.toast, Notice(code=code), now))
    return rows


def _closing_rows(decided: Decided, press: _Press, session: Session, tools: Tools) -> list[OutboxRow]:
    """The card as it stands after the decision, and the toast when the decision did not count."""
    rows: list[OutboxRow] = []
    now, decision = session.now, press.decision
    entry = session.state["agent"]["confirmations"].get(decision.confirmation_id)
    known = entry is not None
    second = decided.notice is not None and decided.notice.code == "card-second-tap"
    denied = decided.notice is not None and decided.notice.code == "card-denied"
    if press.quiet and _counts_not(decided) and not decided.reopened and not _is_same(decision, entry or {}):
        return rows
    if _counts_not(decided) and decided.notice is not None and not press.quiet:
        if press.toast and not decided.reopened:  # else the press was answered with the approval
            rows.append(outgoing.toast_row(press.door, press.toast, decided.notice, now))
        else:
            rows.append(outgoing.reply_row(press.door, say(decided.notice), now))
    if entry is not None and entry["status"] == "executed":
        rows.extend(_settled(decision.confirmation_id, session, tools, at=press.door))
    elif known and not denied:
        rows.append(_card(decision.confirmation_id, session, stage=2 if second else 1, at=press.door))
    if known and (successor := _successor(decision.confirmation_id, session)):
        rows.append(_card(successor, session))
    return rows


def _successor(confirmation_id: str, session: Session) -> str:
    """The open card that took the place of this one when it drifted, or "". Also one that a crash kept from being shown."""
    entries = session.state["agent"]["confirmations"]
    wanted = effect_id_of(f"{entries[confirmation_id]['effect_id']}/again")
    return next((key for key, item in entries.items() if item["effect_id"] == wanted and item["status"] == "requested"), "")


def _news(decided: Decided, press: _Press, session: Session) -> list[OutboxRow]:
    """The one who asked a lead and went on with other things is told in words what the lead decided: an edited card says nothing aloud."""
    entry = session.state["agent"]["confirmations"].get(press.decision.confirmation_id)
    if not press.told or entry is None or press.decision.actor.key == entry["requested_by"]:
        return []
    about = {"who": press.decision.actor.name, "what": title_of(entry)}
    if decided.notice is not None and decided.notice.code == "card-denied":
        reason = press.decision.reason
        denied = Notice(code="lead-denied-why", args={**about, "reason": reason}) if reason else Notice(code="lead-denied", args=about)
        rows = [outgoing.reply_row(session.key, say(denied), session.now)]
        if not press.toast and not press.quiet:  # the reason came as words, which are answered too
            rows.append(
                outgoing.reply_row(press.door, say(Notice(code="lead-reason-sent", args={"who": entry["requested_by_name"]})), session.now)
            )
        return rows
    if decided.outcome is not None:
        return [_lead_approved(entry, press.decision.actor.name, decided.outcome, session)]
    return []


def _lead_approved(entry: Mapping[str, Any], who: str, outcome: Outcome, session: Session) -> OutboxRow:
    code = "lead-approved" if outcome.status == "succeeded" else "lead-approved-but"
    return outgoing.reply_row(session.key, say(Notice(code=code, args={"who": who, "what": title_of(entry)})), session.now)


def _expired_news(entry: Mapping[str, Any], session: Session) -> list[OutboxRow]:
    """Nobody decided in time: both sides hear of it."""
    if not entry.get("told"):
        return []
    about = {"who": ", ".join(entry.get("told_names") or ()), "what": title_of(entry)}
    rows = [outgoing.reply_row(session.key, say(Notice(code="lead-expired", args=about)), session.now)]
    over = Notice(code="lead-expired-yours", args={"what": title_of(entry), "who": entry["requested_by_name"]})
    return [*rows, *(outgoing.reply_row(chat, say(over), session.now) for chat in entry["told"])]


def title_of(entry: Mapping[str, Any]) -> str:
    """What the request is about, in one word: the record's name, or the method."""
    return str((entry.get("preview") or {}).get("title") or entry["method"])


def _settled(confirmation_id: str, session: Session, tools: Tools, at: str = "") -> list[OutboxRow]:
    """The card of a call that has run, with what can be done about it; of an undo also the card that it took back."""
    entries = session.state["agent"]["confirmations"]
    original = undoing.original_of(entries[confirmation_id], entries)
    shown = [entries[confirmation_id], *([original] if original is not None and "preview" in original else [])]
    means = tools.gate.means
    rows = []
    for entry in shown:
        body = undoing.as_shown(entry, entries, now=session.now, policy=means.policy, catalogue=means.catalogue)
        row = outgoing.card_row(session.key, body, session.now)
        rows.append(replace(row, body={**row.body, "at": at}) if at and entry.get("told") else row)
    return rows


def _card(confirmation_id: str, session: Session, stage: int = 1, at: str = "") -> OutboxRow:
    entry = session.state["agent"]["confirmations"][confirmation_id]
    row = outgoing.card_row(session.key, entry, session.now, stage=stage)
    return replace(row, body={**row.body, "at": at}) if at and entry.get("told") else row


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
