"""The event of the monthly budgets; what was used is computed from other events."""

from state.events.base import Event


class BudgetWarned(Event):
    """Recorded once a month."""

    person: str
    """"employee:7", or a person's key."""
    month: int
    percent: int
