"""Form and text are two views of one document."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from nicegui import background_tasks, ui

from bot.console.definitions.document import EditedDocument, write_into
from bot.console.definitions.findings_list import draw_findings
from bot.console.definitions.form.field_view import FieldView
from bot.console.definitions.form.fields import FieldRefused, Group, cut_nodes, walk_fields, walk_groups
from bot.console.definitions.form.group_view import Deed, Hands, NodesView, follow_moved, move_path
from bot.console.definitions.form.places import assign_findings
from bot.console.definitions.form.renaming import Renames, list_names, name_users
from bot.console.definitions.form.sources import SchemaSource, open_source
from bot.console.static_files import build_script_link
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_empty, show_text, tell
from orchestrator.documents.changing import PlaceGone, find_value, insert_item, move_item, remove_item
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding, Path
from state.canonical import NotCanonical

_LONGEST_NAME: Final = 200
_TEXTS: Final = frozenset({"line", "text", "any", "json", "pairs", "items", "words", "code"})
"""Kinds of fields into which variables are put."""
_MOST_SHOWN: Final = 5
"""Mistakes that keep the form away, of which these are read first."""


@dataclass(frozen=True, slots=True)
class _Removed:
    path: Path
    index: int
    element: object
    title: str


@dataclass(frozen=True, slots=True)
class _Change:
    make: Callable[[SchemaSource, object], object]
    view: FieldView | None = None
    deed: Deed | None = None
    """What is done with elements of the list at `listed`, at `index`."""
    listed: Path = ()
    index: int = 0
    removed: _Removed | None = None
    """May be brought back."""

    def follow(self, hands: Hands) -> None:
        """Open groups and untaken texts go where their elements are afterwards."""
        if self.deed is None:
            return
        opened = follow_moved(hands.opened, self.deed, self.listed, self.index)
        moved = {move_path(one, self.deed, self.listed, self.index): kept for one, kept in hands.refused.items()}
        hands.refused.clear()
        hands.refused.update({path: kept for path, kept in moved.items() if path is not None})
        hands.follow(opened, self.listed)


class FormView:
    def __init__(self, visit: Visit, document: EditedDocument, go_to: Callable[[int], None]) -> None:
        """Drawn when `open` is first called; `go_to` shows a line of the text."""
        self._visit, self._document, self._go_to = visit, document, go_to
        ui.add_head_html(build_script_link("form.js"))
        self._place = ui.element("div").classes("form")
        with self._place:
            self._gone = ui.element("div").classes("form-removed").props("aria-live=polite")
            self._away = ui.element("div").props("aria-live=polite")
            self._chips = ui.element("div").classes("form-chips")
            self._chips.set_visibility(False)
            self._shown = ui.element("div")
        self._source: SchemaSource | None = None
        self._nodes: NodesView | None = None
        self._form = Group(path=(), label="", nodes=())
        self._cut: Path = ()
        self._text, self._data = "", object()
        self._lock = document.changing
        self._renames = Renames(document.kind)
        self._hands = Hands(self._enter, self._rearrange, self._show_findings, look_at=self._offer_variables)
        self._offered: tuple[str, ...] = ()

    async def open(self) -> None:
        """Raises VisitOver, StoreError."""
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

    def show_only(self, path: Path) -> None:
        """What is at this place, () for the whole form; with the next text if that is another one."""
        if path == self._cut:
            return
        self._cut = path
        if self._nodes is not None and self._document.text == self._text:
            self._draw(self._form)
            self._show_findings()

    def _follow(self) -> None:
        if self._document.text != self._text:
            background_tasks.create(self._refresh(), name="handle a text for the form")
        else:
            self._show_findings()

    async def _refresh(self) -> None:
        async with self._lock:
            await self._read_text()
        self._show_findings()

    async def _read_text(self) -> bool:
        """False if it cannot be read; the form is away then, and it says where."""
        document = self._document
        if document.text == self._text and self._nodes is not None:
            return bool(self._shown.visible)
        text = document.text
        reading = await asyncio.to_thread(read_document, text, document.format)
        data = reading.document.data if reading.document is not None else None
        if not isinstance(data, dict):
            self._keep_away([finding for finding in reading.findings if finding.severity == "error"])
            return False
        if self._source is not None:
            self._draw(await asyncio.to_thread(self._source.describe, data))
        self._text, self._data = text, data
        self._renames.forget()
        self._gone.clear()
        return True

    def _offer_variables(self, view: FieldView) -> None:
        """A press puts one where the person types."""
        source, field = self._source, view.field
        is_text = field.kind in _TEXTS or field.is_open
        names = tuple(source.list_variables(self._data, field.path)) if source is not None and is_text else ()
        if names == self._offered:
            return
        self._offered = names
        self._chips.clear()
        self._chips.set_visibility(bool(names))
        with self._chips:
            ui.label(self._visit.say("console-form-insert")).classes("muted small")
            for name in names:
                chip = ui.button(cut_text(name, limit=_LONGEST_NAME)).props("outline dense no-caps").classes("form-chip")
                chip.on("click", js_handler=f"() => sdelkaForm.insert({json.dumps(name)})")
                chip.on("mousedown", js_handler="(event) => event.preventDefault()")

    def count_refused(self) -> int:
        """Fields whose text the document has not taken."""
        return len(self._hands.refused)

    def _keep_away(self, findings: list[Finding]) -> None:
        self._text = ""
        self._shown.set_visibility(False)
        self._away.clear()
        with self._away:
            code = "console-form-unreadable" if findings else "console-form-no-object"
            show_text(self._visit.say(code, line=findings[0].line if findings else 0))
            draw_findings(self._visit, findings[:_MOST_SHOWN], on_click=lambda finding: self._go_to(finding.line))

    def _draw(self, form: Group) -> None:
        """What is the same stays as it is."""
        self._form = form
        self._away.clear()
        self._shown.set_visibility(True)
        nodes = cut_nodes(form, self._cut)
        if self._nodes is not None:
            self._nodes.update(nodes)
            return
        with self._shown:
            self._nodes = NodesView(self._visit, nodes, self._hands)

    def _show_findings(self) -> None:
        if self._nodes is not None:
            self._nodes.show_findings(assign_findings(self._form, self._document.findings))

    async def _enter(self, view: FieldView, typed: str) -> None:
        await self._change(_Change(lambda source, data: source.enter(data, view.field, typed), view=view))

    async def _rearrange(self, deed: Deed, path: Path, index: int) -> None:
        """What was removed can be brought back."""
        removed = self._describe_removed(path, index) if deed == "remove" else None
        make = partial(_rearrange_items, deed, path, index)
        await self._change(_Change(make, deed=deed, listed=path, index=index, removed=removed))

    def _describe_removed(self, path: Path, index: int) -> _Removed:
        group = next((one for one in walk_groups(self._form) if one.path == (*path, index)), None)
        title = (group.title or group.label) if group is not None else ""
        return _Removed(path, index, find_value(self._data, (*path, index)), title)

    def _name_users(self, removed: _Removed) -> list[str]:
        """Steps that still lead to it, or name it."""
        name = find_value(removed.element, ("id",))
        if not isinstance(name, str) or not name or name in list_names(self._data, removed.path):
            return []
        return name_users(self._document.kind, self._data, removed.path, name)

    def _offer_return(self, removed: _Removed) -> None:
        visit = self._visit
        title = cut_text(removed.title or visit.say("console-form-nameless"), limit=_LONGEST_NAME)
        users = cut_text(", ".join(one or "…" for one in self._name_users(removed)), limit=_LONGEST_NAME)
        self._gone.clear()

        async def bring_back() -> None:
            self._gone.clear()
            await self._change(_Change(partial(_return_item, removed)))

        with self._gone, ui.element("div").classes("form-gone"):
            code = "console-form-removed-used" if users else "console-form-removed"
            show_text(visit.say(code, title=title, users=users), classes="small")
            ui.button(visit.say("console-form-return"), icon="undo", on_click=bring_back).props("flat dense no-caps")

    async def _change(self, change: "_Change") -> None:
        async with self._lock:
            while await self._read_text():
                if await self._put(change):
                    break
            else:
                if change.view is not None:
                    change.view.reset()
        self._show_findings()

    async def _put(self, change: "_Change") -> bool:
        """False if the text was changed meanwhile, so that it must be made once more."""
        view, source = change.view, self._source
        if source is None:
            return True
        followed = 0
        try:
            data = change.make(source, self._data)
            if view is not None:
                data, followed = self._renames.follow(self._data, data, view.field.path)
            else:
                self._renames.forget()
            text = await asyncio.to_thread(write_into, self._text, data, self._document.format)
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
            note = self._visit.say("console-form-followed", count=followed) if followed else ""
            view.take(next((field.value for field in walk_fields(form.nodes) if field.path == path), ""), note)
        change.follow(self._hands)
        self._draw(form)
        self._hands.follow(self._hands.opened, None)
        self._document.set_text(text)
        if change.removed is not None:
            self._offer_return(change.removed)
        return True


def _return_item(removed: _Removed, _source: SchemaSource, data: object) -> object:
    """Where it was, or at the end of a list that is shorter by now."""
    items = find_value(data, removed.path)
    return insert_item(data, removed.path, min(removed.index, len(items) if isinstance(items, list) else 0), removed.element)


def _rearrange_items(deed: Deed, path: Path, index: int, source: SchemaSource, data: object) -> object:
    match deed:
        case "add":
            return source.add_item(data, path)
        case "remove":
            return remove_item(data, path, index)
    return move_item(data, path, index, index + (1 if deed == "down" else -1))
