"""Computes the state of a session from its events (S004-13, S004-33, X4)."""

from collections.abc import Iterable
from typing import Any, Final

from state.events import (
    calls,
    cards,
    confirmations,
    conversation,
    daily,
    freezing,
    leads,
    orders,
    people,
    portal,
    reports,
    runs,
    schedules,
    talking,
)
from state.events.base import Fold
from state.model.card import Card
from state.model.session_state import SessionState

_FOLDS: Final[dict[str, Fold]] = {
    type_name: fold
    for module in (
        conversation,
        confirmations,
        calls,
        portal,
        people,
        daily,
        talking,
        cards,
        leads,
        freezing,
        orders,
        reports,
        runs,
        schedules,
    )
    for type_name, fold in module.FOLDS.items()
}


def create_state() -> SessionState:
    return SessionState()


def fold_events(state: SessionState, events: Iterable[tuple[str, dict[str, Any], str]]) -> SessionState:
    """Apply (type, data, ts) in place; other types are skipped."""
    for type_name, data, ts in events:
        step = _FOLDS.get(type_name)
        if step is not None:
            step(state, data, ts)
    return state


def list_open_confirmations(state: SessionState) -> list[Card]:
    return [item for item in state.agent.confirmations.values() if item.is_waiting]
