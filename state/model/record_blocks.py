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
from state.stored import JsonObject, convert

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
    """The fields about which its person was asked, each as it was asked about last; see `BlockConflicted`."""
    choices: Mapping[str, str] = field(default_factory=dict)
    chosen_by: Mapping[str, str] = field(default_factory=dict)
    """Who chose, by field."""
    raw_text: str = ""
    origins: tuple[str, ...] = ()
    operations: tuple[JsonObject, ...] = ()
    post_ai: JsonObject = field(default_factory=dict)
    post_user: JsonObject = field(default_factory=dict)
    code: str = ""
    ended: str = ""
    """When its run ended, or another one put it aside, as an ISO time; "" while it goes on."""
    is_erased: bool = False
    """Whether a person was erased whose texts or values it held: those are blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEvent:
    """One event of the stream: its type, data, number and time, and whether the person was erased whose key sealed it."""

    type: str
    data: JsonObject
    seq: int
    ts: str
    erased: bool = False


def fold_blocks(events: Iterable[BlockEvent]) -> tuple[Block, ...]:
    """Return the blocks, oldest first. Fields of an erased person are blank."""
    found: dict[str, Block] = {}
    for event in events:
        known = found.get(str(event.data.get("block", "")))
        changed = _open_block(event) if event.type == BlockOpened.__name__ else _change_block(known, event) if known is not None else None
        if changed is not None:
            found[changed.id] = replace(changed, is_erased=True) if event.erased else changed
    return tuple(found.values())


def _open_block(event: BlockEvent) -> Block:
    block_opened = BlockOpened.from_data(event.data)
    return convert(block_opened, Block, id=block_opened.block, at=event.ts, seq=event.seq)


def _change_block(block: Block, event: BlockEvent) -> Block | None:
    match event.type:
        case BlockResumed.__name__:
            return replace(block, status="Loading", code="", ended="")
        case BlockConflicted.__name__:
            return _add_conflict(block, BlockConflicted.from_data(event.data).fields)
        case BlockResolved.__name__:
            resolved = BlockResolved.from_data(event.data)
            by = {key: block.chosen_by.get(key, resolved.by) for key in resolved.choices}
            return replace(block, status="Loading", choices=resolved.choices, chosen_by=by)
        case BlockFinished.__name__:
            block_finished = BlockFinished.from_data(event.data)
            return replace(
                block,
                status="Idle",
                raw_text=block_finished.raw_text,
                origins=tuple(block_finished.origins),
                operations=tuple(block_finished.operations),
                post_ai=block_finished.post_ai,
                post_user=block_finished.post_user,
                ended=event.ts,
            )
        case BlockFailed.__name__:
            return replace(block, status="Error", code=BlockFailed.from_data(event.data).code, ended=event.ts)
        case BlockDismissed.__name__:
            return replace(block, status="Error", is_dismissed=True, ended=block.ended or event.ts)
        case _:
            return None


def _add_conflict(block: Block, fields: Iterable[JsonObject]) -> Block:
    """Return a block whose person is asked about these fields; what was chosen before for one of them does not count any more."""
    new = {str(one.get("key", "")): one for one in fields}
    return replace(
        block,
        status="Conflict",
        conflict=(*(one for one in block.conflict if str(one.get("key", "")) not in new), *new.values()),
        choices={key: choice for key, choice in block.choices.items() if key not in new},
        chosen_by={key: one for key, one in block.chosen_by.items() if key not in new},
    )


def find_current(blocks: Iterable[Block]) -> Block | None:
    """Return the block that decides what may be done on the record: the newest that was not put aside; None on an untouched record."""
    return next((block for block in reversed(tuple(blocks)) if not block.is_dismissed), None)


def find_block(blocks: Iterable[Block], block_id: str) -> Block | None:
    """Return the block with this id."""
    return next((block for block in blocks if block.id == block_id), None)


def find_last_result(blocks: Iterable[Block]) -> Block | None:
    """Return the newest block that came to its end, which is the parent of the next one."""
    return next((block for block in reversed(tuple(blocks)) if block.status == "Idle"), None)


def list_parents(blocks: Iterable[Block], block_id: str) -> list[str]:
    """Return the ids of the blocks from the first on the record to this one, without those that are not kept any more."""
    known = {block.id: block for block in blocks}
    found: list[str] = []
    block = known.get(block_id)
    while block is not None and block.id not in found:
        found.append(block.id)
        block = known.get(block.parent)
    return found[::-1]
