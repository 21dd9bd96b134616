from orchestrator.domain.outputs import Notice
from orchestrator.domain.schedule_inputs import ScheduleAdd, ScheduleOrder, SchedulesRestored
from orchestrator.runs.registry import Engines
from orchestrator.schedules.commands import show_schedules, take_click
from orchestrator.schedules.firing import BUTTON, Firer
from orchestrator.schedules.orders import Orders, tell_restored
from orchestrator.turns.feature import CommandSpec, Feature
from state.journal.schedule_index import TIMER


def build_feature(engines: Engines, *, fires: bool = True) -> Feature:
    """With `fires=False` it only keeps the schedules. Without engines it offers no command; its schedules wait."""
    firer, orders = Firer(engines, fires=fires), Orders(engines)
    return Feature(
        inbox={
            ScheduleAdd.KIND: orders.take_addition,
            ScheduleOrder.KIND: orders.take_order,
            SchedulesRestored.KIND: tell_restored,
        },
        timers={TIMER: firer.fire_due},
        given_up_timers={TIMER: firer.give_up},
        buttons={BUTTON: take_click},
        commands={"schedules": show_schedules} if engines.runs else {},
        command_specs={"schedules": CommandSpec(menu=Notice(code="menu-schedules"), in_groups=True)} if engines.runs else {},
    )
