"""The canvas, the text, or both; beside them what is pressed: the form, findings and the trial."""

import json
from collections.abc import Callable
from typing import Final

from nicegui import ui

from bot.console.definitions.canvas_view import CanvasView
from bot.console.definitions.document import EditedDocument
from bot.console.definitions.findings_list import draw_findings
from bot.console.definitions.form.form_view import FormView
from bot.console.definitions.last_run import LastRun, LastRunPanel
from bot.console.definitions.text_editor import TextEditor
from bot.console.definitions.trial_panel import TrialPanel
from bot.console.kept_texts import KeptTexts
from bot.console.visit import Visit
from bot.console.widgets import show_badge
from bot.plugins.kind_face import KIND_FACE
from bot.plugins.loading import find_part_of_kind
from bot.rehearsing.trial_face import TRIAL_FACE
from orchestrator.domain.finding import Finding, Path

_CHART: Final = "chart"
_TEXT: Final = "text"
_BOTH: Final = "both"
_VIEWS: Final = (_CHART, _TEXT, _BOTH)
_FINDINGS: Final = "findings"
_FORM: Final = "form"
_RUN: Final = "run"
"""The last one, which stays open from step to step."""
_ENTER_FORM: Final = "setTimeout(() => document.querySelector('.def-panels .form input, .def-panels .form textarea')?.focus(), 150)"
_SHOW_PANEL: Final = "setTimeout(() => document.querySelector('.def-right').scrollIntoView({block: 'nearest'}), 100)"


class Workspace:
    def __init__(self, visit: Visit, document: EditedDocument, *, save: Callable[[], object], kept: KeptTexts) -> None:
        self._visit, self._document = visit, document
        self._shown: tuple[tuple[Finding, ...], bool] | None = None
        face = find_part_of_kind(KIND_FACE, document.kind)
        steps = face.steps if face is not None else None
        self._last = LastRun(visit, document.kind)
        self._run_panel = LastRunPanel(visit, self._last, document.key)
        self._view = visit.query.get("view", _CHART) if steps is not None else _TEXT
        if self._view not in _VIEWS:
            self._view = _CHART
        self._canvas: CanvasView | None = None
        with ui.element("div").classes("def-bar"):
            if steps is not None:
                views = {view: visit.say(f"console-editor-view-{view}") for view in _VIEWS}
                self._views = ui.toggle(views, value=self._view, on_change=self._change_view).props("dense no-caps").classes("def-views")
            self._draw_tabs()
        self._area = ui.element("div").classes("def-editor")
        with self._area:
            chart = ui.element("div").classes("def-chart")
            with ui.element("div").classes("def-left"):
                self._editor = TextEditor(visit, document, save=save, kept_texts=kept)
            self._draw_panel()
            if steps is not None:
                with chart:
                    self._canvas = CanvasView(
                        visit,
                        document,
                        steps,
                        self._last,
                        code=self._editor.code,
                        show_step=self._show_step,
                        follow_step=self.form.show_only,
                        enter_step=self._enter_form,
                    )
        self._tabs.on_value_change(self._change_panel)
        document.on_checked(self._show_checked)
        if self._view == _TEXT:
            self._tabs.set_value(_FINDINGS)
        self._lay_out()

    def _draw_tabs(self) -> None:
        visit = self._visit
        with ui.tabs().props("no-caps dense align=left inline-label").classes("def-tabs") as self._tabs:
            ui.tab(_FORM, label=visit.say("console-editor-form"))
            self._findings_tab = ui.tab(_FINDINGS, label=visit.say("console-editor-findings", count=0))
            if find_part_of_kind(TRIAL_FACE, self._document.kind) is not None:
                ui.tab("trial", label=visit.say("console-trial"))
            if self._last.is_possible:
                ui.tab(_RUN, label=visit.say("console-editor-run"))

    def _draw_panel(self) -> None:
        visit, document = self._visit, self._document
        with ui.element("div").classes("def-right"):
            close = ui.button(icon="close", on_click=lambda: self._tabs.set_value(None)).props("flat dense round").classes("def-close")
            close.props["aria-label"] = visit.say("console-editor-close")
            with ui.tab_panels(self._tabs, animated=False, keep_alive=True).classes("def-panels"):
                with ui.tab_panel(_FORM):
                    self.form = FormView(visit, document, self._go_to)
                with ui.tab_panel(_FINDINGS):
                    self._findings = ui.element("div").props("aria-live=polite")
                if find_part_of_kind(TRIAL_FACE, document.kind) is not None:
                    with ui.tab_panel("trial"):
                        TrialPanel(visit, document)
                if self._last.is_possible:
                    self._run_tab = ui.tab_panel(_RUN)

    async def begin(self) -> None:
        """What takes a moment: the last run, whose news it follows from now on."""
        if not self._last.is_possible:
            return
        with self._run_tab:
            await self._run_panel.draw()
        if self._canvas is not None:
            await self._canvas.follow_run()
            self._visit.follow(self._canvas.follow_run)

    def _change_view(self) -> None:
        """A page that is loaded anew shows the same."""
        self._view = str(self._views.value)
        if self._view == _TEXT and self._tabs.value is None:
            self._tabs.set_value(_FINDINGS)
        self._lay_out()
        self._visit.page.run_javascript(
            f"(u => {{ u.searchParams.set('view', {json.dumps(self._view)});"
            " history.replaceState(history.state, '', u); })(new URL(location))"
        )

    async def _change_panel(self) -> None:
        self._lay_out()
        if self._tabs.value is not None:
            self._visit.page.run_javascript(_SHOW_PANEL)
        if self._tabs.value == _FORM:
            await self.form.open()

    def _lay_out(self) -> None:
        self._area.classes(replace=f"def-editor view-{self._view}{' has-panel' if self._tabs.value is not None else ''}")

    async def _show_step(self, path: Path) -> None:
        """Beside the canvas; its line in the text, too."""
        self.form.show_only(path)
        if not path:
            return
        self._editor.reveal(self._document.find_line(path))
        if self._tabs.value != _RUN:
            self._tabs.set_value(_FORM)
        await self.form.open()
        if self._canvas is not None and self._last.is_possible:
            await self._run_panel.show(self._canvas.name_step())

    def _enter_form(self) -> None:
        self._visit.page.run_javascript(_ENTER_FORM)

    def _go_to(self, line: int) -> None:
        if self._view == _CHART:
            self._views.set_value(_BOTH)
        self._editor.go_to(line)

    def _go_to_finding(self, finding: Finding) -> None:
        """To its step and to its line."""
        if self._canvas is not None and self._view != _TEXT and self._canvas.reveal(finding):
            self._editor.go_to(finding.line)
        else:
            self._go_to(finding.line)

    def _show_checked(self) -> None:
        visit, findings, is_unknown = self._visit, self._document.findings, self._document.is_unknown
        if (findings, is_unknown) == self._shown:
            return
        self._shown = findings, is_unknown
        self._findings_tab.props["label"] = visit.say("console-editor-findings", count=len(findings))
        self._findings.clear()
        with self._findings:
            if is_unknown:
                show_badge(visit.say("console-editor-unchecked"), tone="warn")
            elif not findings:
                show_badge(visit.say("author-good"), tone="good")
            draw_findings(visit, findings, on_click=self._go_to_finding)
