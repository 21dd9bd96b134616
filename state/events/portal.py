"""Events of changes made in the portal, in its own session, with their folds.

A changed record is due until it was read.
"""

from typing import Any, Final, Literal

from pydantic import Field

from state.events.base import Event, Fold, keep_last
from state.events.personal import Personal
from state.model.session_state import PortalState, SessionState

State = SessionState

KEEP_DUE = 2000
KEEP_SEEN = 1000


class PortalEventReceived(Event):
    event: str
    target: str = ""
    """"deal:481"; "" for no watched record."""
    action: Literal["add", "update", "delete", ""] = ""
    ts: int
    member_id: str = ""
    look_at: str = ""


class PortalLookFailed(Event):
    reason: Personal[str]
    tries: int
    look_at: str


class RecordsSeen(Event):
    """The notifications are in the same commit."""

    records: Personal[dict[str, dict[str, str]]] = Field(default_factory=dict)
    gone: list[str] = Field(default_factory=list)
    told: list[str] = Field(default_factory=list)
    look_at: str = ""


def _ensure_portal(state: State) -> PortalState:
    if state.portal is None:
        state.portal = PortalState.create(due={}, seen={}, look_at="", tries=0, told_at="")
    return state.portal


def _fold_portal_event(state: State, data: dict[str, Any], ts: str) -> None:
    portal = _ensure_portal(state)
    target = data.get("target")
    if target:
        action = data["action"]
        before = portal.due.get(target) or {"action": action, "ts": ts}
        portal.due[target] = {**before, "action": "add" if before["action"] == "add" and action == "update" else action}
        keep_last(portal.due, KEEP_DUE)
    if data.get("look_at"):
        state.portal = portal.with_values(look_at=data["look_at"])


def _fold_failed_probe(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    state.portal = _ensure_portal(state).with_values(tries=data["tries"], look_at=data["look_at"])


def _fold_seen_records(state: State, data: dict[str, Any], ts: str) -> None:
    portal = _ensure_portal(state)
    for target in (*sorted(data["records"]), *data["gone"]):
        portal.due.pop(target, None)
        portal.seen.pop(target, None)  # re-inserted below, so that it counts as the newest
    portal.seen.update(sorted(data["records"].items()))
    keep_last(portal.seen, KEEP_SEEN)
    notified = {"told_at": ts} if data.get("told") else {}
    state.portal = portal.with_values(tries=0, look_at=data.get("look_at", ""), **notified)


FOLDS: Final[dict[str, Fold]] = {
    "PortalEventReceived": _fold_portal_event,
    "PortalLookFailed": _fold_failed_probe,
    "RecordsSeen": _fold_seen_records,
}
