"""What the journal holds of heads of sales: a reason that is awaited from one; and how many changes were made for whom. Ring 1.

Cards themselves are in `events`; here is only what the chat of a lead and the caps of the policy need, with their place in the fold.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from state.clock import parse_iso
from state.events.core import Event
from state.events.personal import Personal

State = dict[str, Any]

HOURS: Final = 24


class DenialReasonAsked(Event):
    """A lead wants to deny with a reason: their next message is it, till `expires_at`. Kept in the chat where they are asked."""

    confirmation_id: str
    nonce: str
    home: str
    """The conversation that the card belongs to."""
    by: str
    expires_at: str


class DenialReasonGiven(Event):
    """The message came; it went on to the conversation of the card."""

    confirmation_id: str
    by: str


class LeadsAsked(Event):
    """Others than before are asked to decide on a card: who was asked is away or may not any more, or looked for what waits."""

    confirmation_id: str
    told: list[str]
    """The private chats of all who are asked from now on."""
    told_names: Personal[list[str]]


def find_awaited_denial(state: Mapping[str, Any], person: str, now: datetime) -> Mapping[str, Any] | None:
    """The card whose denial waits for the words of this person here, None when none does (any more)."""
    found: Mapping[str, Any] | None = state.get("reasons", {}).get(person)
    return found if found is not None and now < parse_iso(found["expires_at"]) else None


def count_recent_changes(state: Mapping[str, Any], person: str, now: datetime) -> int:
    """How many changes were begun for this person in this session within 24 hours, the hour in which they began counted whole."""
    since = _format_hour(now - timedelta(hours=HOURS - 1))
    return sum(count for hour, count in state.get("written", {}).get(person, {}).items() if hour >= since)


def add_change(state: State, data: Mapping[str, Any], ts: str) -> None:
    """A change was begun; called by the fold of CallStarted."""
    hour = _format_hour(parse_iso(ts))
    written = state.setdefault("written", {})
    mine = written.setdefault(data["requested_by"], {})
    mine[hour] = mine.get(hour, 0) + data.get("writes", 1)
    oldest = _format_hour(parse_iso(ts) - timedelta(hours=HOURS))
    for person, hours in list(written.items()):
        written[person] = {at: count for at, count in hours.items() if at >= oldest}
        if not written[person]:
            del written[person]


def _format_hour(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H")


def _fold_reason_question(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    kept = ("confirmation_id", "nonce", "home", "expires_at")
    state.setdefault("reasons", {})[data["by"]] = {name: data[name] for name in kept}


def _fold_reason(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    state.get("reasons", {}).pop(data["by"], None)


def _fold_other_leads(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    entry = state["agent"]["confirmations"].get(data["confirmation_id"])
    if entry is not None:
        entry["told"], entry["told_names"] = list(data["told"]), list(data["told_names"])


FOLDS: dict[str, Callable[[State, dict[str, Any], str], None]] = {
    "DenialReasonAsked": _fold_reason_question,
    "DenialReasonGiven": _fold_reason,
    "LeadsAsked": _fold_other_leads,
}
