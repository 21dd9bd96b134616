"""Applies one decision of a person to all waiting cards of a plan, one card after the other in the order of the plan's steps.

Each card is approved or denied by an event of its own, and each approved call is checked and run for itself. If the process dies in
between, the input is handled again: cards that are decided already are left as they are.
"""

from dataclasses import dataclass, replace
from typing import Final

from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.gate.approve.card_groups import CardGroup, build_member_decision, find_group_objection
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.approve.run_approved import DecisionResult
from orchestrator.runtime import outbox
from orchestrator.runtime.feature import Tools
from orchestrator.runtime.session import Session
from state.card import Card
from state.journal.store import InboxRow, OutboxRow

OVER_HTTP: Final = "http"
"""How a decision came (`via`) if it came over the HTTP API.

The API itself answers it: the chat of the card shows what changed, and nothing at all if the decision changed nothing.
"""


@dataclass(frozen=True, kw_only=True)
class ButtonClick:
    """A person's decision about a card, with the chat in which it is answered. The decision may also come from the HTTP API."""

    decision: Decision
    toast: str
    reply_chat: str
    """The chat in which the decision was made: the own chat of a lead (head of sales), or that of the card."""
    leads_notified: bool
    """Whether leads were asked: the requester is then in another chat and gets a message about the decision."""

    @property
    def quiet(self) -> bool:
        """Whether the decision is answered by the HTTP API and not in a chat."""
        return self.decision.via == OVER_HTTP


async def decide_group(group: CardGroup, press: ButtonClick, row: InboxRow, session: Session, tools: Tools) -> None:
    """Decide all waiting cards of the group, show what came of each, and finish the input.

    A call whose outcome is unknown stops the work: the cards after it keep waiting. So does a call that is refused or whose record has
    changed, if the policy stops plans at their first such step.
    """
    decision = press.decision
    objection = await find_group_objection(group, decision, tools.gate.deps, session)
    if objection is not None:
        await session.commit(actor=decision.actor.key, outbox=_build_objection_rows(objection, group, press, session), inbox_done=[row.id])
        return
    results: list[DecisionResult] = []
    for number, card in enumerate(group.waiting):
        results.append(await _decide_member(card, press, session, tools, is_first=number == 0))
        if _stops(results[-1], tools):
            break
    rows = [_build_group_row(group.members[0].confirmation_id, press, session), *_build_requester_news(results, group, press, session)]
    await session.commit(actor=decision.actor.key, outbox=rows, inbox_done=[row.id])


async def _decide_member(card: Card, press: ButtonClick, session: Session, tools: Tools, *, is_first: bool) -> DecisionResult:
    """Decide one card. The messages that show the decision are stored together with it, and with the first one the answer to the click."""
    decision = build_member_decision(card, press.decision)
    status = "approved" if decision.approve else "denied"
    said = {"reason": decision.reason} if decision.reason and not decision.approve else {}
    told = {"status": status, f"{status}_by_name": decision.actor.name, f"{status}_at": session.now.isoformat(), **said}
    announce = [outbox.build_card_row(session.key, card.with_values(**told), session.now)]
    if is_first and press.toast:
        toast = Notice(code="toast-running" if decision.approve else "toast-denied")
        announce.insert(0, outbox.build_toast_row(press.reply_chat, press.toast, toast, session.now))
    decided = await tools.gate.decide_card(decision, mode=tools.mode, ledger=session, announce=announce)
    await tools.audit.record_decision(
        actor=decision.actor,
        session=session.key,
        entry=session.state.cards.get(card.confirmation_id, card),
        via=decision.via,
        outcome=decided.outcome,
        notice=decided.notice.code if decided.notice else "",
    )
    return decided


def _stops(decided: DecisionResult, tools: Tools) -> bool:
    outcome = decided.outcome
    if outcome is not None and outcome.status == "unknown":
        return True
    failed = decided.replaced_by is not None or decided.reopened or (outcome is not None and outcome.status == "refused")
    return decided.reopened or (failed and tools.gate.halt_on_block)


def _build_objection_rows(objection: Notice, group: CardGroup, press: ButtonClick, session: Session) -> list[OutboxRow]:
    """Return the answer to a decision that does not count; after the first of two taps, the card with the question for the second."""
    if press.quiet:
        return []
    now = session.now
    toast = press.toast and outbox.build_toast_row(press.reply_chat, press.toast, objection, now)
    rows = [toast or outbox.build_reply_row(press.reply_chat, build_reply(objection), now)]
    stage = 2 if objection.code == "card-second-tap" else 1
    return [*rows, _build_group_row(group.members[0].confirmation_id, press, session, stage=stage)]


def _build_group_row(confirmation_id: str, press: ButtonClick, session: Session, stage: int = 1) -> OutboxRow:
    """Return the message of the whole group: a row about any of its cards becomes that when it is stored."""
    row = outbox.build_card_row(session.key, session.state.cards[confirmation_id], session.now, stage=stage)
    return replace(row, body={**row.body, "at": press.reply_chat})


def _build_requester_news(results: list[DecisionResult], group: CardGroup, press: ButtonClick, session: Session) -> list[OutboxRow]:
    """Return the message that tells the requester what a lead (head of sales) decided about the plan; none if they decided themselves."""
    decision = press.decision
    if not press.leads_notified or decision.actor.key == group.members[0].requested_by:
        return []
    done = sum(isinstance(one.outcome, Outcome) and one.outcome.status == "succeeded" for one in results)
    code = "lead-approved-plan" if decision.approve else "lead-denied-plan"
    why = {"reason": decision.reason, "reasoned": "yes" if decision.reason else "no"}
    about = {"who": decision.actor.name, "count": len(group.waiting), "done": done, **why}
    return [outbox.build_reply_row(session.key, build_reply(Notice(code=code, args=about)), session.now)]
