"""Recorded plans, decided by the editor's text and by the policy in force."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from nicegui import ui

from bot.console.policy.words import format_reasons, name_call
from bot.console.visit import Visit
from bot.console.widgets import build_panel, show_badge, show_empty, show_heading, show_text
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
