"""The state of a schedule, held by the session in whose chat it is shown."""

from dataclasses import dataclass, field
from typing import Literal

from state.stored import JsonObject, Stored

SkipReason = Literal["unfinished", "definition_gone", "engine_gone", "failed"]
"""Why a moment started no run."""
PauseReason = Literal["person", "restored", "owner_left", "not_allowed", SkipReason]
"""The reasons for a skip are among them where no moment follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Stored):
    engine: str
    definition: str
    title: str = ""
    due: str
    """The next moment, as ISO time in UTC."""
    cron: str = ""
    """"" if it is due once."""
    zone: str = ""
    actor: JsonObject = field(default_factory=dict)
    """A stored `Actor`, with whose rights its runs work."""
    args: JsonObject = field(default_factory=dict)
    note: str = ""
    by: str = ""
    created_at: str = ""
    status: Literal["waiting", "paused"] = "waiting"
    why: str = ""
    """A `PauseReason`, or ""."""
    run: str = ""
    fired_at: str = ""
    started: int = 0
    missed: int = 0
    skipped: int = 0
    """Moments in a row without a run; `skip_why` is a `SkipReason`."""
    skip_why: str = ""
    told_at: str = ""
    resumed_at: str = ""

    @property
    def name(self) -> str:
        return self.title or self.definition

    @property
    def owner(self) -> str:
        return str(self.actor.get("key", ""))
