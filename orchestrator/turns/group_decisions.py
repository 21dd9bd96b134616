"""Applies one decision to all waiting cards of a plan, in the order of its steps.

Each card has its own event and check. After a crash decided cards are left as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.inputs import ANSWERED_THERE
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.gate.approve.card_groups import CardGroup, build_member_decision, find_group_objection
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.approve.run_approved import DecisionResult
from orchestrator.gate.undo import undo_policy
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.journal.store import InboxRow, OutboxRow
from state.model.card import Card


@dataclass(frozen=True, kw_only=True)
class ButtonClick:
    """A decision about a card, also over the HTTP API."""

    decision: Decision
    toast: str
    reply_chat: str
    """A lead's own chat, or the card's."""
    leads_notified: bool
    """The requester is then in another chat and gets a message."""

    @property
    def quiet(self) -> bool:
        """Answered by the HTTP API."""
        return self.decision.via in ANSWERED_THERE


async def decide_group(group: CardGroup, press: ButtonClick, row: InboxRow, session: Session, tools: Tools) -> None:
    """An unknown outcome stops the work, and so does a refusal if the policy says so."""
    decision = press.decision
    objection = await find_group_objection(group, decision, tools.gate.deps, session)
    if objection is not None:
        await session.commit(actor=decision.actor.key, outbox=_build_objection_rows(objection, group, press, session), inbox_done=[row.id])
        await _record_audit(group.members[0], press, session, tools, DecisionResult(notice=objection))
        return
    results: list[DecisionResult] = []
    for number in range(len(group.waiting)):
        results.append(await _decide_member(group.waiting[number:], press, session, tools, is_first=number == 0))
        if _stops(results[-1], tools):
            break
    rows = [*_build_answer_rows(results, press, session), _build_group_row(group, session)]
    rows.extend(_build_news_rows(results, group, press, session))
    rows.extend(_build_undone_rows(group, session, tools))
    await session.commit(actor=decision.actor.key, outbox=rows, inbox_done=[row.id])


async def _decide_member(rest: Sequence[Card], press: ButtonClick, session: Session, tools: Tools, *, is_first: bool) -> DecisionResult:
    """The plan is shown with all of `rest` decided, so that nobody presses again."""
    card = rest[0]
    decision = build_member_decision(card, press.decision)
    status = "approved" if decision.approve else "denied"
    reason = {"reason": decision.reason} if decision.reason and not decision.approve else {}
    values = {"status": status, f"{status}_by_name": decision.actor.name, f"{status}_at": session.now.isoformat(), **reason}
    announce = [outbox.build_card_row(session.key, one.with_values(**values), session.now) for one in rest]
    if is_first and press.toast:
        toast = Notice(code="toast-running" if decision.approve else "toast-denied")
        announce.insert(0, outbox.build_toast_row(press.reply_chat, press.toast, toast, session.now))
    decided = await tools.gate.decide_card(decision, mode=tools.mode, ledger=session, announce=announce)
    await _record_audit(card, press, session, tools, decided)
    return decided


async def _record_audit(card: Card, press: ButtonClick, session: Session, tools: Tools, decided: DecisionResult) -> None:
    await tools.audit.record_decision(
        actor=press.decision.actor,
        session=session.key,
        entry=session.state.cards.get(card.confirmation_id, card),
        via=press.decision.via,
        outcome=decided.outcome,
        notice=decided.notice.code if decided.notice else "",
    )


def _stops(decided: DecisionResult, tools: Tools) -> bool:
    outcome = decided.outcome
    if outcome is not None and outcome.status == "unknown":
        return True
    failed = decided.replaced_by is not None or (outcome is not None and outcome.status == "refused")
    return decided.reopened or (failed and tools.gate.halt_on_block)


def _build_objection_rows(objection: Notice, group: CardGroup, press: ButtonClick, session: Session) -> list[OutboxRow]:
    """After the first of two taps, the question for the second."""
    stage = 2 if objection.code == "card-second-tap" else 1
    return [_build_notice_row(objection, press, session), _build_group_row(group, session, at=press.reply_chat, stage=stage)]


def _build_notice_row(notice: Notice, press: ButtonClick, session: Session) -> OutboxRow:
    if press.toast:
        return outbox.build_toast_row(press.reply_chat, press.toast, notice, session.now)
    return outbox.build_reply_row(press.reply_chat, build_reply(notice), session.now)


def _build_group_row(group: CardGroup, session: Session, *, at: str = "", stage: int = 1) -> OutboxRow:
    """As the cards stand when it is stored. Only `at` is asked for a second tap."""
    row = outbox.build_card_row(session.key, group.merge(), session.now, stage=stage)
    return replace(row, body={**row.body, "at": at}) if at else row


def _build_undone_rows(group: CardGroup, session: Session, tools: Tools) -> list[OutboxRow]:
    """The cards of the calls that were taken back; their other steps may still be."""
    entries, deps = session.state.cards, tools.gate.deps
    originals = (undo_policy.find_original(entries.get(card.confirmation_id, card), entries) for card in group.members)
    known = {original.confirmation_id: original for original in originals if original is not None and original.is_known}
    drawn = [undo_policy.add_undo_status(original, entries, now=session.now, deps=deps) for original in known.values()]
    return [outbox.build_card_row(session.key, card, session.now) for card in drawn]


def _build_answer_rows(results: Sequence[DecisionResult], press: ButtonClick, session: Session) -> list[OutboxRow]:
    """The answer to the click, and why the work stopped."""
    voids = [one.notice for one in results if one.notice is not None and one.notice.code != "card-denied" and one.replaced_by is None]
    rows = [_build_notice_row(voids[0], press, session)] if voids and results[0].notice is voids[0] and not results[0].reopened else []
    stopped = next((one.notice for one in results if one.reopened and one.notice is not None), None)
    if stopped is not None:  # the click is answered already: writing was stopped for everybody after the decision
        rows.append(outbox.build_reply_row(press.reply_chat, build_reply(stopped), session.now))
    return rows


def _build_news_rows(results: Sequence[DecisionResult], group: CardGroup, press: ButtonClick, session: Session) -> list[OutboxRow]:
    """For the requester, and a lead who typed a reason."""
    decision, card = press.decision, group.members[0]
    if not press.leads_notified or decision.actor.key == card.requested_by:
        return []
    done = sum(decision_result.outcome is not None and decision_result.outcome.status == "succeeded" for decision_result in results)
    code = "lead-approved-plan" if decision.approve else "lead-denied-plan"
    why = {"reason": decision.reason, "reasoned": "yes" if decision.reason else "no"}
    about = {"who": decision.actor.name, "count": len(group.waiting), "done": done, **why}
    rows = [outbox.build_reply_row(session.key, build_reply(Notice(code=code, args=about)), session.now)]
    if not decision.approve and not press.toast:
        sent = Notice(code="lead-reason-sent", args={"who": card.requested_by_name})
        rows.append(outbox.build_reply_row(press.reply_chat, build_reply(sent), session.now))
    return rows
