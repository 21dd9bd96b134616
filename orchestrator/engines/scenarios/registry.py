"""All types of steps that this program can do: its own, and those of plugins (S000-55)."""

import logging
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Final

from orchestrator.engines.scenarios.plan import StepTypes
from orchestrator.engines.scenarios.step_types import AnyStepType, StepType
from orchestrator.engines.scenarios.steps import effects, flow, flow_runs, knowing, sent_files, talking, telegram

GROUP: Final = "sdelka.scenario_steps"
"""The group of entry points by which plugins add types; each names a `StepType`."""
OWN: Final[tuple[AnyStepType, ...]] = (
    *flow.TYPES,
    *flow_runs.TYPES,
    *talking.TYPES,
    *knowing.TYPES,
    *effects.TYPES,
    *telegram.TYPES,
    *sent_files.TYPES,
)
log = logging.getLogger(__name__)


def build_step_types(more: Iterable[AnyStepType] = ()) -> StepTypes:
    """Return the types by name. Raises ValueError if two have one name."""
    found: dict[str, AnyStepType] = {}
    for one in (*OWN, *more):
        if one.name in found:
            raise ValueError(f"two types of scenario steps are called {one.name}")
        found[one.name] = one
    return found


def load_plugins() -> list[AnyStepType]:
    """Return the types of installed plugins. One that cannot be loaded is named in the log, and its steps count as unknown."""
    found: list[AnyStepType] = []
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
        except Exception:
            log.exception("the plugin %s cannot be loaded", point.name, extra={"action": "scenario_plugin_failed"})
            continue
        if isinstance(loaded, StepType):
            found.append(loaded)
        else:
            log.error("the plugin %s is no type of steps", point.name, extra={"action": "scenario_plugin_failed"})
    return found
