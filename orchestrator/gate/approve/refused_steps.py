"""A step that the gate refuses: what the journal keeps of it, and what its engine learns."""

from orchestrator.domain.effect import Effect, Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Refuse
from orchestrator.gate.preview.record_titles import find_new_title
from state.canonical import NotCanonical, dumps
from state.events.conversation import StepRefused
from state.stored import JsonObject


def build_refused(effect: Effect, effect_id: str, refusal: Refuse) -> Outcome:
    return Outcome(
        status="refused",
        effect_id=effect_id,
        method=effect.method,
        reason=refusal.reason,
        detail=refusal.detail,
        foreign_text=refusal.foreign_text,
        is_form=refusal.is_form,
        call=dict(effect.params),
    )


def build_refusal_event(effect: Effect, turn_id: str, refusal: Refuse) -> StepRefused:
    return StepRefused(
        turn_id=turn_id,
        slot=effect.slot,
        method=effect.method,
        params=_to_storable(effect.params),
        code=refusal.reason.code,
        detail=refusal.detail,
        args=dict(refusal.reason.args),
    )


def build_held(call: Call) -> Refuse:
    """Of a record that is not made or asked about, because the step that needs it is refused."""
    title = find_new_title(call)
    return Refuse(
        reason=Notice(code="step-held", args={"title": title, "named": "yes" if title else "no"}),
        detail="not made, nobody was asked: a step of this plan that needs this record is refused; propose both anew, or this one alone",
    )


def _to_storable(params: JsonObject) -> dict[str, object]:
    """Or why they are no JSON: a refusal must be recorded even then."""
    try:
        dumps(params)
    except NotCanonical as error:
        return {"unreadable": str(error)}
    return dict(params)
