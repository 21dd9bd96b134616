"""The policy file: checked, rehearsed, and saved if nobody else changed it. The browser keeps unsaved text.

Recorded plans are decided by the editor's text and by the policy in force.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from nicegui import background_tasks, ui

from bot.console.diffing import draw_diff, list_diff
from bot.console.kept_texts import KeptTexts
from bot.console.policy.words import format_reasons, name_call
from bot.console.visit import Visit
from bot.console.widgets import build_panel, show_badge, show_empty, show_heading, show_text
from bot.policy.policy_file import LONGEST, PolicyFileChanged, PolicyText
from orchestrator.reports.policy_check import CheckedPolicy
from orchestrator.reports.rehearsal.comparison import ChangedStep, Comparison
from orchestrator.reports.rehearsal.rehearse import RehearsedVerdict

_DAYS: Final = (7, 30, 90)
_SHOWN: Final = 100
_TONES: Final[dict[RehearsedVerdict, str]] = {"allowed": "good", "asked": "warn", "refused": "bad"}

TakeChecked = Callable[[], Awaitable[CheckedPolicy]]


class RehearsalView:
    """One rehearsal at a time."""

    def __init__(self, visit: Visit, take_checked: TakeChecked) -> None:
        """`take_checked` returns the verdict on the text to be tried."""
        self._visit, self._take_checked = visit, take_checked
        self._running: asyncio.Task[Comparison] | None = None
        show_heading(visit.say("console-policy-rehearsal"))
        ui.label(visit.say("console-policy-rehearsal-why")).classes("muted")
        with ui.element("div").classes("policy-actions"):
            days = {number: visit.say("console-policy-days", count=number) for number in _DAYS}
            self._days = ui.select(days, value=_DAYS[1], label=visit.say("console-policy-period")).props("outlined dense")
            self._begin = ui.button(visit.say("console-policy-try"), icon="fact_check", on_click=self.run).props("outline no-caps")
            self._end = ui.button(visit.say("console-policy-stop"), on_click=self._stop).props("flat no-caps")
        self._bar = ui.linear_progress(value=0, show_value=False).props(f'aria-label="{visit.say("console-policy-progress")}"')
        self._said = ui.label("").classes("muted small").props("role=status aria-live=polite")
        self._found = ui.element("div")
        self._bar.set_visibility(False)
        self._end.set_visibility(False)
        visit.page.on_delete(self._stop)

    def _stop(self) -> None:
        if self._running is not None:
            self._running.cancel()

    async def run(self) -> None:
        visit = self._visit
        if visit.actor.role != "admin" or (self._running is not None and not self._running.done()):
            return
        checked = await self._take_checked()
        if checked.loaded is None:
            ui.notify(visit.say("console-policy-try-wrong"), type="warning")
            return
        self._show_running(True)
        desk, days = visit.services.policy, int(self._days.value or _DAYS[1])
        self._running = asyncio.create_task(desk.rehearse(checked, days=days, show=self._show_progress))
        try:
            await asyncio.wait([self._running])
            if self._running.cancelled():
                self._said.set_text(visit.say("console-policy-stopped"))
                return
            self._show_found(self._running.result())
        finally:
            self._show_running(False)

    def _show_running(self, running: bool) -> None:  # noqa: FBT001 - as the elements take it
        self._bar.set_value(0)
        self._bar.set_visibility(running)
        self._end.set_visibility(running)
        self._begin.set_enabled(not running)

    def _show_progress(self, known: Comparison) -> None:
        self._bar.set_value(known.read / max(known.streams, 1))
        sentence = self._visit.say("console-policy-reading", steps=known.steps, changed=known.changed)
        self._said.set_text(sentence)

    def _show_found(self, comparison: Comparison) -> None:
        visit = self._visit
        self._said.set_text(
            visit.say("console-policy-read", plans=comparison.plans, steps=comparison.steps, cut="yes" if comparison.is_cut else "no")
        )
        self._found.clear()
        with self._found:
            if not comparison.steps:
                show_empty(visit.say("console-policy-no-plans"))
                return
            if not comparison.changed:
                show_empty(visit.say("console-policy-no-change"))
                return
            self._show_sums(comparison)
            with ui.element("div").props("role=list"):
                for change in comparison.changes[:_SHOWN]:
                    _show_change(visit, change)
            if comparison.changed > _SHOWN:
                ui.label(visit.say("console-policy-more", count=comparison.changed - _SHOWN)).classes("muted")

    def _show_sums(self, comparison: Comparison) -> None:
        with build_panel().classes("policy-sums"):
            for (before, after), count in comparison.verdicts.most_common():
                if before != after:
                    words = self._visit.say("console-policy-moved", before=_to_code(before), after=_to_code(after), count=count)
                    show_badge(words, tone=_TONES.get(after, "plain"))
            other = comparison.changed - sum(count for (before, after), count in comparison.verdicts.items() if before != after)
            if other:
                show_badge(self._visit.say("console-policy-otherwise", count=other))


def _show_change(visit: Visit, change: ChangedStep) -> None:
    with ui.element("div").classes("line policy-change").props("role=listitem"):
        ui.label(visit.tr.format_time(change.at)).classes("muted small")
        show_text(name_call(visit, change.method), classes="strong")
        show_text(change.person, classes="muted")
        show_badge(visit.say("console-policy-verdict", verdict=_to_code(change.before)))
        ui.label("→").props(f'aria-label="{visit.say("console-policy-becomes")}"')
        show_badge(visit.say("console-policy-verdict", verdict=_to_code(change.after)), tone=_TONES.get(change.after, "plain"))
        if reasons := format_reasons(visit, change.reasons):
            show_text(reasons, classes="small policy-why")


def _to_code(verdict: RehearsedVerdict) -> str:
    return verdict.replace(" ", "-")


_PAUSE: Final = 0.3
"""Seconds without typing."""
_TAKEN_WITHIN: Final = 12
"""Looks, half a second apart, whether the saved policy is in force."""
_MOST_MISTAKES: Final = 50


async def draw_editor(visit: Visit, file: PolicyText) -> None:
    editor = PolicyEditor(visit, file)
    await editor.check()


class PolicyEditor:
    """Knows from which text it was made, so that it never overwrites another."""

    def __init__(self, visit: Visit, file: PolicyText) -> None:
        self._visit, self._file = visit, file
        self._typed = 0
        self._checked: CheckedPolicy | None = None
        self._is_saving = False
        self._kept = KeptTexts(visit, name=file.name)
        show_heading(visit.say("console-policy-file", name=file.name))
        with ui.element("div").classes("policy-editor"):
            with ui.element("div").classes("policy-code") as box:
                self._kept.follow(box, longest=4 * LONGEST, most=LONGEST)
                self._code = ui.codemirror(
                    file.text, language="YAML", theme="githubLight", indent="  ", line_wrapping=True, on_change=self._follow
                )
            with ui.element("div").classes("policy-side"):
                self._verdict = ui.element("div").props("role=status aria-live=polite")
                self._state = ui.label("").classes("muted small").props("role=status aria-live=polite")
                with ui.element("div").classes("policy-actions"):
                    self._save_button = ui.button(visit.say("console-policy-save"), icon="save", on_click=self.save)
                    self._save_button.props("unelevated no-caps color=primary")
                    ui.button(visit.say("console-policy-undo"), icon="undo", on_click=self._take_file).props("flat no-caps")
        self._difference = ui.element("div")
        self._rehearsal = RehearsalView(visit, self._take_checked)

    @property
    def text(self) -> str:
        return str(self._code.value or "")

    async def _follow(self) -> None:
        """After a pause in typing."""
        self._typed += 1
        mine = self._typed
        self._save_button.disable()
        await asyncio.sleep(_PAUSE)
        if mine == self._typed:
            await self.check()

    async def check(self) -> CheckedPolicy:
        text, mine = self.text, self._typed
        checked = await self._visit.services.policy.check(text)
        if mine == self._typed:
            self._checked = checked
            self._show_verdict(checked, is_changed=text != self._file.text)
        return checked

    async def _take_checked(self) -> CheckedPolicy:
        return await self.check()

    def _show_verdict(self, checked: CheckedPolicy, *, is_changed: bool) -> None:
        self._verdict.clear()
        visit = self._visit
        with self._verdict:
            if checked.loaded is not None:
                ui.label(visit.say("console-policy-right", rules=len(checked.loaded.policy.rules), digest=checked.digest)).classes("good")
                if checked.needs_restart:
                    ui.label(visit.say("console-policy-restart")).classes("warn")
            else:
                ui.label(visit.say("console-policy-wrong", count=len(checked.mistakes))).classes("bad strong")
                self._show_mistakes(checked)
        marks = [{"kind": "line", "line": mistake.line, "class": "cm-mistake"} for mistake in checked.mistakes if mistake.line]
        self._code.run_method("setDecorations", marks)
        self._save_button.set_enabled(checked.loaded is not None and is_changed)

    def _show_mistakes(self, checked: CheckedPolicy) -> None:
        for mistake in checked.mistakes[:_MOST_MISTAKES]:
            with ui.element("div").classes("policy-mistake"):
                if mistake.line:
                    place = self._visit.say("console-policy-line", line=str(mistake.line))
                    ui.button(place, on_click=lambda _, line=mistake.line: self._code.reveal_line(line)).props("flat dense no-caps")
                with ui.element("div").classes("policy-mistake-words"):
                    show_text(self._visit.tr.translate_notice(mistake.notice))
                    if mistake.suggestion:
                        show_text(self._visit.say("console-finding-meant", meant=mistake.suggestion), classes="small muted")
                    if mistake.path:
                        ui.label(mistake.path).classes("mono muted")

    async def _take_file(self) -> None:
        """What was typed and differs stays in the browser, and is offered."""
        before, typed = self._file, self.text
        self._file = await self._visit.services.policy.read()
        if typed not in {before.text, self._file.text}:
            self._kept.set_aside(typed)
        self._difference.clear()
        self._code.set_value(self._file.text)
        self._kept.tell_saved(self._file.text)
        await self.check()

    async def save(self) -> None:
        """If it can be taken and the file is still the one that was shown. Pressed twice it saves once."""
        if self._is_saving:
            return
        self._is_saving = True
        try:
            await self._save()
        finally:
            self._is_saving = False

    async def _save(self) -> None:
        visit, text = self._visit, self.text
        if visit.actor.role != "admin" or len(text) > LONGEST:
            return
        checked = await self.check()
        if checked.loaded is None:
            return
        self._difference.clear()
        try:
            self._file = await visit.services.policy.save(text, shown_digest=self._file.digest, by=visit.actor)
        except PolicyFileChanged as error:
            self._show_conflict(error.present)
            return
        except OSError as error:
            ui.notify(visit.say("console-policy-not-written", why=error.strerror or type(error).__name__), type="negative", multi_line=True)
            return
        self._kept.tell_saved(self._file.text)
        self._save_button.set_enabled(self.text != self._file.text)
        self._state.set_text(visit.say("console-policy-saved"))
        background_tasks.create(self._tell_in_force(checked.digest), name="policy in force")

    async def _tell_in_force(self, digest: str) -> None:
        """The bot takes it by itself within seconds."""
        for _ in range(_TAKEN_WITHIN):
            if self._visit.page.is_deleted:
                return
            if self._visit.services.policy.digest == digest:
                self._state.set_text(self._visit.say("console-policy-in-force", digest=digest))
                return
            await asyncio.sleep(0.5)
        self._state.set_text(self._visit.say("console-policy-not-taken"))

    def _show_conflict(self, present: PolicyText) -> None:
        """What they typed stays in the editor."""
        visit = self._visit
        with self._difference, build_panel().classes("policy-conflict"):
            ui.label(visit.say("console-policy-conflict", why=present.why or "changed")).classes("strong")
            lines = tuple(list_diff(self._file.text.splitlines(), present.text.splitlines()))
            draw_diff(visit, lines, before=visit.say("console-policy-opened"), after=visit.say("console-policy-in-file"))

            def go_on() -> None:
                self._file = present
                self._difference.clear()
                self._save_button.set_enabled(self._checked is not None and self._checked.loaded is not None)

            if not present.why:
                ui.label(visit.say("console-policy-conflict-choice")).classes("muted")
                with ui.element("div").classes("policy-actions"):
                    ui.button(visit.say("console-policy-mine"), on_click=go_on).props("outline no-caps")
                    ui.button(visit.say("console-policy-theirs"), on_click=self._take_file).props("outline no-caps")
