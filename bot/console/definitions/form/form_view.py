"""The form in the editor. It and the text are two views of one document: what changes in one is shown in the other."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from nicegui import background_tasks, ui

from bot.console.definitions.document import EditedDocument
from bot.console.definitions.findings_list import draw_findings
from bot.console.definitions.form.changing import PlaceGone, find_value, insert_item, move_item, remove_item
from bot.console.definitions.form.comments import has_comments
from bot.console.definitions.form.field_view import FieldView
from bot.console.definitions.form.fields import FieldRefused, Group, walk_fields
from bot.console.definitions.form.group_view import Deed, Hands, NodesView, follow_moved
from bot.console.definitions.form.places import assign_findings
from bot.console.definitions.form.sources import FormSource, open_source
from bot.console.definitions.work import tell, write_text
from bot.console.visit import Visit
from bot.console.widgets import show_empty, show_text
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding, Path
from state.canonical import NotCanonical

_MOST_SHOWN: Final = 5
"""Mistakes of a text that keep the form away, of which the person reads these first."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of the document that somebody makes in the form."""

    make: Callable[[FormSource, object], object]
    """Returns the changed document."""
    view: FieldView | None = None
    """The field into which it was typed."""
    opens: Callable[[set[Path]], set[Path]] = set
    """Returns which groups are open afterwards."""
    moves: Path | None = None
    """The list whose elements are others afterwards."""


class FormView:
    """The form of the document of one editor."""

    def __init__(self, visit: Visit, document: EditedDocument, go_to: Callable[[int], None]) -> None:
        """Draw it here when `open` is called for the first time; `go_to` shows a line of the text."""
        self._visit, self._document, self._go_to = visit, document, go_to
        self._place = ui.element("div").classes("form")
        with self._place:
            self._away = ui.element("div").props("aria-live=polite")
            self._shown = ui.element("div")
        self._source: FormSource | None = None
        self._nodes: NodesView | None = None
        self._form = Group(path=(), label="", nodes=())
        self._text, self._data = "", object()
        self._may_lose_comments = False
        self._lock = asyncio.Lock()
        self._hands = Hands(self._enter, self._rearrange, self._show_findings)

    async def open(self) -> None:
        """Draw the form if it is not there yet. Raises VisitOver, StoreError."""
        async with self._lock:
            if self._nodes is not None or self._source is not None:
                return
            self._source = await open_source(self._visit, self._document.kind)
            if self._source is None:
                with self._away:
                    show_empty(self._visit.say("console-form-none"))
                return
            await self._read_text()
        self._document.on_checked(self._follow)
        self._show_findings()

    def _follow(self) -> None:
        """Show what the check has found, and the text if somebody has changed it."""
        if self._document.text != self._text:
            background_tasks.create(self._refresh(), name="handle a text for the form")
        else:
            self._show_findings()

    async def _refresh(self) -> None:
        async with self._lock:
            await self._read_text()
        self._show_findings()

    async def _read_text(self) -> bool:
        """Take the present text; return whether there is a form of it. One that cannot be read keeps the form away, and it says where."""
        document = self._document
        if document.text == self._text and self._nodes is not None:
            return bool(self._shown.visible)
        text = document.text
        reading = await asyncio.to_thread(read_document, text, document.format)
        data = reading.document.data if reading.document is not None else None
        if not isinstance(data, dict):
            self._keep_away([one for one in reading.findings if one.severity == "error"])
            return False
        if self._source is not None:
            self._draw(await asyncio.to_thread(self._source.describe, data))
        self._text, self._data = text, data
        return True

    def _keep_away(self, findings: list[Finding]) -> None:
        self._text = ""
        self._shown.set_visibility(False)
        self._away.clear()
        with self._away:
            code = "console-form-unreadable" if findings else "console-form-no-object"
            show_text(self._visit.say(code, line=findings[0].line if findings else 0))
            draw_findings(self._visit, findings[:_MOST_SHOWN], on_click=lambda one: self._go_to(one.line))

    def _draw(self, form: Group) -> None:
        """Show this form; what is the same in it as before stays as it is."""
        self._form = form
        self._away.clear()
        self._shown.set_visibility(True)
        if self._nodes is not None:
            self._nodes.update(form.nodes)
            return
        with self._shown:
            self._nodes = NodesView(self._visit, form.nodes, self._hands)

    def _show_findings(self) -> None:
        if self._nodes is not None:
            self._nodes.show_findings(assign_findings(self._form, self._document.findings))

    async def _enter(self, view: FieldView, typed: str) -> None:
        """Take what was typed into a field."""
        await self._change(_Change(lambda source, data: source.enter(data, view.field, typed), view=view))

    async def _rearrange(self, deed: Deed, path: Path, index: int) -> None:
        """Add, remove or move an element of a list."""
        make = partial(_rearrange_items, deed, path, index)
        await self._change(_Change(make, opens=lambda opened: follow_moved(opened, deed, path, index), moves=path))

    async def _change(self, change: "_Change") -> None:
        """Change the document; before comments of a text are lost for the first time, ask."""
        async with self._lock:
            while await self._read_text():
                if not self._may_lose_comments and await asyncio.to_thread(has_comments, self._text, self._document.format):
                    self._ask(change)
                    return
                if await self._put(change):
                    break
            else:
                if change.view is not None:
                    change.view.reset()
        self._show_findings()

    async def _put(self, change: "_Change") -> bool:
        """Make a change; return False if the text was changed meanwhile, so that it must be made once more."""
        view, source = change.view, self._source
        if source is None:
            return True
        try:
            data = change.make(source, self._data)
            text = await write_text(data, self._document.format)
            form = await asyncio.to_thread(source.describe, data)
        except FieldRefused as refusal:
            if view is not None:
                view.refuse(refusal)
            return True
        except (PlaceGone, NotCanonical):
            if view is not None:
                view.reset()
            tell(self._visit, self._visit.say("console-form-gone"), tone="warning")
            return True
        if self._document.text != self._text:
            return False
        self._text, self._data = text, data
        if view is not None:
            path = view.field.path
            view.take(next((one.value for one in walk_fields(form.nodes) if one.path == path), ""))
        self._hands.follow(change.opens(self._hands.opened), change.moves)
        self._draw(form)
        self._hands.follow(self._hands.opened, None)
        self._document.set_text(text)
        return True

    def _ask(self, change: "_Change") -> None:
        """Ask whether comments may be lost; the change waits for the answer."""
        visit = self._visit
        with self._place, ui.dialog().props("persistent") as dialog, ui.card().classes("def-dialog def-small"):
            ui.label(visit.say("console-form-comments")).classes("strong")
            show_text(visit.say("console-form-comments-lost"))

            async def go_on() -> None:
                dialog.close()
                self._may_lose_comments = True
                await self._change(change)

            def stay() -> None:
                dialog.close()
                if change.view is not None:
                    change.view.reset()

            with ui.element("div").classes("def-actions"):
                ui.button(visit.say("console-form-stay"), on_click=stay).props("flat no-caps")
                ui.button(visit.say("console-form-go-on"), on_click=go_on).props("unelevated no-caps color=primary")
        dialog.open()


def _rearrange_items(deed: Deed, path: Path, index: int, source: FormSource, data: object) -> object:
    match deed:
        case "add":
            items = find_value(data, path)
            return insert_item(data, path, len(items) if isinstance(items, list) else 0, source.build_item(data, path))
        case "remove":
            return remove_item(data, path, index)
    return move_item(data, path, index, index + (1 if deed == "down" else -1))
