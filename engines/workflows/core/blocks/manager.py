"""Decides what may happen to the blocks of a record (S003-54, S003-X10). Pure.

What people change in the portal itself cannot be refused: it is found when the record is read again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from state.events.base import Event
from state.events.blocks import (
    BlockConflicted,
    BlockDismissed,
    BlockFailed,
    BlockFinished,
    BlockOpened,
    BlockResolved,
    BlockResumed,
)
from state.model.record_blocks import Block, BlockStatus, find_block, find_current, find_last_result
from state.stored import JsonObject

Permission = Literal["apply", "apply beside", "refuse"]
Refusal = Literal["", "busy", "conflict", "dismissed"]
_PERMISSIONS: Final[Mapping[BlockStatus, Permission]] = {
    "Idle": "apply",
    "Loading": "apply beside",
    "Conflict": "refuse",
    "Error": "refuse",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    block: str
    run: str
    definition: str
    version: int
    by: str
    title: str
    input: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """`refusal` is "" if the run has its block, else `other` stands in its way."""

    refusal: Refusal = ""
    other: Block | None = None
    title: str = ""
    """The title of the workflow of `other`, where the host knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    raw_text: str
    origins: tuple[str, ...]
    operations: tuple[JsonObject, ...]
    post_ai: JsonObject
    post_user: JsonObject


def find_permission(blocks: Sequence[Block], over: frozenset[str]) -> Permission:
    """Asks for anybody but the block's own run; `over` are runs known to have ended."""
    current = find_current(blocks)
    if current is None or (current.status == "Conflict" and current.run in over):
        return "apply"
    return _PERMISSIONS[current.status]


def open_block(blocks: Sequence[Block], opening: Opening, over: frozenset[str], kept_from: int) -> tuple[list[Event], Opened]:
    """A run has one block, however often it asks; `over` are runs known to have ended."""
    current, own = find_current(blocks), find_block(blocks, opening.block)
    if own is not None:
        if own.is_dismissed:
            return [], Opened(refusal="dismissed", other=current)
        return ([BlockResumed(block=own.id, run=own.run)] if own.status == "Error" else []), Opened()
    put_aside: list[Event] = []
    if current is not None and current.status != "Idle":
        if current.status != "Error" and current.run not in over:
            return [], Opened(refusal="conflict" if current.status == "Conflict" else "busy", other=current)
        put_aside = [BlockDismissed(block=current.id, by=opening.by)]
    parent = find_last_result(blocks)
    opened = BlockOpened(
        block=opening.block,
        run=opening.run,
        definition=opening.definition,
        version=opening.version,
        parent=parent.id if parent is not None else "",
        by=opening.by,
        title=opening.title,
        input=opening.input,
        kept_from=kept_from,
    )
    return [*put_aside, opened], Opened()


def enter_conflict(blocks: Sequence[Block], block_id: str, fields: Sequence[JsonObject]) -> tuple[list[Event], bool]:
    """Let a working block wait for a choice; False if the run no longer has it."""
    block = _find_own(blocks, block_id)
    if block is None or block.status not in {"Loading", "Conflict"}:
        return [], False
    is_new = block.status == "Loading"
    return ([BlockConflicted(block=block.id, run=block.run, fields=[dict(field) for field in fields])] if is_new else []), True


def resolve_conflict(blocks: Sequence[Block], block_id: str, choices: Mapping[str, str], by: str) -> tuple[list[Event], bool]:
    """Note the choices; False if the run no longer has its block."""
    block = _find_own(blocks, block_id)
    if block is None or block.status not in {"Loading", "Conflict"}:
        return [], False
    is_open = block.status == "Conflict"
    return ([BlockResolved(block=block.id, run=block.run, choices=dict(choices), by=by)] if is_open else []), True


def finish_block(blocks: Sequence[Block], block_id: str, finish: Finish) -> tuple[list[Event], bool]:
    """End a block; true also if the run has ended it before."""
    block = _find_own(blocks, block_id)
    if block is None or block.status not in {"Loading", "Idle"}:
        return [], False
    if block.status == "Idle":
        return [], True
    finished = BlockFinished(
        block=block.id,
        run=block.run,
        raw_text=finish.raw_text,
        origins=list(finish.origins),
        operations=[dict(operation) for operation in finish.operations],
        post_ai=dict(finish.post_ai),
        post_user=dict(finish.post_user),
    )
    return [finished], True


def fail_block(blocks: Sequence[Block], block_id: str, code: str) -> tuple[list[Event], bool]:
    """Mark a block as failed; false if none could fail."""
    block = _find_own(blocks, block_id)
    if block is None or block.status not in {"Loading", "Conflict"}:
        return [], False
    return [BlockFailed(block=block.id, run=block.run, code=code)], True


def _find_own(blocks: Sequence[Block], block_id: str) -> Block | None:
    block = find_block(blocks, block_id)
    return block if block is not None and not block.is_dismissed else None
