"""What a person may order a run to do."""

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
"""Statuses in which each order fits."""


def is_carried_out(event: StoredEvent, order: Order) -> bool:
    """`event` must come after the order."""
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
    statuses = " or ".join(sorted(FITTING[order]))
    return f"The run is {status}; {order} is for a run that is {statuses}."
