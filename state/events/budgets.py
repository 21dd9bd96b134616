"""The journal event of the budgets for model use. The use itself is computed from the `ModelAnswered` events of `conversation.py`."""

from state.events.base import Event


class BudgetWarned(Event):
    """A person was warned that most of their monthly budget is used; recorded once a month. No fold uses this event."""

    person: str
    """Whose budget: "employee:7", or the person's key if they are no employee."""
    month: int
    """The month as a number: 202611."""
    percent: int
