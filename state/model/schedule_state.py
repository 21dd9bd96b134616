"""The state of a schedule, as the session in whose chat it is shown holds it. A schedule starts runs at moments that were set before.

A run is one execution of a scenario, flow or workflow.
"""

from dataclasses import dataclass, field
from typing import Literal

from state.stored import JsonObject, Stored

SkipReason = Literal["unfinished", "definition_gone", "engine_gone", "failed"]
"""Why a moment came and no run was started."""
PauseReason = Literal["person", "restored", "owner_left", "not_allowed", SkipReason]
"""Why a schedule waits until a person resumes it; the reasons for a skip are among them where no moment follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Stored):
    """One schedule that is not over: what it starts, for whom, when, and what became of its last moments."""

    engine: str
    definition: str
    title: str = ""
    """What people call what it starts: the title of the definition when it was made; "" if that had none."""
    due: str
    """The moment that it waits for, as an ISO time in UTC."""
    cron: str = ""
    """Its cron line; "" if it is due once."""
    zone: str = ""
    """The time zone of the cron line."""
    actor: JsonObject = field(default_factory=dict)
    """The person or token with whose rights its runs work, as a stored `Actor` of the time when it was made."""
    args: JsonObject = field(default_factory=dict)
    """The values with which each run begins, each as a stored `Value`."""
    note: str = ""
    by: str = ""
    """The key of the person who made it, if not the owner."""
    created_at: str = ""
    status: Literal["waiting", "paused"] = "waiting"
    why: str = ""
    """Why it is paused, a `PauseReason`; "" if it is not."""
    run: str = ""
    """The session key of the last run that it started."""
    fired_at: str = ""
    """When it started that run."""
    started: int = 0
    """How many runs it has started."""
    missed: int = 0
    """How many of its moments got no run of their own."""
    skipped: int = 0
    """How many of them in a row since the last run, because something was in the way; `skip_why` says what, a `SkipReason`."""
    skip_why: str = ""
    told_at: str = ""
    """When the chat was last told of that."""
    resumed_at: str = ""
    """When a person resumed it last."""

    @property
    def name(self) -> str:
        """What people read of it: the title of what it starts, without one the key of the definition."""
        return self.title or self.definition

    @property
    def owner(self) -> str:
        """The key of the person or token with whose rights its runs work."""
        return str(self.actor.get("key", ""))
