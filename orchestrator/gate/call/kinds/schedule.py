"""The kind `schedule`: what the bot's own database does later. A reminder for the requester alone needs neither a card nor an opening."""

from typing import Any, Final

from orchestrator.gate.call import reminders
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest, validate_params
from orchestrator.gate.call.kinds.schedule_methods import KIND, METHODS
from state.stored import JsonObject


def _normalize_params(request: KindRequest, given: JsonObject) -> dict[str, Any]:
    if request.method.spec.name == reminders.ADD:
        return reminders.normalize_reminder(given, person=request.person, effect_id=request.effect_id)
    return validate_params(request, given)


SCHEDULE: Final = EffectKind(
    name=KIND,
    methods=METHODS,
    origin="label",
    normalize=_normalize_params,
    always_open=frozenset({reminders.ADD}),
)
