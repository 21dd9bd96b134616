"""What would be refused of a step that waits for records of its plan, found before anybody is asked about the plan. Never writes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect, NewRecord
from orchestrator.gate.call.effect import Refuse
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.gate.decide.decide import evaluate
from orchestrator.gate.decide.fetch_facts import fetch_facts
from orchestrator.gate.normalize.normalize import normalize
from state.canonical import dumps
from state.stored import JsonObject

_MAY_CHANGE: Final = frozenset({"gate-unread", "gate-cap-day", "gate-denied-now"})


async def find_refusal(
    effect: Effect, records: Sequence[NewRecord], *, actor: Actor, mode: Mode, deps: GateDeps, now: datetime
) -> Refuse | None:
    """None also where it can only be seen once the records are there, or the portal cannot be read."""
    performer = deps.performers.get(effect.kind)
    portal = performer.portal if performer is not None else ""
    call = normalize(effect, catalogue=deps.catalogue, portal=portal, actor=actor, effect_id=build_effect_id(effect.slot))
    if isinstance(call, Refuse):
        return _leave_if_about_record(call, records)
    made = {(record.kind, record.stand_in): _find_fields(record, actor, portal, deps) for record in records}
    try:
        facts = await fetch_facts(call, actor, deps, made=made)
    except BitrixError:
        return None
    facts = replace(facts, today=now.date(), handed_over=frozenset(made))
    _, verdict = evaluate(call, mode=mode, policy=deps.policy, actor=actor, facts=facts, effect=effect)
    refusal = verdict if isinstance(verdict, Refuse) else deps.find_missing_performer(call)
    return _leave_if_about_record(refusal, records) if refusal is not None else None


def _find_fields(record: NewRecord, actor: Actor, portal: str, deps: GateDeps) -> JsonObject:
    effect = Effect(method=record.method, params=record.params, slot="maker")
    maker = normalize(effect, catalogue=deps.catalogue, portal=portal, actor=actor, effect_id="maker")
    return {} if isinstance(maker, Refuse) else dict(maker.written_fields)


def _leave_if_about_record(refusal: Refuse, records: Sequence[NewRecord]) -> Refuse | None:
    """What names the stand-in is about a record that nobody has seen."""
    text = f"{dumps(dict(refusal.reason.args))} {refusal.detail}"
    unclear = refusal.reason.code in _MAY_CHANGE or any(str(record.stand_in) in text for record in records)
    return None if unclear else refusal
