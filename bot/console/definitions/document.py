"""The edited document; text, form and graph work on one of these."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

import yaml
from nicegui import background_tasks

from bot.console.definitions.work import REFUSALS
from bot.console.visit import VisitOver
from orchestrator.definitions.checking import Checked
from orchestrator.documents.document import Document, DocumentFormat
from orchestrator.documents.keeping import keep_text
from orchestrator.documents.reading import read_document
from orchestrator.documents.writing import write_document
from orchestrator.domain.finding import Finding, Path
from state.journal.store import StoreError
from state.model.definitions import DefinitionVersion

CHECK_AFTER: Final = 0.4
"""Seconds without a change."""
CHECK_AGAIN: Final = 3.0
"""Seconds after a check that was not possible."""
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FORMATS: Final[tuple[DocumentFormat, ...]] = ("yaml", "json")
Check = Callable[["EditedDocument"], Awaitable[Checked]]
Follow = Callable[[], None]


class EditedDocument:
    def __init__(self, kind: str, key: str, text: str, *, check: Check, base: DefinitionVersion | None = None) -> None:
        """`base` is None for something new, whose `key` may be "" for now."""
        self.kind, self.key = kind, key
        self.base = base
        """With the revision that the person has seen."""
        self.format: DocumentFormat = "yaml"
        self.saved_text = text
        """The text as it is stored."""
        self.title = self.saved_title = base.title if base is not None else ""
        """For kinds whose texts do not say it; and as it is stored."""
        self._text, self._check = text, check
        self.checked = Checked(findings=())
        """Of a text that was changed since, until the next check."""
        self.is_checked = False
        """`checked` is about the present text."""
        self.is_unknown = False
        """The last check was not possible."""
        self._on_text: list[Follow] = []
        self._on_checked: list[Follow] = []
        self._task: asyncio.Task[None] | None = None
        self._due = 0.0
        self.changing = asyncio.Lock()
        """Held while a change takes a moment, such as in the form."""

    async def settle(self) -> None:
        """Until the text has what was typed into the form: whoever presses a button means that, too."""
        async with self.changing:
            pass

    @property
    def text(self) -> str:
        return self._text

    @property
    def is_saved(self) -> bool:
        """With the present title."""
        return self._text == self.saved_text and self.title == self.saved_title

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.checked.findings

    @property
    def document(self) -> Document | None:
        """As far as it could be read at the last check; None if nothing could."""
        return self.checked.read

    @property
    def data(self) -> object:
        """As far as it can be read; None if nothing can be."""
        return self.document.data if self.document is not None else None

    def set_text(self, text: str) -> None:
        """Tells all that follow it, and checks soon."""
        if text == self._text:
            return
        self._text, self.is_checked = text, False
        for follow in tuple(self._on_text):
            follow()
        self.check_soon()

    def on_text(self, follow: Follow) -> None:
        self._on_text.append(follow)

    def on_checked(self, follow: Follow) -> None:
        self._on_checked.append(follow)

    def take_findings(self, findings: Sequence[Finding]) -> None:
        """Those with which the service refused the text."""
        self._take_checked(replace(self.checked, findings=tuple(findings)))

    def check_soon(self) -> None:
        """After a pause; one check at a time, of the newest text."""
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
        """False if the text changed or could not be checked; that is told, and the last check stays."""
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
        """False while it cannot be read. What is typed meanwhile is written, too."""
        async with self.changing:
            while True:
                before = self._text
                reading = await asyncio.to_thread(read_document, before, self.format)
                if reading.document is None:
                    return False
                text = await asyncio.to_thread(write_document, reading.document.data, to)
                if before == self._text:
                    break
        was_saved = before == self.saved_text
        self.format = to
        if was_saved:
            self.saved_text = text
        self.set_text(text)
        return True

    def find_line(self, path: Path) -> int:
        """The line at the last check; 0 if not known."""
        return self.document.find_position(path)[0] if self.document is not None else 0

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()


def write_into(text: str, data: object, form: DocumentFormat) -> str:
    """With its comments and order. Raises NotCanonical."""
    return keep_text(text, data, form) or write_document(data, form)


def has_comments(text: str, form: DocumentFormat) -> bool:
    """True if nobody can say, so that the person is asked."""
    return _has_json_comments(text) if form == "json" else list_comments(text) != []


def list_comments(text: str) -> list[str] | None:
    """Of YAML, in their order; None of a text that cannot be read. Between tokens stand only space, structure and comments."""
    comments: list[str] = []
    at = 0
    try:
        for token in yaml.scan(text, Loader=_LOADER) if "#" in text else ():
            gap = text[at : token.start_mark.index]
            comments += [line[line.index("#") :].rstrip() for line in gap.split("\n") if "#" in line]
            at = max(at, token.end_mark.index)
    except yaml.YAMLError:
        return None
    return comments


def _has_json_comments(text: str) -> bool:
    is_inside, at = False, 0
    while at < len(text):
        sign = text[at]
        if is_inside and sign == "\\":
            at += 1
        elif sign == '"':
            is_inside = not is_inside
        elif not is_inside and sign == "/":
            return True
        at += 1
    return False
