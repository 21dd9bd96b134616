"""Decides as the endpoint of the API does. The shown card's fingerprint is sent: what has changed since is not approved."""

from dataclasses import dataclass
from typing import Final

from bot.console.visit import Visit
from bot.http_api.approvals.card_models import Confirmation, to_confirmation
from bot.http_api.approvals.decisions import DecisionConflict, DecisionRequest, DecisionResult, decide
from bot.http_api.approvals.freeze import describe_freeze
from bot.http_api.server.errors import ApiError
from orchestrator.turns.group_decisions import IN_CONSOLE

SECOND: Final = "second_confirmation_required"
_SAID: Final = {
    "executed": ("good", "console-approvals-executed"),
    "partly": ("warn", "console-approvals-partly"),
    "denied": ("plain", "console-approvals-denied"),
    "refused": ("bad", "console-approvals-refused"),
    "unknown": ("warn", "console-approvals-unknown"),
    "running": ("live", "console-approvals-running"),
    "accepted": ("live", "console-approvals-accepted"),
}
"""By status of a decision that counted: tone and sentence."""
_CONFLICTS: Final = {
    "confirmation_changed": "console-approvals-changed",
    "confirmation_expired": "console-approvals-expired",
    "confirmation_executed": "console-approvals-first-approved",
    "confirmation_approved": "console-approvals-first-approved",
    "confirmation_refused": "console-approvals-first-approved",
    "confirmation_unknown": "console-approvals-first-approved",
    "confirmation_denied": "console-approvals-first-denied",
    "confirmation_superseded": "console-approvals-replaced",
    "fingerprint_mismatch": "console-approvals-outdated",
}
"""By code of a decision that was not accepted."""
_NOT_FOUND: Final = 404


@dataclass(frozen=True, kw_only=True)
class Outcome:
    tone: str
    text: str
    card: Confirmation
    """As it is now; the new one if what it would change has changed."""
    is_second: bool = False
    """A second confirmation is needed, with the fingerprint of `card`."""


async def decide_card(visit: Visit, card: Confirmation, *, approve: bool, reason: str = "") -> Outcome:
    """As the page showed it. Raises VisitOver if rights have changed, and StoreError."""
    wish = DecisionRequest(approve=approve, fingerprint=card.fingerprint, reason=reason, via=IN_CONSOLE)
    try:
        done = await decide(visit.services.desk, visit.caller, card.id, wish)
    except DecisionConflict as why:
        return await _explain_conflict(visit, why)
    except ApiError as why:
        return await _explain_refusal(visit, card, why)
    return _describe_result(visit, done)


def _describe_result(visit: Visit, done: DecisionResult) -> Outcome:
    if done.status == SECOND:
        return Outcome(tone="warn", text="", card=done.card, is_second=True)
    tone, code = _SAID[done.status]
    return Outcome(tone=tone, text=visit.tr.translate(code), card=done.card)


async def _explain_conflict(visit: Visit, why: DecisionConflict) -> Outcome:
    if why.code == "frozen":
        standing = await visit.services.desk.switch.fetch_freeze()
        return Outcome(tone="warn", text=visit.say_notice(describe_freeze("frozen-card", standing)), card=why.card)
    by = why.card.decided.by.name if why.card.decided is not None else ""
    code = _CONFLICTS.get(why.code, "console-approvals-not-counted")
    return Outcome(tone="warn", text=visit.tr.translate(code, who=by, known="yes" if by else "no"), card=why.card)


async def _explain_refusal(visit: Visit, card: Confirmation, why: ApiError) -> Outcome:
    """In their language; the error's own sentence is for programs."""
    if why.status == _NOT_FOUND:
        return Outcome(tone="bad", text=visit.say("console-not-found"), card=card)
    found_card = await visit.services.desk.find_card(visit.caller, card.id)
    now = to_confirmation(found_card, visit.viewer, visit.tr) if found_card is not None else card
    if why.status == 403:  # noqa: PLR2004 - forbidden
        return Outcome(tone="bad", text=now.why_not or visit.say("console-approvals-forbidden"), card=now)
    return Outcome(tone="bad", text=visit.say("console-approvals-not-worked"), card=now)
