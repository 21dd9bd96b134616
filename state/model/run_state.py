"""The state of a run: one execution of a scenario, flow or workflow.

What its nodes gave is in the run's own stream.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from state.stored import JsonObject, Stored

RunStatus = Literal["running", "waiting", "paused", "done", "failed", "cancelled"]
WaitKind = Literal["input", "effect", "timer", "run"]
ENDED: frozenset[str] = frozenset({"done", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWait(Stored):
    on: WaitKind
    waits_for: str
    """The id of a question, effect, timer or other run."""
    until: str = ""
    """ISO time; "" for never."""
    answers: list[str] = field(default_factory=list)
    since: str = ""
    options: int = 0
    takes: list[str] = field(default_factory=list)
    """Beside a button: "text", "contact", "photo", "document"."""
    back: bool = False
    """Whether the question before it can be asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState(Stored):
    engine: str
    definition: str
    title: str = ""
    version: int = 0
    digest: str = ""
    """Of the definition's text, which is the blob of this digest."""
    replay: int = 1
    """Which of the engine's programs can play the events again."""
    home: str = ""
    """The session in whose chat it is shown."""
    owner: str = ""
    """With whose rights it works."""
    actor: JsonObject = field(default_factory=dict)
    mode: str = ""
    """It never works in a less safe one."""
    parent: str = ""
    """The run that waits for this one's end in `parent_node`; "" for none."""
    parent_node: str = ""
    status: RunStatus = "running"
    code: str = ""
    started_at: str = ""
    updated_at: str = ""
    done: int = 0
    waits: Mapping[str, RunWait] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    """By node; a retry of the run begins the next attempt."""

    @classmethod
    def from_stored(cls, data: JsonObject) -> "RunState":
        waits = {node: RunWait.from_stored(one) for node, one in data.get("waits", {}).items()}
        return super(RunState, cls).from_stored({**data, "waits": waits} if "waits" in data else data)

    def to_stored(self) -> dict[str, Any]:
        stored = super(RunState, self).to_stored()
        if "waits" in stored:
            stored["waits"] = {node: run_wait.to_stored() for node, run_wait in self.waits.items()}
        return stored

    @property
    def name(self) -> str:
        """What people read: title, else the definition's key."""
        return self.title or self.definition

    @property
    def is_over(self) -> bool:
        return self.status in ENDED
