"""A step of a plan, and the references in its parameters, which stand for whole values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engines.crm_agent.core.turn_work import Page
from orchestrator.directory.answers import Unresolved
from orchestrator.directory.field_references import replace_key
from orchestrator.engines.crm_agent.blocks import Step

REFERENCE_SIGN: Final = "@"


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """A step with `problem` is not run. `slot` is "<turn>/<iteration>/<step>", `dates` what its periods were taken for."""

    slot: str
    step: Step
    problem: Unresolved | None = None
    dates: tuple[str, ...] = ()
    group_by: str = ""
    """Counts the list by this field; "" for none."""
    limit: int = 0
    """Rows from the beginning; 0 for all."""
    page: Page | None = None
    replaces: str = ""
    """The confirmation that it withdraws, or that it stands for."""


def replace_references(value: object, values: Mapping[str, object]) -> Any:
    if isinstance(value, str):
        return values.get(value, value)
    if isinstance(value, Mapping):
        return {replace_key(key, values): replace_references(item, values) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_references(item, values) for item in value]
    return value
