"""The types of steps of the program and of plugins (S000-55)."""

from collections.abc import Iterable
from functools import cache
from typing import Final

from engines.scenarios.core.plan import StepTypes
from engines.scenarios.core.step_types import AnyStepType, StepType
from engines.scenarios.core.steps import effects, flow, flow_runs, knowing, talking, telegram
from orchestrator.engines.plugins import index_types, load_types

GROUP: Final = "sdelka.scenario_steps"
"""Entry points by which plugins add types; each names a `StepType`."""
OWN: Final[tuple[AnyStepType, ...]] = (
    *flow.TYPES,
    *flow_runs.TYPES,
    *talking.TYPES,
    *knowing.TYPES,
    *effects.TYPES,
    *telegram.TYPES,
)


def build_step_types(more: Iterable[AnyStepType] = ()) -> StepTypes:
    """Raises ValueError if two have one name."""
    return index_types((*OWN, *more), "types of scenario steps")


def load_plugins() -> list[AnyStepType]:
    """See `load_types` for those that are left out."""
    return load_types(GROUP, StepType, OWN)


@cache
def load_step_types() -> StepTypes:
    """Installed plugins are looked up once per process."""
    return build_step_types(load_plugins())
