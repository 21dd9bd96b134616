"""The state of a standing order, held by the session of the person who gave it."""

from dataclasses import dataclass, field
from typing import Literal

from state.stored import JsonObject, Stored

OrderPause = Literal["person", "restored", "owner_left", "unclear", "closed", "often", "failed"]
"""`unclear`: what it is about cannot be read any more, such as a stage that is gone; `closed`: the portal gives no such records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingOrder(Stored):
    terms: JsonObject
    words: JsonObject = field(default_factory=dict)
    actor: JsonObject = field(default_factory=dict)
    """A stored `Actor`."""
    created_at: str = ""
    since: str = ""
    """When it began to watch, or was resumed: what happened before is no news."""
    due: str = ""
    """The next moment at which it looks, as ISO time in UTC; "" if changes wake it."""
    until: str = ""
    status: Literal["waiting", "paused"] = "waiting"
    why: str = ""
    """An `OrderPause`, or ""."""
    detail: str = ""
    fired_at: str = ""
    fired: int = 0
    today: str = ""
    """The day whose firings `fired_today` counts."""
    fired_today: int = 0
    tries: int = 0
    """How often in a row its moment was put off."""
    border: int = 0
    """Up to when silence was looked for, in seconds since 1970."""
    seen: JsonObject = field(default_factory=dict)
    """Record → the state in which it was told of last; the newest last."""

    @property
    def owner(self) -> str:
        return str(self.actor.get("key", ""))
