"""Counts the steps of a flow against its budget; a retry grants the same once more."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal

from orchestrator.engines.base import name_step_node
from orchestrator.engines.runs import RunContext, RunFailed, RunLimits
from orchestrator.engines.shared.declared import Budget


class StepCounter:
    def __init__(self, ctx: RunContext, budget: Budget, most_steps: int) -> None:
        """Allow `most_steps` in all, and the budget since the last retry."""
        self._ctx, self._most, self._most_steps = ctx, budget.max_steps, most_steps
        self.visits: Counter[str] = Counter()
        self._counted = 0
        ctx.limit(build_limits(budget))

    def begin(self, step: str) -> None:
        if self.visits.total() >= self._most_steps:
            often = self.visits[step]
            detail = f"more than {self._most_steps} steps: it stands before {step}, made {often} times"
            raise RunFailed("flow-too-long", detail, most=self._most_steps, step=step, often=often)
        number = self.visits[step] + 1
        if not self._ctx.is_before_retry(f"{name_step_node(step)}/{number}/1"):
            if self._most is not None and self._counted >= self._most:
                raise RunFailed("flow-budget-steps", f"more than {self._most} steps", most=self._most)
            self._counted += 1
        self.visits[step] = number


def build_limits(budget: Budget) -> RunLimits:
    return RunLimits(
        tokens=budget.max_tokens,
        cost=None if budget.max_cost is None else Decimal(str(budget.max_cost)),
        time=None if budget.max_seconds is None else timedelta(seconds=budget.max_seconds),
    )
