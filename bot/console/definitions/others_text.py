"""What others have saved while this page is open, brought into its text."""

import asyncio
from collections.abc import Awaitable, Callable

from nicegui import ui

from bot.console.definitions.conflict import describe_merged, open_choices, open_conflict
from bot.console.definitions.document import EditedDocument
from bot.console.definitions.merged_text import GivenUp, MyText, Reconciled, reconcile
from bot.console.definitions.work import build_path, write_text
from bot.console.kept_texts import KeptTexts
from bot.console.visit import Visit
from state.model.definitions import DefinitionVersion


class OthersText:
    def __init__(
        self,
        visit: Visit,
        document: EditedDocument,
        title: ui.input,
        kept: KeptTexts,
        *,
        save: Callable[[], Awaitable[None]],
        forget_newer: Callable[[], None],
    ) -> None:
        """What was brought in is said at this place of the page."""
        self._visit, self._document, self._title, self._kept = visit, document, title, kept
        self._save, self._forget_newer = save, forget_newer
        self._place = ui.element("div").props("aria-live=polite")

    async def bring_in(self, present: DefinitionVersion, *, is_saving: bool = False, given_up: GivenUp | None = None) -> bool:
        """False if the person has to choose, who is asked then; `given_up` has what they chose."""
        document, base = self._document, self._document.base
        if base is None:
            await self._open_conflict(present, "console-conflict-key-taken")
            return False
        number_field = self._visit.services.definitions.find_kind(base.kind).number_field
        while True:
            mine = MyText.copy_from(document, base, number_field)
            reconciled = await asyncio.to_thread(reconcile, mine, present, given_up or ())
            if document.text == mine.text:
                break
        if reconciled is None:
            await self._open_conflict(present, "console-conflict-unreadable")
            return False
        if reconciled.choices and given_up is None:
            self._ask(present, reconciled, is_saving=is_saving)
            return False
        self._show_stored(present, reconciled.theirs, reconciled.text)
        self._tell(describe_merged(self._visit, present, reconciled, given_up or (), number_field=number_field))
        return True

    def forget(self) -> None:
        """What is said is no news any more."""
        self._place.clear()

    def _tell(self, sentence: str) -> None:
        """A notice that goes by itself would be missed."""
        self.forget()
        if sentence:
            with self._place:
                ui.label(sentence).classes("def-trouble text").props("role=status dir=auto")

    def _ask(self, present: DefinitionVersion, reconciled: Reconciled, *, is_saving: bool) -> None:
        async def settle(given_up: GivenUp) -> None:
            if await self.bring_in(present, given_up=given_up) and is_saving:
                await self._save()

        label = self._visit.say("console-merge-save" if is_saving else "console-merge-put")
        open_choices(self._visit, present, reconciled.choices, label=label, settle=settle, take_theirs=self._take_theirs)

    async def _open_conflict(self, present: DefinitionVersion, code: str) -> None:
        document = self._document
        await open_conflict(self._visit, present, document.text, document.format, code=code, take_theirs=self._take_theirs)

    async def _take_theirs(self, present: DefinitionVersion) -> None:
        """The person's own text stays in the browser, and is offered."""
        document = self._document
        if document.base is None:
            self._kept.leave_for(build_path(present.kind, present.key, "edit"))
            return
        text = await write_text(present, document.format)
        self._kept.set_aside(document.text)
        document.saved_title = document.title
        self._show_stored(present, text, text)

    def _show_stored(self, present: DefinitionVersion, stored: str, text: str) -> None:
        """`text` goes on from `stored`; a title that was not changed here is theirs, too."""
        document = self._document
        if document.title == document.saved_title:
            document.title = present.title
            self._title.set_value(present.title)
        document.base, document.saved_text, document.saved_title = present, stored, present.title
        document.set_text(text)
        self._kept.tell_saved(stored, beside=present.title)
        self._forget_newer()
