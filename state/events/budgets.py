"""Journal events of the budgets for model use. What a budget counts are the `ModelAnswered` events; they are not here."""

from state.events.base import Event


class BudgetWarned(Event):
    """A person was told that most of their budget of the month is used; recorded once a month. No fold uses it."""

    person: str
    """Whose budget: "employee:7", or the person's key if they are no employee."""
    month: int
    """The month as a number: 202611."""
    percent: int
