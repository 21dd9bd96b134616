"""Whether what reaches people stands behind a step of its plan that did not run: it would tell them of what is not so."""

from collections.abc import Sequence
from itertools import count

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import ALREADY_SO, Effect, MissedStep
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.plan_slots import find_origin_slot, find_origin_slots, list_plan_cards, parse_step, select_current
from orchestrator.gate.call.effect import Ask, Call
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import build_doubt_args
from orchestrator.gate.preview.call_labels import describe_proposal
from orchestrator.gate.undo.undo_policy import build_undo_effect_id, parse_undo_slot
from state.model.card import Card
from state.stored import JsonObject

MISSED = "plan-step-missed"
_OUTWARD = "N"


async def find_missed_step(card: Card, ledger: Ledger) -> Notice | None:
    """The first earlier step of the plan that did not run as a whole, or was undone; None also if `card` tells of it."""
    plan, own = parse_step(find_origin_slot(card, ledger.state.cards)) if _OUTWARD in card.call_class else ("", 0)
    if not plan or ledger.state.run is not None:
        return None
    versions: dict[int, list[Card]] = {}
    for number, version in list_plan_cards(plan, ledger.state.cards):
        versions.setdefault(number, []).append(version)
    earlier = (select_current(versions[number]) for number in sorted(versions) if number < own)
    fates = [(step, _find_fate(step) or ("undone" if await _is_undone(step, ledger) else "")) for step in earlier]
    missed = next(((step, why) for step, why in fates if why), None)
    if missed is None:
        return None
    step, why = missed
    row = await ledger.find_effect(step.effect_id)
    call = row.call if row is not None and "call" in row.call else {"call": {"method": step.method}, "confirmation_id": ""}
    notice = _build_notice(build_doubt_args(step.effect_id, call), why)
    return None if any(reason.get("code") == MISSED and _is_same(reason.get("args"), notice) for reason in card.reasons) else notice


async def add_missed_step(verdict: Ask, call: Call, missed: Sequence[MissedStep], actor: Actor, deps: GateDeps) -> Ask:
    """Reads do not count."""
    if _OUTWARD not in call.classes:
        return verdict
    for step in missed:
        effect = Effect(method=step.method, params=step.params, slot=step.slot)
        label = await describe_proposal(effect, deps=deps, portal=call.portal, actor=actor)
        if label is not None:
            reasons = (_build_notice(label.named, step.why), *verdict.reasons)
            return Ask(reasons=reasons, taps=verdict.taps, four_eyes=verdict.four_eyes, lead=verdict.lead)
    return verdict


def _find_fate(card: Card) -> str:
    """ "" if the step ran, or there was nothing to do."""
    if card.status == "executed":
        is_whole = not card.unchanged and all(report.get("status") == "success" for report in card.commands)
        return "" if is_whole else "partly"
    if card.status == "refused" and card.code in ALREADY_SO:
        return ""
    return "waiting" if card.status in {"requested", "approved"} else card.status


async def _is_undone(step: Card, ledger: Ledger) -> bool:
    cards = ledger.state.cards
    undone = (parse_undo_slot(slot) for key, slot in find_origin_slots(cards).items() if cards[key].status == "executed")
    if step.effect_id in undone:
        return True
    for attempt in count(1):
        row = await ledger.find_effect(build_undo_effect_id(step.effect_id, attempt))
        if row is None or row.status == "succeeded":
            return row is not None
    return False


def _build_notice(label: JsonObject, why: str) -> Notice:
    step = {"code": "call-named", "args": dict(label)}
    return Notice(code=MISSED, args={"why": why, "id": str(label.get("effect_id") or ""), "step": step})


def _is_same(args: object, notice: Notice) -> bool:
    known = args if isinstance(args, dict) else {}
    return all(known.get(name) == notice.args[name] for name in ("why", "id"))
