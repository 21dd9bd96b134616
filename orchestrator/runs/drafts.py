"""Shows what a run does while it works: a draft in its chat, a picture to clients that watch it. Nothing of it is stored."""

import logging

from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import RunUpdate
from orchestrator.turns.feature import Tools

log = logging.getLogger(__name__)


class Drafts:
    """The draft and the picture of one run. A chat shows one draft at a time."""

    def __init__(self, key: str, home: str, tools: Tools, *, locale: str) -> None:
        """Show what the run `key` does in its chat `home`; `locale` is the language of words that the program puts in."""
        self._key, self._home, self._tools, self._locale = key, home, tools, locale
        self._is_shown = False
        self._streamed = ""
        """The node whose model answer is the draft; "" for none."""

    async def show(self, update: RunUpdate) -> None:
        """Show the draft of the update in the chat, and its picture or change to clients that watch the run."""
        progress = self._tools.progress
        for told, put in ((update.snapshot, progress.show_snapshot), (update.patch, progress.show_patch)):
            if told is not None and not put(self._key, self._tools.guard.clean_data(told, locale=self._locale)):
                log.warning("a picture of a run was too large", extra={"action": "run_picture_dropped", "run": self._key})
        if update.text:
            await self.show_text(update.text)

    async def show_text(self, said: str | Notice) -> None:
        """Show a text, or a notice about a step, as the draft, until `end`."""
        told = said if isinstance(said, str) else said.model_dump(mode="json")
        self._is_shown = True
        await self._tools.show_partial(self._home, Notice(code="run-shows", args={"run": self._key, "said": told}))

    async def end(self) -> None:
        """Show nothing more of the run in its chat until it shows something anew."""
        if self._is_shown:
            self._is_shown = False
            await self._tools.show_partial(self._home, Notice(code="run-shown", args={"run": self._key}))

    def build_streamer(self, node: str) -> "Streamer":
        """Return what shows the model's answer to the node while it comes. Of several nodes one at a time is shown."""
        return Streamer(self, node)

    async def show_answer(self, node: str, shown: str) -> None:
        """Show the beginning of the model's answer to the node, unless that of another one is shown."""
        if self._streamed in {"", node}:
            self._streamed = node
            self._tools.progress.show_draft(self._key, node, shown)
            await self.show_text(shown)

    async def end_stream(self, node: str) -> None:
        """End the draft if it is the model's answer to the node."""
        if self._streamed == node:
            self._streamed = ""
            self._tools.progress.show_draft(self._key, node, "")
            await self.end()


class Streamer:
    """Shows the answer of the model to one node while it comes."""

    def __init__(self, drafts: Drafts, node: str) -> None:
        """Show it among `drafts`."""
        self._drafts, self._node = drafts, node
        self._shown = ""

    async def show_delta(self, delta: str) -> None:
        """Show the next piece."""
        self._shown += delta
        await self._drafts.show_answer(self._node, self._shown)

    async def begin_anew(self) -> None:
        """Forget the pieces: another model begins the answer. The next piece replaces what is shown."""
        self._shown = ""
