"""What scripts may ask about records and blocks, with the rights of the run's person (S003-64, 65).

A block is named by its id, by the key of its record (deal:481: the last result on it), or by "": the run's own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engines.workflows.core.blocks.conflicts import Record
from engines.workflows.core.blocks.host import Blocks
from engines.workflows.core.entities import ENTITIES
from orchestrator.domain.taint import UNDECLARED, Origins, Value
from orchestrator.engines.runs import RunContext, RunEffect
from orchestrator.engines.shared.declared import RECORDS
from orchestrator.expressions.scripts.failures import ScriptCallFailed
from state.model.record_blocks import Block, find_block, find_last_result, list_parents
from state.stored import JsonObject

_ID: Final = re.compile(r"([a-z]+):([1-9][0-9]{0,14})(?::(\S{1,100}))?", re.ASCII)
_LINKS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "deal": (("contact", "CONTACT_ID"), ("company", "COMPANY_ID")),
    "lead": (("contact", "CONTACT_ID"), ("company", "COMPANY_ID")),
    "contact": (("company", "COMPANY_ID"),),
}
_OWNER_TYPES: Final = {"lead": 1, "deal": 2, "contact": 3, "company": 4}
_ACTIVITY_FIELDS: Final = ["ID", "TYPE_ID", "SUBJECT", "DEADLINE", "RESPONSIBLE_ID"]
_NOTHING: Final = Value(None)
_AUTHOR: Final[Origins] = frozenset({"definition"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """`block` is "" for the last result on the record."""

    record: Record
    block: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordQueries:
    """The queries of one run."""

    ctx: RunContext
    blocks: Blocks
    record: Record
    block: str
    """"" if the run has none."""

    async def list_entities(self, node: str, block_id: str, /) -> Value:
        """Return [{entityType, entityId, attributes}] with linked records; null if it may not be seen."""
        target = self._find_named(block_id)
        fields = await self._read(node, target.record)
        if fields is None:
            return _NOTHING
        entities = [_describe(target.record, fields)]
        for kind, name in _LINKS.get(target.record.kind, ()):
            number = str(fields.get(name) or "")
            linked = Record(kind=kind, number=number)
            if number.isdecimal() and int(number) and (read := await self._read(f"{node}/{kind}", linked)) is not None:
                entities.append(_describe(linked, read))
        return Value(entities, UNDECLARED)

    async def read_game_state(self, node: str, block_id: str, /) -> Value:
        """Return {funnel, stage, activities: the open ones}; null if the record may not be seen."""
        record = self._find_named(block_id).record
        fields = await self._read(node, record)
        if fields is None:
            return _NOTHING
        activity_filter = {"OWNER_TYPE_ID": _OWNER_TYPES[record.kind], "OWNER_ID": record.number, "COMPLETED": "N"}
        params = {"filter": Value(activity_filter, UNDECLARED), "select": _ACTIVITY_FIELDS}
        outcome = await self.ctx.submit(
            f"{node}/activities", RunEffect(method=ENTITIES["activity"].list_method, params=params, must_read=True)
        )
        activities = outcome.result if outcome.status == "succeeded" and isinstance(outcome.result, list) else []
        state = {"funnel": fields.get("CATEGORY_ID"), "stage": fields.get("STAGE_ID", fields.get("STATUS_ID")), "activities": activities}
        return Value(state, UNDECLARED)

    async def read_raw_text(self, node: str, block_id: str, /) -> Value:
        """Return null if there is no text, or if the record may not be seen."""
        target = self._find_named(block_id)
        if await self._read(node, target.record) is None:
            return _NOTHING

        async def look() -> list[str] | None:
            block = await self._find_block(target)
            return sorted(self._list_origins(block)) if block is not None and block.status == "Idle" else None

        async def read() -> str:
            block = await self._find_block(target)
            return block.raw_text if block is not None else ""

        origins = (await self.ctx.memo(f"{node}/origins", look, origins=_AUTHOR)).data
        if origins is None:
            return _NOTHING
        return await self.ctx.memo(f"{node}/text", read, origins=frozenset(origins))

    async def list_parents(self, node: str, block_id: str, /) -> Value:
        """Return ids from the first block to this one; none if the record may not be seen."""
        target = self._find_named(block_id)
        if await self._read(node, target.record) is None:
            return Value([], _AUTHOR)

        async def look() -> list[str]:
            blocks = await self.blocks.read(target.record)
            block = await self._find_block(target)
            if block is None and target.block and target.block == self.block:  # planned in shadow mode: it would follow on the last one
                last = find_last_result(blocks)
                return [*(list_parents(blocks, last.id) if last is not None else []), target.block]
            return list_parents(blocks, block.id) if block is not None else []

        return await self.ctx.memo(f"{node}/parents", look, origins=_AUTHOR)

    def _find_named(self, block_id: str) -> _Named:
        """Raises ScriptCallFailed."""
        if not block_id:
            return _Named(record=self.record, block=self.block)
        if block_id == self.record.number:
            return _Named(record=self.record, block="")
        match = _ID.fullmatch(block_id)
        if match is None or match[1] not in RECORDS:
            raise ScriptCallFailed(f"{block_id[:60]!r} is no block and no record such as deal:481")
        return _Named(record=Record(kind=match[1], number=match[2]), block=block_id if match[3] else "")

    async def _find_block(self, target: _Named) -> Block | None:
        blocks = await self.blocks.read(target.record)
        return find_block(blocks, target.block) if target.block else find_last_result(blocks)

    def _list_origins(self, block: Block) -> set[Any]:
        origins = set(block.origins)
        return origins if block.by == self.ctx.run.owner or "person" not in origins else (origins - {"person"}) | UNDECLARED

    async def _read(self, node: str, record: Record) -> JsonObject | None:
        """None if the person may not see the record or there is none."""
        entity = ENTITIES[record.kind]
        effect = RunEffect(method=entity.get_method, params={entity.id_parameter: Value(record.number, UNDECLARED)}, must_read=True)
        outcome = await self.ctx.submit(node, effect)
        return outcome.result if outcome.status == "succeeded" and isinstance(outcome.result, dict) and outcome.result else None


def _describe(record: Record, fields: JsonObject) -> JsonObject:
    return {"entityType": record.kind, "entityId": record.number, "attributes": fields}
