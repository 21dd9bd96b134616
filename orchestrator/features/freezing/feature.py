"""/freeze, /unfreeze with its button, and news to administrators."""

from functools import partial

from orchestrator.domain.outputs import Notice
from orchestrator.domain.staff import Staff
from orchestrator.features.freezing import freeze_switch, handlers
from orchestrator.gate.call.ports import FreezeSwitch
from orchestrator.turns.feature import CommandSpec, Feature


def build_feature(switch: FreezeSwitch, staff: Staff | None = None) -> Feature:
    """Without `staff` administrators are not told."""
    return Feature(
        inbox={freeze_switch.NEWS_KIND: partial(freeze_switch.tell_administrators, staff=staff)} if staff is not None else {},
        commands={"freeze": partial(handlers.freeze, switch=switch), "unfreeze": partial(handlers.ask_unfreeze, switch=switch)},
        command_specs={name: CommandSpec(menu=Notice(code=f"menu-{name}"), for_admins=True) for name in ("freeze", "unfreeze")},
        buttons={handlers.PRESS: partial(handlers.release, switch=switch)},
    )
