"""A type of scenario steps that a package adds: `working_day` finds the date so many working days from today.

    - type: working_day
      params: {days: 3, output_var: deadline}

Read it beside engines/scenarios/README.md, "Types of your own". Everything that a step needs is in `engines/scenarios/core/step_types.py`.
"""

from datetime import date, timedelta
from typing import Final

from pydantic import Field

from engines.scenarios.core.step_types import AUTHOR, StepCall, StepParams, StepResult, StepType, list_named
from orchestrator.domain.taint import Value

_SATURDAY: Final = 5


class WorkingDayParams(StepParams):
    """How far away the day is. Names, types, bounds and descriptions here are what validation checks and `scenario steps` shows."""

    days: int = Field(ge=0, le=250, description="How many working days from today; 0 is today or the Monday after a weekend.")
    free: list[str] = Field(default_factory=list, max_length=100, description="Further free days, each YYYY-MM-DD.")
    output_var: str = Field("working_day", min_length=1, description="The variable that gets the date, YYYY-MM-DD.")


def count_days(today: date, days: int, free: frozenset[str]) -> date:
    """Return the date `days` working days after `today`; Saturdays, Sundays and the days in `free` do not count."""
    found, left = today, days
    while True:
        is_free = found.weekday() >= _SATURDAY or found.isoformat() in free
        if not is_free and left == 0:
            return found
        left -= 0 if is_free else 1
        found += timedelta(days=1)


async def _find_day(call: StepCall[WorkingDayParams]) -> StepResult:
    """Set the variable. The clock is asked through `memo`, so that a run which is played again gets the same day."""

    async def read_clock() -> str:
        return call.ctx.now.date().isoformat()

    today = await call.ctx.memo(f"{call.node}/today", read_clock, origins=AUTHOR)
    day = count_days(date.fromisoformat(today.data), call.params.days, frozenset(call.params.free))
    origins = today.origins | call.find_origins("days", "free")  # where a value comes from goes with it: the gate asks by that
    return StepResult(changes={call.params.output_var: Value(day.isoformat(), origins)})


WORKING_DAY: Final = StepType(
    name="working_day",
    summary="Finds the date so many working days from today.",
    params=WorkingDayParams,
    perform=_find_day,
    example={"params": {"days": 3, "output_var": "deadline"}},
    list_outputs=list_named("output_var", "working_day"),
    is_action=True,
)
"""What the entry point names."""
