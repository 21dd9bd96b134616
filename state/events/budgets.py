"""The journal event of the monthly budgets, which limit how much of the model each person may use.

How much a person has used is computed from the `ModelAnswered` and `ModelFailed` events of `conversation.py`, and from the `NodeDone` and
`NodeFailed` of `runs.py` that name a model.
"""

from state.events.base import Event


class BudgetWarned(Event):
    """A person was warned that most of their monthly budget for the model is used; recorded once a month. It changes no state."""

    person: str
    """Whose budget: "employee:7", or the person's key if they are no employee."""
    month: int
    """The month as a number: 202611."""
    percent: int
