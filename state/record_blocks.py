"""The blocks of one record and their statuses, computed from their events. Pure.

A record has at most one block that works, waits for a choice, or has failed: its current one. The parent of a block is the last one before
it that came to its end, so that the parents of a block are the results before it, from the first on that record (S003-54, S003-64).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from state.events.blocks import (
    BlockConflicted,
    BlockDismissed,
    BlockFailed,
    BlockFinished,
    BlockOpened,
    BlockResolved,
    BlockResumed,
)
from state.stored import JsonObject

BlockStatus = Literal["Idle", "Loading", "Conflict", "Error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The result of one run on the record, or the run's work on it."""

    id: str
    run: str
    definition: str
    version: int
    parent: str
    by: str
    at: str
    """When it was opened, as an ISO time."""
    seq: int
    title: str = ""
    status: BlockStatus = "Loading"
    is_dismissed: bool = False
    input: JsonObject = field(default_factory=dict)
    conflict: tuple[JsonObject, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    raw_text: str = ""
    origins: tuple[str, ...] = ()
    operations: tuple[JsonObject, ...] = ()
    post_ai: JsonObject = field(default_factory=dict)
    post_user: JsonObject = field(default_factory=dict)
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEvent:
    """One event of the stream: its type, data, number and time."""

    type: str
    data: JsonObject
    seq: int
    ts: str


def fold_blocks(events: Iterable[BlockEvent]) -> tuple[Block, ...]:
    """Return the blocks, oldest first. Fields of an erased person are blank."""
    found: dict[str, Block] = {}
    for one in events:
        known = found.get(str(one.data.get("block", "")))
        changed = _open_block(one) if one.type == BlockOpened.__name__ else _change_block(known, one) if known is not None else None
        if changed is not None:
            found[changed.id] = changed
    return tuple(found.values())


def _open_block(event: BlockEvent) -> Block:
    said = BlockOpened.from_data(event.data)
    return Block(
        id=said.block,
        run=said.run,
        definition=said.definition,
        version=said.version,
        parent=said.parent,
        by=said.by,
        at=event.ts,
        seq=event.seq,
        title=said.title,
        input=said.input,
    )


def _change_block(block: Block, event: BlockEvent) -> Block | None:
    match event.type:
        case BlockResumed.__name__:
            return replace(block, status="Loading", code="")
        case BlockConflicted.__name__:
            return replace(block, status="Conflict", conflict=tuple(BlockConflicted.from_data(event.data).fields))
        case BlockResolved.__name__:
            return replace(block, status="Loading", choices=BlockResolved.from_data(event.data).choices)
        case BlockFinished.__name__:
            said = BlockFinished.from_data(event.data)
            return replace(
                block,
                status="Idle",
                raw_text=said.raw_text,
                origins=tuple(said.origins),
                operations=tuple(said.operations),
                post_ai=said.post_ai,
                post_user=said.post_user,
            )
        case BlockFailed.__name__:
            return replace(block, status="Error", code=BlockFailed.from_data(event.data).code)
        case BlockDismissed.__name__:
            return replace(block, status="Error", is_dismissed=True)
        case _:
            return None


def find_current(blocks: Iterable[Block]) -> Block | None:
    """Return the block that decides what may be done on the record: the newest that was not put aside; None on an untouched record."""
    return next((one for one in reversed(tuple(blocks)) if not one.is_dismissed), None)


def find_block(blocks: Iterable[Block], block_id: str) -> Block | None:
    """Return the block with this id."""
    return next((one for one in blocks if one.id == block_id), None)


def find_last_result(blocks: Iterable[Block]) -> Block | None:
    """Return the newest block that came to its end, which is the parent of the next one."""
    return next((one for one in reversed(tuple(blocks)) if one.status == "Idle"), None)


def list_parents(blocks: Iterable[Block], block_id: str) -> list[str]:
    """Return the ids of the blocks from the first on the record to this one, without those that are not kept any more."""
    known = {one.id: one for one in blocks}
    found: list[str] = []
    one = known.get(block_id)
    while one is not None and one.id not in found:
        found.append(one.id)
        one = known.get(one.parent)
    return found[::-1]
