"""The editor: canvas, text with live findings, form and trial; saving makes a draft."""

import asyncio
from typing import Final

from nicegui import ui

from bot.console.definitions.conflict import name_writer
from bot.console.definitions.document import FORMATS, Check, EditedDocument, has_comments
from bot.console.definitions.others_text import OthersText
from bot.console.definitions.publishing import Details, PublishDialog, Saver, SomebodyWasFirst, load_verdict, says_title
from bot.console.definitions.templates import PARAMETER, find_template
from bot.console.definitions.work import (
    REFUSALS,
    ROOT,
    build_editor,
    build_path,
    explain,
    find_title,
    is_same_text,
    reading,
    submit_text,
    write_text,
)
from bot.console.definitions.workspace import Workspace
from bot.console.kept_texts import KeptTexts
from bot.console.static_files import build_style_link
from bot.console.visit import Visit
from bot.console.widgets import ask_first, cut_text, show_badge, show_text, tell
from bot.http_api.server.errors import ApiError
from bot.plugins.definition_text import write_ordered
from bot.plugins.kind_face import build_start
from orchestrator.definitions.checking import Checked
from orchestrator.definitions.service import Saved
from orchestrator.documents.document import DocumentFormat
from orchestrator.domain.finding import DefinitionRefused
from state.model.definitions import DefinitionVersion

_FORBIDDEN: Final = 403
_TRIES: Final = 5
"""Others may save while theirs is brought in."""
_LOOK_EVERY: Final = 4.0
"""Seconds: a command in a terminal tells the pages of nothing."""


async def show_editor(visit: Visit) -> None:
    """The editor of its draft, without one of its last version."""
    kind, key = visit.params["kind"], visit.params["key"]
    with reading():
        _check_rights(visit, kind)
        base = await visit.services.definitions.find_version(build_editor(visit), kind, key)
        text = await write_text(base)
    await _draw_editor(visit, EditedDocument(kind, key, text, check=_build_check(visit), base=base))


async def show_new(visit: Visit) -> None:
    kind = visit.params["kind"]
    with reading():
        _check_rights(visit, kind)
        template = find_template(kind, visit.query.get(PARAMETER, ""))
        text = template.text if template is not None else await asyncio.to_thread(write_ordered, kind, build_start(visit.say, kind))
    await _draw_editor(visit, EditedDocument(kind, "", text, check=_build_check(visit)))


def _check_rights(visit: Visit, kind: str) -> None:
    if not visit.services.definitions.may(build_editor(visit), kind, "edit"):
        raise ApiError(_FORBIDDEN, "not_allowed", "The person may not edit definitions of this kind.")


def _build_check(visit: Visit) -> Check:
    async def check(document: EditedDocument) -> Checked:
        submission = submit_text(document.text, document.format)
        return await visit.services.definitions.check(build_editor(visit), document.kind, document.key or None, submission)

    return check


async def _draw_editor(visit: Visit, document: EditedDocument) -> None:
    for name in ("form", "runs"):
        ui.add_head_html(build_style_link(f"{name}.css"))
    visit.page.on_delete(document.close)
    page = _EditorPage(visit, document)
    document.check_soon()
    await page.work.begin()


class _EditorPage:
    def __init__(self, visit: Visit, document: EditedDocument) -> None:
        self._visit, self._document = visit, document
        self._saver = Saver(visit, document)
        self._is_saving = False
        self._kept = KeptTexts(visit, name=f"{document.kind}/{document.key}")
        self._questions = ui.element("div")
        self._draw_head()
        self._newer = ui.element("div").props("aria-live=assertive")
        self._others = OthersText(visit, document, self._title, self._kept, save=self._save, forget_newer=self._forget_newer)
        self._told_of: tuple[int, int] = (0, 0)
        """Version and revision of somebody else that the person was told of."""
        self.work = Workspace(visit, document, save=self.save, kept=self._kept)
        document.on_text(self._show_status)
        self._show_status()
        if document.base is not None:
            visit.follow(self._look_for_newer)
            ui.timer(_LOOK_EVERY, self._look_for_newer, immediate=False)

    def _draw_head(self) -> None:
        visit, document = self._visit, self._document
        is_new = document.base is None
        with ui.element("div").classes("def-title"):
            with ui.element("div").classes("def-name"):
                back = ROOT if is_new else build_path(document.kind, document.key)
                ui.link(visit.say("console-definitions-back" if is_new else "console-editor-back"), back).classes("small")
                title = find_title(document.base) if document.base is not None else visit.say("console-editor-new")
                ui.label(cut_text(title, limit=200)).classes("def-big text").props("role=heading aria-level=2 dir=auto")
                with ui.element("div").classes("def-under"):
                    ui.label(visit.say("console-definition-kind", kind=document.kind)).classes("muted small")
                    ui.label(document.key).classes("muted mono")
                    self._status = ui.element("div").classes("def-status").props("aria-live=polite")
            ui.space()
            with ui.element("div").classes("def-actions"):
                formats = {one: one.upper() for one in FORMATS}
                self._format = ui.toggle(formats, value=document.format, on_change=self._change_format).props("dense no-caps")
                self._save_button = ui.button(visit.say("console-editor-save"), icon="save", on_click=self.save)
                self._save_button.props("unelevated no-caps color=primary")
                if visit.services.definitions.may(build_editor(visit), document.kind, "publish"):
                    ui.button(visit.say("console-definition-publish-asked"), on_click=self._publish).props("outline no-caps")
        self._draw_fields()

    def _draw_fields(self) -> None:
        visit, document = self._visit, self._document
        kind = visit.services.definitions.find_kind(document.kind)
        with ui.element("div").classes("def-fields"):
            self._key = ui.input(
                visit.say("console-editor-key"), value=visit.query.get(PARAMETER, "") if document.base is None else ""
            ).props("outlined dense maxlength=64")
            self._key.set_visibility(document.base is None and not kind.key_field)
            self._title = ui.input(visit.say("console-editor-title"), value=document.title)
            self._title.props("outlined dense maxlength=200")
            if says_title(kind):
                self._title.set_visibility(False)
            else:
                self._kept.watch_beside(self._title, document.title)
                self._title.on_value_change(lambda event: self._take_title(str(event.value or "")))
            self._note = ui.input(visit.say("console-definition-note")).props("outlined dense maxlength=500").classes("def-note")

    def _take_title(self, title: str) -> None:
        self._document.title = title.strip()
        self._show_status()

    def _show_status(self) -> None:
        visit, document = self._visit, self._document
        self._status.clear()
        with self._status:
            if not document.is_saved or document.base is None:
                show_badge(visit.say("console-editor-unsaved"), tone="warn")
            elif self._newer.default_slot.children:
                show_badge(visit.say("console-editor-not-last"), tone="warn")
            elif document.base.status == "draft":
                show_badge(visit.say("console-editor-saved", number=document.base.version), tone="good")
            else:
                show_badge(visit.say("console-editor-published", number=document.base.version))

    async def _change_format(self) -> None:
        """Asks before comments are lost."""
        document, text_format = self._document, self._format.value
        if text_format == document.format:
            return
        if await asyncio.to_thread(has_comments, document.text, document.format):
            self._format.set_value(document.format)
            self._ask_format(text_format)
            return
        await self._write_format(text_format)

    def _ask_format(self, text_format: DocumentFormat) -> None:
        visit = self._visit

        async def go_on() -> None:
            await self._write_format(text_format)

        ask_first(
            visit,
            self._questions,
            visit.say("console-form-comments"),
            visit.say("console-form-go-on"),
            go_on,
            draw=lambda: show_text(visit.say("console-editor-comments-lost", format=text_format.upper())),
        )

    async def _write_format(self, text_format: DocumentFormat) -> None:
        """One that cannot be read stays as it is."""
        if not await self._document.change_format(text_format):
            tell(self._visit, self._visit.say("console-editor-unreadable"), tone="warning")
        self._format.set_value(self._document.format)

    def _read_details(self) -> Details:
        key, title, note = (str(one.value or "").strip() for one in (self._key, self._title, self._note))
        return Details(key=key, title=title, note=note)

    async def save(self) -> None:
        """As a draft; with what others have saved since, unless both changed one thing: then the person chooses."""
        self._others.forget()
        await self._save()

    async def _save(self) -> None:
        if self._is_saving:
            return
        self._is_saving = True
        try:
            await self._document.settle()
            for _ in range(_TRIES):
                if await self._store():
                    break
        finally:
            self._is_saving = False

    async def _store(self) -> bool:
        """False if it is to be tried again, with what somebody else has saved."""
        text, details = self._document.text, self._read_details()
        try:
            saved = await self._saver.save(details)
        except SomebodyWasFirst as error:
            return not await self._others.bring_in(error.present, is_saving=True)
        except DefinitionRefused as error:
            self._document.take_findings(error.findings)
            tell(self._visit, explain(self._visit, error), tone="negative")
        except REFUSALS as error:
            tell(self._visit, explain(self._visit, error), tone="negative")
        else:
            self._take_saved(saved, text, details.title)
        return True

    def _take_saved(self, saved: Saved, text: str, title: str) -> None:
        document, version = self._document, saved.version
        is_new = document.base is None
        document.base, document.saved_text, document.saved_title = version, text, title
        tell(self._visit, self._visit.say("console-editor-is-saved", number=version.version))
        if left := self.work.form.count_refused():
            tell(self._visit, self._visit.say("console-editor-left-out", count=left), tone="warning")
        if is_new:
            path = build_path(version.kind, version.key, "edit")
            self._kept.tell_stored(text, name=f"{version.kind}/{version.key}", path=path)
            return
        self._kept.tell_saved(text, beside=title)
        self._note.set_value("")
        self._forget_newer()

    async def _publish(self) -> None:
        """What is not stored, or was replaced since, cannot be published."""
        await self._document.settle()
        visit, base = self._visit, self._document.base
        if base is None or not self._document.is_saved:
            tell(visit, visit.say("console-editor-save-first"), tone="warning")
            return
        try:
            verdict = await load_verdict(visit, base.kind, base.key, base.version)
        except REFUSALS as error:
            tell(visit, explain(visit, error), tone="negative")
            return
        if not is_same_text(verdict.version, base):
            if await self._others.bring_in(verdict.version):
                tell(visit, visit.say("console-definition-stale"), tone="warning")
            return
        with visit.page:
            PublishDialog(visit, verdict, self._look_for_newer)

    async def _look_for_newer(self) -> None:
        """The page knows of a publication of its own text, too."""
        visit, document = self._visit, self._document
        base = document.base
        if base is None or self._is_saving or visit.is_away or visit.page.is_deleted or visit.is_over:
            return
        try:
            now = await visit.services.definitions.find_version(build_editor(visit), base.kind, base.key)
        except REFUSALS:
            return  # whoever saves or publishes is told
        if self._is_saving or document.base is not base:
            return
        if now.version == base.version and is_same_text(now, base):
            document.base = now
            self._forget_newer()
        elif (now.version, now.revision) not in {(base.version, base.revision), self._told_of}:
            self._tell_of_newer(now)

    def _tell_of_newer(self, now: DefinitionVersion) -> None:
        visit = self._visit
        self._told_of = now.version, now.revision
        self._newer.clear()

        async def bring_in() -> None:
            await self._others.bring_in(now)

        with self._newer, ui.element("div").classes("def-trouble def-newer"):
            sentence = visit.say(
                "console-editor-newer", who=name_writer(visit, now), number=now.version, moment=visit.tr.format_time(now.updated_at)
            )
            ui.label(sentence).props("role=alert")
            ui.button(visit.say("console-merge-put"), on_click=bring_in).props("outline dense no-caps")
        self._show_status()

    def _forget_newer(self) -> None:
        self._told_of = 0, 0
        self._newer.clear()
        self._show_status()
