from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Method
from orchestrator.domain.frozen import LateModel
from orchestrator.gate.call import reminders, run_schedules
from orchestrator.gate.call.kinds.method import KindMethod, build_kind_method

KIND: Final = "schedule"
_REMINDER = Method(
    name=reminders.ADD,
    classes=("W",),
    verb="add",
    entity="reminder",
    idempotent=False,
    safe_create=True,
    fields_at="",
    params=("*",),
    forced={reminders.PERSON: ""},
    owner="self",
)


class ReminderParams(LateModel):
    """The parameters of a reminder, which `reminders.normalize_reminder` checks."""


_MOVE = _REMINDER.model_copy(update={"name": reminders.MOVE, "verb": "update", "idempotent": True, "adds": True})
_CANCEL = _MOVE.model_copy(update={"name": reminders.CANCEL})
METHODS: Final[Mapping[str, KindMethod]] = {
    reminders.MOVE: KindMethod(spec=_MOVE, params=ReminderParams),
    reminders.CANCEL: KindMethod(spec=_CANCEL, params=ReminderParams),
    reminders.ADD: KindMethod(spec=_REMINDER, params=ReminderParams),
    run_schedules.ADD: build_kind_method(
        run_schedules.ADD, "W", "add", run_schedules.RunScheduleParams, entity="schedule", safe_create=True
    ),
}
