"""The document that somebody edits: its text, what the last check found in it, and who wants to know of changes.

The text, the form and the graph of the editor all work on one of these. It knows nothing of how they are drawn.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from nicegui import background_tasks

from bot.console.definitions.work import REFUSALS, write_text
from bot.console.visit import VisitOver
from orchestrator.definitions.checking import Checked
from orchestrator.documents.document import Document, DocumentFormat
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding, Path
from state.journal.store import StoreError
from state.model.definitions import DefinitionVersion

CHECK_AFTER: Final = 0.4
"""Seconds without a change after which the text is checked."""
CHECK_AGAIN: Final = 3.0
"""Seconds after which a check is tried once more that was not possible."""
FORMATS: Final[tuple[DocumentFormat, ...]] = ("yaml", "json")
Check = Callable[["EditedDocument"], Awaitable[Checked]]
Follow = Callable[[], None]


class EditedDocument:
    """One document in one open editor."""

    def __init__(self, kind: str, key: str, text: str, *, check: Check, base: DefinitionVersion | None = None) -> None:
        """Edit `text`, which is that of the version `base`, None for something new whose `key` may be "" for now."""
        self.kind, self.key = kind, key
        self.base = base
        """The stored version on which the text is based, with the revision that the person has seen."""
        self.format: DocumentFormat = "yaml"
        self.saved_text = text
        """The text as it is stored; the present one differs if something is not saved."""
        self.title = self.saved_title = base.title if base is not None else ""
        """What people call it, of a kind whose texts do not say so themselves; and that as it is stored."""
        self._text, self._check = text, check
        self.checked = Checked(findings=())
        """What the last check found; of a text that was changed since, until the next one."""
        self.is_checked = False
        """Whether `checked` is about the present text."""
        self.is_unknown = False
        """Whether the last check was not possible, so that nobody knows what is wrong with the present text."""
        self._on_text: list[Follow] = []
        self._on_checked: list[Follow] = []
        self._task: asyncio.Task[None] | None = None
        self._due = 0.0
        self.changing = asyncio.Lock()
        """Held while the document is changed in a way that takes a moment, such as in the form."""

    async def settle(self) -> None:
        """Wait until the text has what was typed into the form before: whoever presses a button means that, too."""
        async with self.changing:
            pass

    @property
    def text(self) -> str:
        """The present text."""
        return self._text

    @property
    def is_saved(self) -> bool:
        """Whether the present text is stored, with the present title."""
        return self._text == self.saved_text and self.title == self.saved_title

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the last check found."""
        return self.checked.findings

    @property
    def document(self) -> Document | None:
        """The text as it was read at the last check, as far as it could be; None if nothing could."""
        return self.checked.read

    @property
    def data(self) -> object:
        """The data of the text as far as it can be read; None if nothing can be."""
        return self.document.data if self.document is not None else None

    def set_text(self, text: str) -> None:
        """Change the text: tell all that follow it, and check it soon."""
        if text == self._text:
            return
        self._text, self.is_checked = text, False
        for follow in tuple(self._on_text):
            follow()
        self.check_soon()

    def on_text(self, follow: Follow) -> None:
        """Call `follow` after each change of the text."""
        self._on_text.append(follow)

    def on_checked(self, follow: Follow) -> None:
        """Call `follow` after each check."""
        self._on_checked.append(follow)

    def take_findings(self, findings: Sequence[Finding]) -> None:
        """Take what the service has found when it refused the text."""
        self._take_checked(replace(self.checked, findings=tuple(findings)))

    def check_soon(self) -> None:
        """Check the text when it has not been changed for a moment; one check at a time, of the newest text."""
        self._due = time.monotonic() + CHECK_AFTER
        if self._task is None or self._task.done():
            self._task = background_tasks.create(self._check_when_due(), name="handle the check of a definition")

    async def _check_when_due(self) -> None:
        while True:
            left = self._due - time.monotonic()
            if left <= 0 and await self.check_now():
                return
            await asyncio.sleep(max(left, 0))

    async def check_now(self) -> bool:
        """Check the present text now, and return whether that is all: it has stayed the present one, and could be checked.

        What the service refuses, and a database that does not answer, leave the last check as it is, and are told to all that follow it.
        """
        text = self._text
        try:
            checked = await self._check(self)
        except VisitOver:  # the page is about to be closed
            return True
        except (*REFUSALS, StoreError):
            self._due = time.monotonic() + CHECK_AGAIN
            self._take_checked(self.checked, is_unknown=True)
            return False
        if text != self._text:
            return False
        self._take_checked(checked)
        return True

    def _take_checked(self, checked: Checked, *, is_unknown: bool = False) -> None:
        self.checked, self.is_checked, self.is_unknown = checked, not is_unknown, is_unknown
        for follow in tuple(self._on_checked):
            follow()

    async def change_format(self, to: DocumentFormat) -> bool:
        """Write the text in another format; return whether it could be, which is not so while it cannot be read.

        What is typed while this is under way is written, too.
        """
        async with self.changing:
            while True:
                before = self._text
                reading = await asyncio.to_thread(read_document, before, self.format)
                if reading.document is None:
                    return False
                text = await write_text(reading.document.data, to)
                if before == self._text:
                    break
        was_saved = before == self.saved_text
        self.format = to
        if was_saved:
            self.saved_text = text
        self.set_text(text)
        return True

    def find_line(self, path: Path) -> int:
        """Return the line at which a part of the document stood when it was checked; 0 if that is not known."""
        return self.document.find_position(path)[0] if self.document is not None else 0

    def close(self) -> None:
        """End what is under way."""
        if self._task is not None:
            self._task.cancel()
