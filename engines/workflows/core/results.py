"""What a workflow gives, and shows while it runs, as JSON with the names of the seed (S003-16…21, S003-66…72, S003-M5)."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel, to_pascal

from orchestrator.domain.taint import Origins
from orchestrator.engines.runs import RunContext, RunUpdate
from orchestrator.engines.shared.rendering import render_plain
from state.model.record_blocks import BlockStatus
from state.stored import JsonObject

OperationType = Literal["CreateEntity", "ModifyEntity", "DeleteEntity"]
EntityType = Literal["deal", "lead", "contact", "company", "activity", "task"]
ModifyOperator = Literal["=", "+=", "-=", "*=", "/="]
UpdateMode = Literal["FullSnapshot", "Incremental"]


class AtomicOperation(BaseModel):
    """One change of one record that a workflow proposes (S003-X9). The engine never makes it (S003-18)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=True)

    operation_type: OperationType
    entity_type: EntityType
    entity_id: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
    """The number of the record; of a new one a name by which later operations call it."""
    initial_attributes: JsonObject | None = None
    attribute_key: str | None = None
    modify_operator: ModifyOperator | None = None
    modify_value: Any = None


class DisplayUpdatePayload(BaseModel):
    """Something that is shown before the run ends (S003-66 … S003-69)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_pascal, populate_by_name=True)

    content: str
    update_mode: UpdateMode = "FullSnapshot"
    incremental_type: str | None = None


class WorkflowExecutionResult(BaseModel):
    """The result of a run. After a failure it has neither text nor operations: half a plan is never applied (S003-A6)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=True)

    is_success: bool
    raw_text: str = ""
    operations: tuple[AtomicOperation, ...] = ()
    """By level of the graph, then in the order of the file, then as they were emitted."""
    globals: JsonObject = Field(default_factory=dict)
    error_code: str = ""
    """Such as TuumExecutionFailed; "" after success (S003-X4)."""
    error_message: str = ""
    finished: tuple[str, ...] = ()
    """In the order of the file."""


StreamingStatus = Literal["Streaming", "Complete", "Error"]
_LONGEST_DRAFT: Final = 4_000
_LONGEST_CONTENT: Final = 40_000
_PLACE: Final = "_shown"


class Notifier:
    def __init__(self, ctx: RunContext) -> None:
        self._ctx = ctx
        self.block = ""

    async def show(self, node: str, payload: DisplayUpdatePayload, _origins: Origins) -> None:
        """Increments go to clients alone; a chat shows whole texts."""
        text = render_plain(payload.content)[-_LONGEST_DRAFT:] if payload.update_mode == "FullSnapshot" else ""
        await self._put(f"{node}/shown", {"tuum": node, "displayUpdate": self._build_update(node, payload, "Streaming")}, text)

    async def tell_end(self, status: StreamingStatus, content: str = "") -> None:
        payload = DisplayUpdatePayload(content=content)
        await self._put(_PLACE, {"displayUpdate": self._build_update("", payload, status)})

    async def tell_status(self, status: BlockStatus) -> None:
        await self._put(_PLACE, {"blockStatus": {"BlockId": self.block, "StatusCode": status}})

    async def tell_conflict(self, fields: Sequence[JsonObject]) -> None:
        """Show the fields in conflict; none after a person has chosen."""
        conflict = {"BlockId": self.block, "Fields": [dict(field) for field in fields]} if fields else None
        await self._put(
            _PLACE, {"conflict": conflict, "blockStatus": {"BlockId": self.block, "StatusCode": "Conflict" if fields else "Loading"}}
        )

    async def tell_change(self, fields: Sequence[str]) -> None:
        await self._put(_PLACE, {"stateSignal": {"BlockId": self.block, "Fields": list(fields)}})

    def _build_update(self, node: str, payload: DisplayUpdatePayload, status: StreamingStatus) -> JsonObject:
        """Add what the host knows; None takes an earlier value away."""
        update = {**payload.model_dump(mode="json", by_alias=True), "Content": payload.content[:_LONGEST_CONTENT]}
        place = {"ContextBlockId": self.block or None, "TargetElementId": node or None}
        return {**update, "RequestId": self._ctx.run.run_id, "StreamingStatus": status, **place}

    async def _put(self, node: str, change: dict[str, Any], text: str = "") -> None:
        await self._ctx.show(RunUpdate(text=text, patch=change), node=node)
