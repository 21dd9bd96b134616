"""Where a step of a flow leads (S002-34…39, S002-A1, S002-A2). Pure: the engine and the checks ask the same functions."""

from dataclasses import dataclass
from typing import Literal

from engines.flows.core.definition import FlowStep

Ending = Literal["completed", "failed"]


@dataclass(frozen=True, slots=True)
class Route:
    """Another step, or the end. `is_doomed`: the flow fails whatever follows."""

    next_step: str = ""
    ending: Ending = "completed"
    is_doomed: bool = False


def find_route_after_success(step: FlowStep) -> Route:
    """`complete: true` counts more than `next`; without either the flow is complete."""
    on_success = step.transitions.on_success
    return Route() if on_success.complete or not on_success.next else Route(next_step=on_success.next)


def find_route_after_failure(step: FlowStep) -> Route:
    """Route after the last failed attempt. After `next` the flow fails only if `fail` is true, without `next` unless `fail` is false."""
    on_failure = step.transitions.on_failure
    if on_failure.next:
        return Route(next_step=on_failure.next, is_doomed=on_failure.fail is True)
    return Route(ending="completed" if on_failure.fail is False else "failed")


def list_next(step: FlowStep) -> list[str]:
    next_steps = (find_route_after_success(step).next_step, find_route_after_failure(step).next_step)
    return [one for one in dict.fromkeys(next_steps) if one]


def may_end(step: FlowStep) -> bool:
    return not (find_route_after_success(step).next_step and find_route_after_failure(step).next_step)
