"""Shows what a workflow does while it runs, in the chat and to clients that watch. Any of it may be dropped (S003-70)."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from engines.workflows.core.results import DisplayUpdatePayload
from orchestrator.domain.taint import Origins
from orchestrator.engines.runs import RunContext, RunUpdate
from orchestrator.engines.shared.rendering import render_plain
from state.model.record_blocks import BlockStatus
from state.stored import JsonObject

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
