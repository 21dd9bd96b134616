"""What a person may order a run to do, in which states of the run, and how its stream shows that an order was carried out."""

from collections.abc import Mapping
from typing import Final, Literal

from orchestrator.runs.limits import RETRY
from state.events.runs import WHOLE, RunFinished, RunWaits, RunWoken
from state.journal.store import StoredEvent

Order = Literal["pause", "resume", "retry", "cancel"]
FITTING: Final[Mapping[Order, frozenset[str]]] = {
    "pause": frozenset({"running", "waiting"}),
    "resume": frozenset({"paused"}),
    "retry": frozenset({"failed"}),
    "cancel": frozenset({"running", "waiting", "paused"}),
}
"""The statuses of a run in which each order can be carried out."""


def is_carried_out(event: StoredEvent, order: Order) -> bool:
    """Return whether the event, one that came after the order, says that the order was carried out."""
    match order, event.type:
        case "pause", "RunWaits":
            return RunWaits.from_data(event.data).node == WHOLE
        case (("resume" | "retry"), "RunWoken"):
            woken = RunWoken.from_data(event.data)
            return woken.node == WHOLE and (woken.by == RETRY) == (order == "retry")
        case "cancel", "RunFinished":
            return RunFinished.from_data(event.data).status == "cancelled"
        case _:
            return False


def describe_late_order(order: Order, status: str) -> str:
    """Return an English sentence that says why a run with this status cannot carry out the order."""
    wanted = " or ".join(sorted(FITTING[order]))
    return f"The run is {status}; {order} is for a run that is {wanted}."
