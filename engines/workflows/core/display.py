"""Shows what a workflow does while it runs, in the chat and to clients that watch the run (S003-45, S003-55, S003-66 … S003-70).

A client gets one picture of the run, as JSON data: `displayUpdate`, and of a run on a record `blockStatus`, `conflict` and `stateSignal`.
Each of them replaces the one before it. Nothing of it is stored, and any of it may be dropped (S003-70).
"""

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
"""The node of what the run as a whole shows."""


class Notifier:
    """Shows what one run does."""

    def __init__(self, ctx: RunContext) -> None:
        """Show it in the chat of the run and to those who watch it."""
        self._ctx = ctx
        self.block = ""
        """The id of the run's block, once it has one."""

    async def show(self, node: str, payload: DisplayUpdatePayload, _origins: Origins) -> None:
        """Show a display update. An increment goes to clients as it is written; a chat shows whole texts alone."""
        text = render_plain(payload.content)[-_LONGEST_DRAFT:] if payload.update_mode == "FullSnapshot" else ""
        await self._put(f"{node}/shown", {"tuum": node, "displayUpdate": self._build_update(node, payload, "Streaming")}, text)

    async def tell_end(self, status: StreamingStatus, content: str = "") -> None:
        """Show that the run has come to its end, with its text."""
        payload = DisplayUpdatePayload(content=content)
        await self._put(_PLACE, {"displayUpdate": self._build_update("", payload, status)})

    async def tell_status(self, status: BlockStatus) -> None:
        """Show the status of the run's block."""
        await self._put(_PLACE, {"blockStatus": {"BlockId": self.block, "StatusCode": status}})

    async def tell_conflict(self, fields: Sequence[JsonObject]) -> None:
        """Show which fields are in conflict; none after a person has chosen."""
        told = {"BlockId": self.block, "Fields": [dict(field) for field in fields]} if fields else None
        await self._put(
            _PLACE, {"conflict": told, "blockStatus": {"BlockId": self.block, "StatusCode": "Conflict" if fields else "Loading"}}
        )

    async def tell_change(self, fields: Sequence[str]) -> None:
        """Show that the record holds other values now, so that whoever shows it reads it again."""
        await self._put(_PLACE, {"stateSignal": {"BlockId": self.block, "Fields": list(fields)}})

    def _build_update(self, node: str, payload: DisplayUpdatePayload, status: StreamingStatus) -> JsonObject:
        """Return the update with what the host knows of it; what is None takes an earlier value away."""
        told = {**payload.model_dump(mode="json", by_alias=True), "Content": payload.content[:_LONGEST_CONTENT]}
        place = {"ContextBlockId": self.block or None, "TargetElementId": node or None}
        return {**told, "RequestId": self._ctx.run.run_id, "StreamingStatus": status, **place}

    async def _put(self, node: str, change: dict[str, Any], text: str = "") -> None:
        await self._ctx.show(RunUpdate(text=text, patch=change), node=node)
