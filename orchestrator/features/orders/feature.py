"""Standing orders: at a time, when something changes, when nothing happens."""

from orchestrator.domain.outputs import Notice
from orchestrator.domain.standing_orders import OrderAdd, OrderChange, OrderDo, OrderFault, OrderHit, OrdersRestored
from orchestrator.features.orders.firing import OrderFirer
from orchestrator.features.orders.giving import take_addition, take_change, take_deed, tell_restored
from orchestrator.features.orders.listing import show_orders, take_click
from orchestrator.features.orders.looking import OrderLooker
from orchestrator.features.orders.words import BUTTON
from orchestrator.turns.feature import CommandSpec, Feature
from state.journal.order_index import TIMER


def build_feature(firer: OrderFirer, looker: OrderLooker | None) -> Feature:
    """Without `looker` changes are not looked for in this process."""
    return Feature(
        inbox={
            OrderAdd.KIND: take_addition,
            OrderChange.KIND: take_change,
            OrderDo.KIND: take_deed,
            OrderHit.KIND: firer.take_hit,
            OrderFault.KIND: firer.take_fault,
            OrdersRestored.KIND: tell_restored,
        },
        timers={TIMER: firer.fire_due, OrderHit.KIND: firer.take_hit},
        given_up_timers={TIMER: firer.give_up},
        buttons={BUTTON: take_click},
        commands={"orders": show_orders},
        command_specs={"orders": CommandSpec(menu=Notice(code="menu-orders"))},
        periodic_tasks=(looker.run,) if looker is not None else (),
        frequent_tasks=(looker.run_urgent,) if looker is not None else (),
    )
