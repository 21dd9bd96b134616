"""Journal events of budgets, besides the model answers themselves, which are what budgets count."""

from state.events.base import Event


class BudgetWarned(Event):
    """A person was told that most of the month's budget is used; sent once a month. No fold uses it."""

    person: str
    """Whose budget: "employee:7", or the person's key if they are no employee."""
    month: int
    """The month as a number: 202611."""
    percent: int
