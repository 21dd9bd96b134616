"""The blocks of one record, computed from their events (S003-54, S003-64).

A block's parent is the last one before it that finished.
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
    id: str
    run: str
    definition: str
    version: int
    parent: str
    by: str
    at: str
    seq: int
    title: str = ""
    status: BlockStatus = "Loading"
    is_dismissed: bool = False
    input: JsonObject = field(default_factory=dict)
    conflict: tuple[JsonObject, ...] = ()
    """Each field as its person was asked about it last; see `BlockConflicted`."""
    choices: Mapping[str, str] = field(default_factory=dict)
    chosen_by: Mapping[str, str] = field(default_factory=dict)
    raw_text: str = ""
    origins: tuple[str, ...] = ()
    operations: tuple[JsonObject, ...] = ()
    post_ai: JsonObject = field(default_factory=dict)
    post_user: JsonObject = field(default_factory=dict)
    code: str = ""
    ended: str = ""
    """When it ended or was put aside; "" while it goes on."""
    is_erased: bool = False
    """Whether it held words of an erased person, which are blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEvent:
    """`erased`: the person whose key sealed it is gone."""

    type: str
    data: JsonObject
    seq: int
    ts: str
    erased: bool = False


def fold_blocks(events: Iterable[BlockEvent]) -> tuple[Block, ...]:
    """Return the blocks, oldest first; fields of an erased person are blank."""
    blocks_by_id: dict[str, Block] = {}
    for event in events:
        known = blocks_by_id.get(str(event.data.get("block", "")))
        changed = _open_block(event) if event.type == BlockOpened.__name__ else _change_block(known, event) if known is not None else None
        if changed is not None:
            blocks_by_id[changed.id] = replace(changed, is_erased=True) if event.erased else changed
    return tuple(blocks_by_id.values())


def _open_block(event: BlockEvent) -> Block:
    block_opened = BlockOpened.from_data(event.data)
    return Block(
        id=block_opened.block,
        run=block_opened.run,
        definition=block_opened.definition,
        version=block_opened.version,
        parent=block_opened.parent,
        by=block_opened.by,
        at=event.ts,
        seq=event.seq,
        title=block_opened.title,
        input=block_opened.input,
    )


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
    new = {str(one.get("key", "")): one for one in fields}
    return replace(
        block,
        status="Conflict",
        conflict=(*(one for one in block.conflict if str(one.get("key", "")) not in new), *new.values()),
        choices={key: choice for key, choice in block.choices.items() if key not in new},
        chosen_by={key: one for key, one in block.chosen_by.items() if key not in new},
    )


def find_current(blocks: Iterable[Block]) -> Block | None:
    """Return the newest that was not put aside; None on an untouched record."""
    return next((block for block in reversed(tuple(blocks)) if not block.is_dismissed), None)


def find_block(blocks: Iterable[Block], block_id: str) -> Block | None:
    return next((block for block in blocks if block.id == block_id), None)


def find_last_result(blocks: Iterable[Block]) -> Block | None:
    """Return the newest that finished: the parent of the next."""
    return next((block for block in reversed(tuple(blocks)) if block.status == "Idle"), None)


def list_parents(blocks: Iterable[Block], block_id: str) -> list[str]:
    known = {block.id: block for block in blocks}
    ids: list[str] = []
    block = known.get(block_id)
    while block is not None and block.id not in ids:
        ids.append(block.id)
        block = known.get(block.parent)
    return ids[::-1]
