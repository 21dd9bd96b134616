"""Where a step of a flow leads (S002-34 … S002-39, S002-A1, S002-A2). Pure: the engine and the checks ask the same function."""

from dataclasses import dataclass
from typing import Literal

from engines.flows.core.definition import FlowStep

Ending = Literal["completed", "failed"]


@dataclass(frozen=True, slots=True)
class Route:
    """What follows a step: another one, or the end. `is_doomed` says that the flow ends as failed whatever follows."""

    next_step: str = ""
    ending: Ending = "completed"
    """How the flow ends if nothing follows."""
    is_doomed: bool = False


def find_route_after_success(step: FlowStep) -> Route:
    """Return what follows an answer: `complete: true` counts more than `next`, and without either the flow is complete."""
    on_success = step.transitions.on_success
    return Route() if on_success.complete or not on_success.next else Route(next_step=on_success.next)


def find_route_after_failure(step: FlowStep) -> Route:
    """Return what follows when every attempt failed.

    With `next` that step runs: as a handler after which the flow fails all the same if `fail` is true, else the flow has recovered.
    Without `next` the flow fails, unless `fail` is false: then it completes with the failure on record.
    """
    on_failure = step.transitions.on_failure
    if on_failure.next:
        return Route(next_step=on_failure.next, is_doomed=on_failure.fail is True)
    return Route(ending="completed" if on_failure.fail is False else "failed")


def list_next(step: FlowStep) -> list[str]:
    """Return the steps that may follow this one."""
    found = (find_route_after_success(step).next_step, find_route_after_failure(step).next_step)
    return [one for one in dict.fromkeys(found) if one]


def may_end(step: FlowStep) -> bool:
    """Return whether the flow may end after this step."""
    return not (find_route_after_success(step).next_step and find_route_after_failure(step).next_step)
