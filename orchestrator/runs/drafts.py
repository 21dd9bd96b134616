"""Shows what a run does while it works. Nothing of it is stored."""

import logging

from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import RunUpdate
from orchestrator.turns.feature import Tools

log = logging.getLogger(__name__)


class Drafts:
    """Of one run; a chat shows one draft at a time."""

    def __init__(self, key: str, home: str, tools: Tools, *, locale: str) -> None:
        """`locale` is for words that the program puts in."""
        self._key, self._home, self._tools, self._locale = key, home, tools, locale
        self._is_shown = False
        self._streamed = ""
        """The node whose model answer is the draft; "" for none."""

    async def show(self, update: RunUpdate) -> None:
        progress = self._tools.progress
        for picture, put in ((update.snapshot, progress.show_snapshot), (update.patch, progress.show_patch)):
            if picture is not None and not put(self._key, self._tools.guard.clean_data(picture, locale=self._locale)):
                log.warning("a picture of a run was too large", extra={"action": "run_picture_dropped", "run": self._key})
        if update.text:
            await self.show_text(update.text)

    async def show_text(self, content: str | Notice) -> None:
        """Stays as the draft until `end`."""
        wire = content if isinstance(content, str) else content.model_dump(mode="json")
        self._is_shown = True
        await self._tools.show_partial(self._home, Notice(code="run-shows", args={"run": self._key, "said": wire}))

    async def end(self) -> None:
        if self._is_shown:
            self._is_shown = False
            await self._tools.show_partial(self._home, Notice(code="run-shown", args={"run": self._key}))

    def build_streamer(self, node: str) -> "Streamer":
        """Of several nodes one is shown at a time."""
        return Streamer(self, node)

    async def show_answer(self, node: str, beginning: str) -> None:
        """Unless another node's answer is shown."""
        if self._streamed in {"", node}:
            self._streamed = node
            self._tools.progress.show_draft(self._key, node, beginning)
            await self.show_text(beginning)

    async def end_stream(self, node: str) -> None:
        if self._streamed == node:
            self._streamed = ""
            self._tools.progress.show_draft(self._key, node, "")
            await self.end()


class Streamer:
    def __init__(self, drafts: Drafts, node: str) -> None:
        self._drafts, self._node = drafts, node
        self._shown = ""

    async def show_delta(self, delta: str) -> None:
        self._shown += delta
        await self._drafts.show_answer(self._node, self._shown)

    async def begin_anew(self) -> None:
        """Another model begins the answer; the next piece replaces what is shown."""
        self._shown = ""
