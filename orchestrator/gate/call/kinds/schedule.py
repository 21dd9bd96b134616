"""What the bot's own database does later; the policy need not open it.

A reminder and one later run need no card; what repeats asks a person.
"""

from collections.abc import Iterator
from typing import Any, Final

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import reminders, run_schedules
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest, validate_params
from orchestrator.gate.call.kinds.schedule_methods import KIND, METHODS
from orchestrator.gate.call.reasons import ask
from state.stored import JsonObject


def _normalize_params(request: KindRequest, proposed: JsonObject) -> dict[str, Any]:
    if request.method.spec.name == reminders.ADD:
        return reminders.normalize_reminder(proposed, person=request.person, effect_id=request.effect_id)
    if request.method.spec.name in reminders.CHANGES:
        return reminders.normalize_change(request.method.spec.name, proposed, person=request.person, effect_id=request.effect_id)
    marks = {run_schedules.PERSON: request.person, run_schedules.MARK: request.effect_id}
    checked = validate_params(request, {name: value for name, value in proposed.items() if value != marks.get(name, ...)})
    return run_schedules.normalize_schedule(checked, person=request.person, effect_id=request.effect_id, zone=request.zone)


def _drop_marks(params: JsonObject) -> JsonObject:
    return {name: value for name, value in params.items() if name != run_schedules.MARK}


def _ask_about_repetition(call: Call, _facts: Facts) -> Iterator[Notice]:
    if "cron" in call.params:
        yield ask("gate-schedule-repeats")


SCHEDULE: Final = EffectKind(
    name=KIND,
    methods=METHODS,
    origin="label",
    normalize=_normalize_params,
    drop_marks=_drop_marks,
    collect_reasons=_ask_about_repetition,
    always_open=frozenset(METHODS),
)
