"""Events of a record's blocks, in stream `block:<kind>:<number>`: each run of a workflow opens one (S003-54, S003-X10)."""

from typing import Any

from state.events.base import Event
from state.events.personal import Personal


class BlockOpened(Event):
    block: str
    run: str
    definition: str
    version: int
    parent: str
    by: str
    title: Personal[str]
    input: Personal[dict[str, Any]]
    kept_from: int
    """The first seq that readers still need."""


class BlockResumed(Event):
    """A failed block's run was retried with the same snapshot."""

    block: str
    run: str


class BlockConflicted(Event):
    """Somebody changed fields while the run worked; its person must choose."""

    block: str
    run: str
    fields: Personal[list[dict[str, Any]]]
    """{key, before, person, process}: at the start, now, and as proposed."""


class BlockResolved(Event):
    """By field: "person" keeps the record's value, "process" makes the run's change."""

    block: str
    run: str
    choices: Personal[dict[str, str]]
    by: str


class BlockFinished(Event):
    block: str
    run: str
    raw_text: Personal[str]
    origins: list[str]
    """Names of `orchestrator.domain.taint.Origin`."""
    operations: Personal[list[dict[str, Any]]]
    """{operation, status, error} each."""
    post_ai: Personal[dict[str, Any]]
    """What the run proposed, where it differs from `input`."""
    post_user: Personal[dict[str, Any]]
    """What people changed meanwhile, and which of the run's changes were made."""


class BlockFailed(Event):
    block: str
    run: str
    code: str


class BlockDismissed(Event):
    block: str
    by: str
