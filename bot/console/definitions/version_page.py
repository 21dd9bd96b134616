"""One definition: versions, their texts and differences, and what is done with it as a whole."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from nicegui import ui

from bot.console.canvas import Canvas
from bot.console.definitions.list_page import list_states
from bot.console.definitions.publishing import open_publishing
from bot.console.definitions.work import (
    REFUSALS,
    ROOT,
    build_editor,
    build_path,
    explain,
    find_title,
    name_account,
    reading,
    write_text,
)
from bot.console.diffing import compare_texts, draw_diff
from bot.console.runs.run_face import find_face
from bot.console.runs.watch import say_chart
from bot.console.visit import Visit
from bot.console.widgets import ask_first, build_panel, cut_text, show_badge, show_heading, show_text, tell
from bot.plugins.definition_text import write_compared
from bot.plugins.kind_face import build_definition_chart
from orchestrator.charts.chart import Chart
from state.model.definitions import DefinitionKey, DefinitionVersion, HistoryEntry, StaleRevision

_MOST_ENTRIES: Final = 50
_SHOWN: Final = 10
"""Newest versions that are drawn at first; the one in force always is."""
_TRIES: Final = 5
_LONGEST_NUMBER: Final = 9


@dataclass(frozen=True, kw_only=True)
class KeyView:
    head: DefinitionKey
    versions: tuple[DefinitionVersion, ...]
    history: tuple[HistoryEntry, ...]
    may_edit: bool
    may_publish: bool


async def load_key(visit: Visit, kind: str, key: str) -> KeyView:
    """Raises what the service of definitions raises."""
    service, editor = visit.services.definitions, build_editor(visit)
    return KeyView(
        head=await service.find_key(editor, kind, key),
        versions=tuple(await service.list_versions(editor, kind, key)),
        history=tuple(await service.list_history(editor, kind, key, limit=_MOST_ENTRIES)),
        may_edit=service.may(editor, kind, "edit"),
        may_publish=service.may(editor, kind, "publish"),
    )


async def show_definition(visit: Visit) -> None:
    kind, key = visit.params["kind"], visit.params["key"]
    page = _KeyPage(visit, kind, key)
    with reading():
        view = await load_key(visit, kind, key)
        ui.link(visit.say("console-definitions-back"), ROOT).classes("small")
        await visit.keep_current(lambda: load_key(visit, kind, key), page.draw)
        place = build_panel().classes("def-shown").props("aria-live=polite")
        page.place = place
        await page.show_asked(view)


class _KeyPage:
    """What is opened below the versions stays open while these change."""

    def __init__(self, visit: Visit, kind: str, key: str) -> None:
        self._visit, self._kind, self._key = visit, kind, key
        self._shows_all = False
        self._body: ui.element | None = None
        self.place: ui.element | None = None

    def draw(self, view: KeyView) -> None:
        self._body = ui.element("div")
        with self._body:
            self._draw_all(view)

    def _draw_all(self, view: KeyView) -> None:
        visit, head = self._visit, view.head
        with ui.element("div").classes("def-title"):
            with ui.element("div").classes("def-name"):
                title = ui.label(cut_text(find_title(head), limit=200)).classes("def-big text").props("role=heading aria-level=2 dir=auto")
                title.props["data-key"] = head.key
                with ui.element("div").classes("def-under"):
                    ui.label(visit.say("console-definition-kind", kind=head.kind)).classes("muted small")
                    ui.label(head.key).classes("muted mono")
            with ui.element("div").classes("def-state"):
                for word, tone in list_states(visit, head):
                    show_badge(word, tone=tone)
            ui.space()
            self._draw_actions(view)
        self._draw_versions(view)
        self._draw_history(view.history)

    def _draw_actions(self, view: KeyView) -> None:
        visit, head = self._visit, view.head
        with ui.element("div").classes("def-actions"):
            if view.may_edit:
                edit = ui.button(visit.say("console-definition-edit-asked"), icon="edit").props("unelevated no-caps color=primary")
                edit.on_click(lambda: ui.navigate.to(build_path(self._kind, self._key, "edit")))
            if (view.may_edit or view.may_publish) if head.enabled else view.may_publish:
                switch = ui.button(visit.say("console-definition-switch-off" if head.enabled else "console-definition-switch-on"))
                switch.props("outline no-caps").on_click(lambda: self._confirm_switch(view))

    def _confirm_switch(self, view: KeyView) -> None:
        visit, enabled, notes = self._visit, not view.head.enabled, list[ui.input]()

        def draw() -> None:
            notes.append(ui.input(visit.say("console-definition-note")).props("outlined dense maxlength=500").classes("full"))

        async def switch() -> None:
            await self._switch(enabled=enabled, note=str(notes[0].value or ""))

        question = visit.say("console-definition-switch-on-asked" if enabled else "console-definition-switch-off-asked")
        label = visit.say("console-definition-switch-on" if enabled else "console-definition-switch-off")
        ask_first(visit, visit.page.content, question, label, switch, draw=draw)

    async def _switch(self, *, enabled: bool, note: str) -> None:
        """Whatever others change at the same time: an emergency must not look for a revision."""
        service = self._visit.services.definitions
        try:
            for left in reversed(range(_TRIES)):
                editor = build_editor(self._visit)
                head = await service.find_key(editor, self._kind, self._key)
                try:
                    await service.switch(editor, self._kind, self._key, enabled=enabled, expected=head.revision, note=note)
                    break
                except StaleRevision:
                    if not left:
                        raise
        except REFUSALS as error:
            tell(self._visit, explain(self._visit, error), tone="negative")
        await self._visit.feed.refresh_all()

    def _draw_versions(self, view: KeyView) -> None:
        visit = self._visit
        show_heading(visit.say("console-definition-versions"), count=len(view.versions))
        with ui.element("div").classes("def-versions").props("role=list"):
            for number, version in enumerate(view.versions):
                if self._shows_all or number < _SHOWN or version.active:
                    with ui.element("div").classes("line def-version").props("role=listitem"):
                        self._draw_version(view, version)
        if len(view.versions) > _SHOWN and not self._shows_all:
            ui.button(visit.say("console-definition-all-versions"), on_click=self._show_all).props("flat no-caps")

    async def _show_all(self) -> None:
        self._shows_all = True
        view = await load_key(self._visit, self._kind, self._key)
        if self._body is not None:
            self._body.clear()
            with self._body:
                self._draw_all(view)

    def _draw_version(self, view: KeyView, version: DefinitionVersion) -> None:
        visit, number = self._visit, version.version
        with ui.element("div").classes("def-name"):
            with ui.element("div").classes("def-under"):
                ui.label(visit.say("console-definition-number", number=number)).classes("strong")
                if version.active:
                    show_badge(visit.say("console-definition-in-force"), tone="good")
                else:
                    is_draft = version.status == "draft"
                    show_badge(
                        visit.say("console-definition-is-draft" if is_draft else "console-definition-was-published"),
                        tone="warn" if is_draft else "plain",
                    )
            if version.note:
                show_text(version.note, classes="small")
            who = name_account(visit, version.updated_by or version.author, "" if version.updated_by else version.author_name)
            sentences = [visit.say("console-definition-written", who=who, moment=visit.tr.format_time(version.updated_at))]
            if version.published_at:
                by = name_account(visit, version.published_by, version.published_by_name)
                sentences.append(visit.say("console-definition-published-by", who=by, moment=visit.tr.format_time(version.published_at)))
            ui.label(" · ".join(sentences)).classes("small muted")
        with ui.element("div").classes("def-actions"):
            self._draw_version_actions(view, version)

    def _draw_version_actions(self, view: KeyView, version: DefinitionVersion) -> None:
        visit, number, active = self._visit, version.version, view.head.active_version
        self._add_button("console-definition-open", number, lambda: self.show_version(number))
        other = active if active and active != number else number - 1
        if other > 0:
            self._add_button("console-definition-compare", number, lambda: self.show_difference(other, number), other=other)
        if view.may_edit and version.status == "published" and not version.active:
            self._add_button("console-definition-roll-back", number, lambda: self._roll_back(number))
        if view.may_publish and not version.active:
            code = "console-definition-publish-asked" if version.status == "draft" else "console-definition-back-in-force"
            publish = ui.button(visit.say(code)).props("outline dense no-caps color=primary").classes("def-publish")
            publish.props["aria-label"] = visit.say("console-definition-publish-title", number=number)
            publish.on_click(lambda: open_publishing(visit, self._kind, self._key, number, visit.feed.refresh_all))

    def _add_button(self, code: str, number: int, handler: Callable[[], Awaitable[None]], **args: object) -> None:
        button = ui.button(self._visit.say(code, **args), on_click=handler).props("flat dense no-caps")
        button.props["aria-label"] = f"{self._visit.say(code, **args)}: {self._visit.say('console-definition-number', number=number)}"

    async def _roll_back(self, number: int) -> None:
        service = self._visit.services.definitions
        try:
            note = self._visit.say("console-definition-rolled-back", number=number)
            saved = await service.roll_back(build_editor(self._visit), self._kind, self._key, number, note=note)
        except REFUSALS as error:
            tell(self._visit, explain(self._visit, error), tone="negative")
            return
        tell(self._visit, self._visit.say("console-definition-draft-made", number=saved.version.version))
        await self._visit.feed.refresh_all()

    def _draw_history(self, history: Sequence[HistoryEntry]) -> None:
        visit = self._visit
        details = ui.element("details").classes("def-history")
        with details:
            with ui.element("summary"):
                ui.label(visit.say("console-definition-history")).classes("def-summary")
            place = ui.element("div")

        def fill() -> None:
            place.clear()
            with place:
                for history_entry in history:
                    self._draw_entry(history_entry)

        details.on("toggle", fill, args=[])

    def _draw_entry(self, history_entry: HistoryEntry) -> None:
        visit = self._visit
        with ui.element("div").classes("def-entry small"):
            ui.label(visit.tr.format_time(history_entry.at)).classes("muted")
            ui.label(visit.say("console-definition-did", what=history_entry.what, number=history_entry.version)).classes("strong")
            ui.label(name_account(visit, history_entry.by, history_entry.by_name))
            if history_entry.note:
                show_text(history_entry.note, classes="muted")

    async def show_asked(self, view: KeyView) -> None:
        """A difference or a version, else the one in force, or the last."""
        numbers = {name: _read_number(self._visit.query.get(name, "")) for name in ("version", "before", "after")}
        if numbers["before"] and numbers["after"]:
            await self.show_difference(numbers["before"], numbers["after"])
        else:
            await self.show_version(numbers["version"] or view.head.active_version or view.head.last_version)

    async def show_version(self, number: int) -> None:
        service = self._visit.services.definitions
        try:
            version = await service.find_version(build_editor(self._visit), self._kind, self._key, number)
        except REFUSALS as error:
            self._show_trouble(explain(self._visit, error))
            return
        text, chart = await write_text(version), await self._draw_chart(version)
        assert self.place is not None  # noqa: S101 - the page is drawn before anything is opened in it
        self.place.clear()
        with self.place:
            if chart is not None:
                show_heading(self._visit.say("console-definition-graph", number=number))
                Canvas(self._visit, chart, name=self._visit.say("console-editor-graph-name")).classes("chart-shown")
            show_heading(self._visit.say("console-definition-text", number=number))
            text_view = ui.codemirror(text, language="YAML", theme="githubLight", line_wrapping=True).classes("def-code def-code-shown")
            text_view.disable()
            text_view.props["data-editor"] = "shown"

    async def _draw_chart(self, version: DefinitionVersion) -> Chart | None:
        """In the words of the pages of runs; None for a kind without steps."""
        visit, kind = self._visit, self._kind
        parts = await visit.services.definitions.find_parts(build_editor(visit), kind, version.document)
        chart = await asyncio.to_thread(build_definition_chart, kind, version.document, parts)
        face = find_face(kind)
        return say_chart(visit.tr, face, version.document, chart) if chart is not None and chart.boxes else None

    async def show_difference(self, before: int, after: int) -> None:
        visit, service = self._visit, self._visit.services.definitions
        try:
            editor = build_editor(visit)
            old, new = [await service.find_version(editor, self._kind, self._key, one) for one in (before, after)]
        except REFUSALS as error:
            self._show_trouble(explain(visit, error))
            return
        lines = await compare_texts(*await asyncio.to_thread(write_compared, old, new))
        assert self.place is not None  # noqa: S101 - see show_version
        self.place.clear()
        with self.place:
            show_heading(visit.say("console-diff-title", before=before, after=after))
            names = [visit.say("console-definition-number", number=number) for number in (before, after)]
            draw_diff(visit, lines, before=names[0], after=names[1])

    def _show_trouble(self, sentence: str) -> None:
        assert self.place is not None  # noqa: S101 - see show_version
        self.place.clear()
        with self.place:
            ui.label(sentence).props("role=alert")


def _read_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER else 0
