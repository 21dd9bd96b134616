"""Events of the blocks of a record: each run of a workflow on it opens one, and leaves there what it gave (S003-54, S003-X10).

They stand in the stream of session `block:<kind>:<number>` and change no session's state. Texts and values of the record are sealed under
the key of the run's owner, so they are gone when that person is erased. What follows from the events is in `state/model/record_blocks.py`.
"""

from typing import Any

from state.events.base import Event
from state.events.personal import Personal


class BlockOpened(Event):
    """A run of a workflow began to work on the record."""

    block: str
    run: str
    definition: str
    """The key of the workflow."""
    version: int
    parent: str
    """The block before it; "" for the first."""
    by: str
    title: Personal[str]
    """The title of the record as it was then."""
    input: Personal[dict[str, Any]]
    """The fields of the record as the run read them (the snapshot Input)."""
    kept_from: int
    """The seq of the first event that a reader of this stream still needs: the blocks before are too many, or too old."""


class BlockResumed(Event):
    """A person had the run retried whose block had failed; the block goes on with the same snapshot."""

    block: str
    run: str


class BlockConflicted(Event):
    """The run proposes another value for fields that somebody changed while it worked; its person must choose."""

    block: str
    run: str
    fields: Personal[list[dict[str, Any]]]
    """{key, before, person, process}: the value at the start, the present one, and the one that the run proposes."""


class BlockResolved(Event):
    """What was chosen for each field: "person" keeps what stands in the record, "process" lets the run's change be made."""

    block: str
    run: str
    choices: Personal[dict[str, str]]
    by: str


class BlockFinished(Event):
    """The run came to its end; the record can take another one."""

    block: str
    run: str
    raw_text: Personal[str]
    origins: list[str]
    """Where the text comes from, as names of `orchestrator.domain.taint.Origin`."""
    operations: Personal[list[dict[str, Any]]]
    """What became of the operations: {operation, status, error}."""
    post_ai: Personal[dict[str, Any]]
    """The fields in which the snapshot PostAI differs from Input: what the run proposed."""
    post_user: Personal[dict[str, Any]]
    """The fields in which the snapshot PostUser differs from Input: what people changed meanwhile, and which of the run's were made."""


class BlockFailed(Event):
    """The run ended without a result. `code` is that of the sentence that says why."""

    block: str
    run: str
    code: str


class BlockDismissed(Event):
    """The next run on the record put a block aside that had failed, or whose run was over."""

    block: str
    by: str
