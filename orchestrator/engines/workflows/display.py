"""Shows what a workflow displays while it runs, in the chat and to clients that watch the run (S003-45, S003-55, S003-66 … S003-70)."""

from typing import Final

from orchestrator.domain.taint import Origins
from orchestrator.engines.runs import RunContext, RunUpdate
from orchestrator.engines.workflows.rendering import render_plain
from orchestrator.engines.workflows.results import DisplayUpdatePayload
from orchestrator.engines.workflows.surroundings import Show

_LONGEST_DRAFT: Final = 4_000
_LONGEST_CONTENT: Final = 40_000


def build_show(ctx: RunContext) -> Show:
    """Return what shows the display updates of this run. A client gets each with the id of the run and its status (S003-70)."""

    async def show(node: str, payload: DisplayUpdatePayload, _origins: Origins) -> None:
        told = payload.model_dump(mode="json", by_alias=True, exclude_none=True)
        told |= {"RequestId": ctx.run.run_id, "StreamingStatus": "Streaming", "Content": payload.content[:_LONGEST_CONTENT]}
        text = render_plain(payload.content)[-_LONGEST_DRAFT:] if payload.update_mode == "FullSnapshot" else ""
        await ctx.show(RunUpdate(text=text, snapshot={"tuum": node, "displayUpdate": told}), node=f"{node}/shown")

    return show
