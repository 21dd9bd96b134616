"""Whether an approved card still describes what its call would do; anything more asks again. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.drift import Drift
from orchestrator.gate.call import critical_fields
from orchestrator.gate.call.effect import Allow, Ask, Call, Facts, Verdict
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.preview.describe_drift import CHANGED
from state.model.card import Card
from state.stored import JsonObject

STRICTER: Final = Notice(code="stricter-meanwhile")


@dataclass(frozen=True, kw_only=True)
class ReplacementCard:
    """The same call as on the approved card, checked against the present records and rules."""

    call: Call
    facts: Facts
    actor: Actor
    ask: Ask

    @property
    def reason(self) -> Notice:
        """Told to the person who approved the old card."""
        return self.ask.reasons[0]

    def with_reason(self, reason: Notice) -> "ReplacementCard":
        """In place of the first reason."""
        return replace(self, ask=replace(self.ask, reasons=(reason, *self.ask.reasons[1:])))


def revalidate(
    drift: Drift, *, facts: Facts, actor: Actor, entry: Card, verdict: Allow | Ask, fell: Sequence[Notice] = ()
) -> ReplacementCard | None:
    """None if `entry` still describes exactly what the call would do."""
    fresh = verdict if isinstance(verdict, Ask) else Ask(reasons=())
    if not drift.is_found and not _is_stricter(entry, fresh):
        return None
    why = CHANGED if drift.is_found else STRICTER
    return ReplacementCard(
        call=drift.call,
        facts=facts,
        actor=actor,
        ask=Ask(reasons=(why, *fell, *fresh.reasons), taps=fresh.taps, four_eyes=fresh.four_eyes, lead=fresh.lead),
    )


def _is_stricter(entry: Card, fresh: Ask) -> bool:
    known = {_build_reason_key(reason["code"], reason.get("args") or {}) for reason in entry.reasons}
    more_hands = fresh.taps > entry.taps or (fresh.four_eyes and not entry.four_eyes) or (fresh.lead and not entry.lead)
    return more_hands or not {_build_reason_key(reason.code, reason.args) for reason in fresh.reasons} <= known


def _build_reason_key(code: str, args: JsonObject) -> tuple[str, ...]:
    """What makes two reasons the same; amounts do not count."""
    return (code, *[str(args.get(name, "")) for name in ("reason", "key", "field", "entity", "id", "why")])


def refuse_unchanged(verdict: Verdict, call: Call, facts: Facts) -> Verdict:
    """Refuses an update (no batch) to values that the record has already."""
    if not isinstance(verdict, Allow | Ask) or call.kind != "bitrix" or call.spec.verb != "update":
        return verdict
    if isinstance(verdict, Ask) and any(reason.code == "same-call-unknown" for reason in verdict.reasons):
        return verdict  # the person must hear about the first call, whose outcome is unknown
    field_values = call.written_fields
    record = critical_fields.find_current_record(call, facts)
    is_unchanged = bool(field_values) and all(critical_fields.has_value(call, name, value, record) for name, value in field_values.items())
    return refuse("gate-already-so", method=call.method) if is_unchanged else verdict
