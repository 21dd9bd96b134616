"""Stores the editor's text as a draft, and publishes: what changes, what the server finds, who may, and what if somebody was first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from nicegui import ui

from bot.console.definitions.document import EditedDocument
from bot.console.definitions.findings_list import draw_findings
from bot.console.definitions.work import (
    REFUSALS,
    build_editor,
    explain,
    is_same_text,
    name_account,
    submit_stored,
    submit_text,
    write_text,
)
from bot.console.diffing import DiffLine, compare_texts, draw_diff
from bot.console.runs.starting import list_choices
from bot.console.visit import Visit
from bot.console.widgets import show_badge, show_text, tell
from bot.plugins.definition_text import write_compared
from orchestrator.definitions.checking import Checked, Submission
from orchestrator.definitions.kinds import DefinitionKind, find_no_title
from orchestrator.definitions.rules import Editor
from orchestrator.definitions.service import DefinitionService, Saved
from orchestrator.definitions.sources import has_same_data
from orchestrator.domain.finding import DefinitionRefused, has_errors
from state.model.definitions import DefinitionMissing, DefinitionVersion, NotADraft, StaleRevision


class SomebodyWasFirst(Exception):
    """`present` is how the definition is now."""

    def __init__(self, present: DefinitionVersion) -> None:
        super().__init__(f"{present.kind}/{present.key} is version {present.version}, revision {present.revision} by now")
        self.present = present


@dataclass(frozen=True, kw_only=True)
class Details:
    key: str = ""
    """Of something new, where the document does not say it."""
    title: str = ""
    note: str = ""


def says_title(kind: DefinitionKind) -> bool:
    return kind.find_title is not find_no_title


class Saver:
    def __init__(self, visit: Visit, document: EditedDocument) -> None:
        """With the rights of the person."""
        self._visit, self._document = visit, document

    @property
    def _service(self) -> DefinitionService:
        return self._visit.services.definitions

    async def save(self, details: Details) -> Saved:
        """As a draft. Raises SomebodyWasFirst, with nothing stored, and what the service raises."""
        base = self._document.base
        return await (self._create_key(details) if base is None else self.save_over(base, details))

    async def save_over(self, present: DefinitionVersion, details: Details) -> Saved:
        """In place of a draft's text, otherwise as the next version. Raises as `save`, also if there is a later one."""
        submission = self._submit(details)
        if present.status == "draft":
            return await self._replace(present, submission)
        return await self._create(present.key, submission, after=present.version)

    async def _create_key(self, details: Details) -> Saved:
        """A key that is there already is none of it."""
        kind, editor, submission = self._service.find_kind(self._document.kind), build_editor(self._visit), self._submit(details)
        checked = await self._service.check(editor, kind.name, details.key or None, submission)
        data = checked.read.data if checked.read is not None else None
        stated_key = data.get(kind.key_field) if kind.key_field and isinstance(data, dict) else ""
        key = details.key or (stated_key if isinstance(stated_key, str) else "")
        if key and (present := await self._find(editor, key)) is not None:
            raise SomebodyWasFirst(present)
        return await self._create(details.key or ("" if not kind.key_field else None), submission, after=0)

    async def _find(self, editor: Editor, key: str) -> DefinitionVersion | None:
        try:
            return await self._service.find_version(editor, self._document.kind, key)
        except DefinitionMissing:
            return None

    async def _create(self, key: str | None, submission: Submission, *, after: int) -> Saved:
        editor, kind = build_editor(self._visit), self._document.kind
        try:
            return await self._service.create(editor, kind, key, submission, after=after)
        except StaleRevision as error:
            raise SomebodyWasFirst(await self._service.find_version(editor, kind, error.present.key)) from None

    async def _replace(self, base: DefinitionVersion, submission: Submission) -> Saved:
        editor = build_editor(self._visit)
        try:
            return await self._service.save(editor, base.kind, base.key, base.version, submission, expected=base.revision)
        except (StaleRevision, NotADraft):
            raise SomebodyWasFirst(await self._service.find_version(editor, base.kind, base.key)) from None

    def _submit(self, details: Details) -> Submission:
        document = self._document
        return submit_text(document.text, document.format, title=self._find_title(details), note=details.note)

    def _find_title(self, details: Details) -> str | None:
        """What its engine calls it if it has no title."""
        if details.title or (self._document.base is not None and self._document.base.title):
            return details.title or None
        kind, engines = self._document.kind, self._visit.services.engines.runs.values()
        engine = next((one for one in engines if one.kind is not None and one.kind.name == kind), None)
        return engine.describe(self._document.data)[0] if engine is not None else None


Done = Callable[[], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a version changes, and what the server says of it."""

    version: DefinitionVersion
    active: int
    """0 for none."""
    lines: Sequence[DiffLine]
    checked: Checked
    is_same: bool = False
    """Only comments, order or spacing differ from what is in force."""
    is_newer: bool = False
    """`lines` say what somebody has changed since, not what the publication changes."""

    @property
    def is_right(self) -> bool:
        """Nothing keeps it from being published."""
        return not has_errors(self.checked.findings)


async def load_verdict(visit: Visit, kind: str, key: str, number: int) -> Verdict:
    """Raises what the service of definitions raises."""
    service, editor = visit.services.definitions, build_editor(visit)
    head = await service.find_key(editor, kind, key)
    version = await service.find_version(editor, kind, key, number)
    before = await service.find_version(editor, kind, key, head.active_version) if head.active_version else None
    texts = await asyncio.to_thread(write_compared, before, version) if before is not None else ("", await write_text(version))
    checked = await service.check(editor, kind, key, submit_stored(version))
    is_same = before is not None and has_same_data(before, version, service.find_kind(kind).number_field)
    return Verdict(version=version, active=head.active_version, lines=await compare_texts(*texts), checked=checked, is_same=is_same)


class PublishDialog:
    """It publishes what it has shown: the revision compared, in place of the version then in force."""

    def __init__(self, visit: Visit, verdict: Verdict, done: Done) -> None:
        """`done` is called after the publication."""
        self._visit, self._verdict, self._done = visit, verdict, done
        self._trouble = ""
        self._is_busy = False
        """One more press means nothing."""
        self._dialog = ui.dialog()
        with self._dialog, ui.card().classes("def-dialog"):
            self._body = ui.element("div").classes("def-dialog-body")
            self.note = ui.input(visit.say("console-definition-note")).props("outlined dense maxlength=500").classes("full")
            with ui.element("div").classes("def-actions"):
                ui.button(visit.say("console-close"), on_click=self._dialog.close).props("flat no-caps")
                self._button = ui.button(visit.say("console-definition-publish"), on_click=self.publish)
                self._button.props("unelevated no-caps color=primary")
        self._draw()
        self._dialog.open()

    def _draw(self) -> None:
        visit, verdict = self._visit, self._verdict
        number = verdict.version.version
        self._body.clear()
        with self._body:
            ui.label(visit.say("console-definition-publish-title", number=number)).classes("heading").props("role=heading aria-level=2")
            if self._trouble:
                ui.label(self._trouble).classes("def-trouble").props("role=alert")
            _draw_verdict(visit, verdict)
            active = visit.say("console-definition-number", number=verdict.active) if verdict.active else visit.say("console-diff-nothing")
            before, after = visit.say("console-diff-seen"), visit.say("console-diff-now")
            if not verdict.is_newer:
                before, after = active, visit.say("console-definition-number", number=number)
            if verdict.is_same and verdict.lines and not verdict.is_newer:
                show_text(visit.say("console-definition-only-comments"))
            draw_diff(visit, verdict.lines, before=before, after=after)
        self._button.set_enabled(verdict.is_right)

    async def publish(self) -> None:
        """If it, or what is in force, has changed since, shows how that is now."""
        if self._is_busy:
            return
        self._is_busy = True
        try:
            self._is_busy = await self._publish()
        except BaseException:
            self._is_busy = False
            raise

    async def _publish(self) -> bool:
        version, over = self._verdict.version, self._verdict.active
        service, note = self._visit.services.definitions, str(self.note.value or "")
        try:
            editor = build_editor(self._visit)
            await service.publish(editor, version.kind, version.key, version.version, expected=version.revision, over=over, note=note)
        except StaleRevision as error:
            await self._show_newer(error)
            return False
        except DefinitionRefused as error:
            self._trouble = explain(self._visit, error)
            self._verdict = replace(self._verdict, checked=Checked(findings=error.findings))
            self._draw()
            return False
        except REFUSALS as error:
            self._trouble = explain(self._visit, error)
            self._draw()
            return False
        self._dialog.close()
        tell(self._visit, self._visit.say("console-definition-is-published", number=version.version))
        await self._done()
        await _offer_start(self._visit, version.kind, version.key)
        return True

    async def _show_newer(self, error: StaleRevision) -> None:
        """Against what the person has seen, or what is in force by now."""
        seen = self._verdict.version
        now = await load_verdict(self._visit, seen.kind, seen.key, seen.version)
        if is_same_text(now.version, seen) and now.active != self._verdict.active:
            self._trouble = self._visit.say("console-definition-publish-other", number=now.active)
            self._verdict = now
            self._draw()
            return
        who = name_account(self._visit, now.version.updated_by or error.present.updated_by)
        self._trouble = self._visit.say("console-definition-publish-stale", who=who)
        lines = await compare_texts(*await asyncio.to_thread(write_compared, seen, now.version))
        self._verdict = replace(now, lines=lines, is_newer=True) if lines else now
        self._draw()


def _draw_verdict(visit: Visit, verdict: Verdict) -> None:
    checked = verdict.checked
    with ui.element("div").classes("def-verdict"):
        if not verdict.is_right:
            show_badge(visit.say("console-definition-verdict-wrong"), tone="bad")
        elif checked.critical == ():
            show_badge(visit.say("console-definition-verdict-good"), tone="good")
        else:
            show_badge(visit.say("console-definition-verdict-two"), tone="warn")
            methods = ", ".join(checked.critical or ())
            show_text(
                visit.say("console-definition-two" if methods else "console-definition-two-unknown", methods=methods), classes="small"
            )
    draw_findings(visit, checked.findings)


async def _offer_start(visit: Visit, kind: str, key: str) -> None:
    """Nothing for what this person cannot start."""
    if visit.page.is_deleted or not any((one.engine, one.key) == (kind, key) for one in await list_choices(visit)):
        return
    with visit.page, ui.dialog(value=True) as dialog, ui.card().classes("ask"):
        ui.label(visit.say("console-definition-start-now")).classes("strong").props("role=heading aria-level=2")
        with ui.element("div").classes("acts"):
            ui.button(visit.say("console-definition-start-later"), on_click=dialog.close, color=None).props("flat no-caps")
            address = "/runs?" + urlencode({"start": f"{kind}/{key}"})
            start = ui.button(visit.say("console-runs-start"), icon="play_arrow", on_click=lambda: visit.page.open(address), color=None)
            start.props("unelevated no-caps").classes("act-main")


async def open_publishing(visit: Visit, kind: str, key: str, number: int, done: Done) -> None:
    """Opens the dialog, or says why it cannot be shown."""
    try:
        verdict = await load_verdict(visit, kind, key, number)
    except REFUSALS as error:
        tell(visit, explain(visit, error), tone="negative")
        return
    with visit.page:
        PublishDialog(visit, verdict, done)
