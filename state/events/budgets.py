"""What the journal holds of budgets besides the answers themselves, which are counted. Ring 1."""

from state.events.core import Event


class BudgetWarned(Event):
    """A person was told that most of the month's budget is used; once a month. Counted in no state."""

    person: str
    """Whose budget: "employee:7", or the key of who is no employee."""
    month: int
    """As a number: 202611."""
    percent: int
