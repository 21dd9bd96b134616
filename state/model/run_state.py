"""The state of a run (one execution of a scenario, flow or workflow), as its session state and the index of runs hold it.

A run consists of nodes: named pieces of work, such as one question to the model, one write to the portal or one question to a person. The
values that its nodes gave are not part of this state; they are read from the run's own stream when it is played.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from state.stored import JsonObject, Stored

RunStatus = Literal["running", "waiting", "paused", "done", "failed", "cancelled"]
WaitKind = Literal["input", "effect", "timer", "run"]
ENDED: frozenset[str] = frozenset({"done", "failed", "cancelled"})
"""The statuses in which nothing more happens in a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWait(Stored):
    """One thing that a run waits for: a person's answer, the decision about an effect, a moment, or the end of another run."""

    on: WaitKind
    waits_for: str
    """The id of the question, the effect, the timer or the other run."""
    until: str = ""
    """When the wait ends by itself, as an ISO time; "" for never."""
    answers: list[str] = field(default_factory=list)
    """The people who may answer, by key ("tg:1007"); only for questions."""
    since: str = ""
    """When the wait began, as an ISO time."""
    options: int = 0
    """How many buttons the question has."""
    takes: list[str] = field(default_factory=list)
    """What may be sent as the answer beside pressing a button: "text", "contact", "photo", "document"."""
    back: bool = False
    """Whether the question before this one can be asked anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState(Stored):
    """A run so far: what it executes, for whom and where, and what it waits for."""

    engine: str
    definition: str
    title: str = ""
    """What people call it: the title of its definition when it began; "" if that had none."""
    version: int = 0
    digest: str = ""
    """The hash of the definition's text; the text is the blob of this digest."""
    replay: int = 1
    """The engine's replay version: which of its programs can play the events of this run again."""
    home: str = ""
    """The session in whose chat the run's messages and cards are shown."""
    owner: str = ""
    """The key of the person with whose rights the run works."""
    actor: JsonObject = field(default_factory=dict)
    """That person as a stored `Actor`, as they were when the run began."""
    mode: str = ""
    """The safety mode in which the run began; it never works in a less safe one."""
    parent: str = ""
    """The run that started this one and waits for its end, "" if a person did; `parent_node` is the waiting node."""
    parent_node: str = ""
    status: RunStatus = "running"
    code: str = ""
    """Why the run failed, as the code of a message; otherwise ""."""
    started_at: str = ""
    updated_at: str = ""
    done: int = 0
    """How many nodes have finished."""
    waits: Mapping[str, RunWait] = field(default_factory=dict)
    """What the run waits for, by node."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """How often each failed node has failed; a retry of the run begins the next attempt of the node."""

    @classmethod
    def from_stored(cls, data: JsonObject) -> "RunState":
        """Return the state from its JSON data."""
        waits = {node: RunWait.from_stored(one) for node, one in data.get("waits", {}).items()}
        return super(RunState, cls).from_stored({**data, "waits": waits} if "waits" in data else data)

    def to_stored(self) -> dict[str, Any]:
        """Return the state as JSON data."""
        stored = super(RunState, self).to_stored()
        if "waits" in stored:
            stored["waits"] = {node: run_wait.to_stored() for node, run_wait in self.waits.items()}
        return stored

    @property
    def name(self) -> str:
        """What people read of it: its title, without one the key of its definition."""
        return self.title or self.definition

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens in the run."""
        return self.status in ENDED
