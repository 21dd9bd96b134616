"""Each line leads to its page."""

from collections.abc import Awaitable, Callable
from typing import Final

from nicegui import ui

from bot.console.approvals.drawing import show_line
from bot.console.health.view import HealthGlance
from bot.console.runs.words import say_failure
from bot.console.today.loading import FAILED_DAYS, MOST, CardPart, RunPart, ShownRun, TodayView, load_today
from bot.console.today.report_tiles import show_report_tiles
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_badge, show_heading, show_text
from bot.console.words import describe_call, format_count, format_money
from bot.http_api.approvals.freeze import FreezeBody, describe_freeze, turn_switch
from orchestrator.domain.inputs import IN_CONSOLE
from orchestrator.features.budgets.model_budget import LimitUse
from orchestrator.reports.unknown_calls import UnknownCall
from state.journal.freeze_switch import LONGEST_REASON, FreezeState


class FreezeDesk:
    """Made outside of the parts that are redrawn."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self.refresh: Callable[[], Awaitable[None]] | None = None
        self._standing: FreezeState | None = None
        with ui.dialog() as self._stop_dialog, ui.card().classes("dialog"):
            ui.label(visit.say("console-today-freeze-title")).classes("strong").props("role=heading aria-level=2")
            ui.label(visit.say("console-today-freeze-about")).classes("muted")
            self._reason = ui.input(visit.say("console-today-freeze-reason")).props(f"outlined maxlength={LONGEST_REASON}").classes("wide")
            self._show_choice(self._stop_dialog, visit.say("console-today-freeze-now"), self._stop)
        with ui.dialog() as self._release_dialog, ui.card().classes("dialog"):
            ui.label(visit.say("console-today-release-title")).classes("strong").props("role=heading aria-level=2")
            ui.label(visit.say("console-today-release-about")).classes("muted")
            self._show_choice(self._release_dialog, visit.say("console-today-release-now"), self._release)

    def _show_choice(self, dialog: ui.dialog, words: str, act: Callable[[], Awaitable[None]]) -> None:
        with ui.row().classes("dialog-buttons"):
            ui.button(self._visit.say("console-today-back"), on_click=dialog.close, color=None).props("flat no-caps")
            ui.button(words, on_click=act, color=None).props("unelevated no-caps").classes("act-bad")

    def show_button(self, standing: FreezeState | None) -> None:
        """To release this freeze, or to stop writing."""
        code = "console-today-freeze" if standing is None else "console-today-release"
        icon = "block" if standing is None else "play_arrow"
        button = ui.button(self._visit.tr.translate(code), icon=icon, on_click=lambda: self._open(standing), color=None)
        button.props("outline no-caps")

    def _open(self, standing: FreezeState | None) -> None:
        self._standing = standing
        self._reason.set_value("")
        (self._stop_dialog if standing is None else self._release_dialog).open()

    async def _stop(self) -> None:
        self._stop_dialog.close()
        await self._turn(FreezeBody(frozen=True, reason=str(self._reason.value or "")[:LONGEST_REASON]), None)

    async def _release(self) -> None:
        self._release_dialog.close()
        if self._standing is not None:
            await self._turn(FreezeBody(frozen=False), self._standing.seq)

    async def _turn(self, body: FreezeBody, seq: int | None) -> None:
        visit, services = self._visit, self._visit.services
        turned = await turn_switch(visit.caller, body, services.desk.switch, services.clock, via=IN_CONSOLE, seq=seq)
        with visit.page:
            if turned.changed:
                ui.notify(visit.say("console-today-frozen" if body.frozen else "console-today-released"))
            elif turned.state is not None:  # somebody else was faster
                ui.notify(visit.say_notice(describe_freeze("frozen-now", turned.state)), type="warning")
        if self.refresh is not None:
            await self.refresh()


_SHORT: Final = 300
_NEAR: Final = 80
"""Percent from which a limit is nearly used up."""
_FULL: Final = 100
_RUNS: Final = {
    "running": ("live", "console-today-run-running"),
    "waiting": ("warn", "console-today-run-waiting"),
    "paused": ("plain", "console-today-run-paused"),
    "failed": ("bad", "console-today-run-failed"),
}
"""By status: tone and word."""


async def show_today(visit: Visit) -> None:
    checks = visit.services.health
    glance = HealthGlance(checks) if checks is not None else None
    desk = FreezeDesk(visit) if visit.opened_as.role == "admin" else None
    refresh = await visit.keep_current(lambda: load_today(visit, glance), lambda view: _draw(visit, desk, view))
    show_report_tiles(visit)
    if desk is not None:
        desk.refresh = refresh
    if glance is not None:
        visit.begin_when_connected(lambda: glance.follow(refresh))


def _draw(visit: Visit, desk: FreezeDesk | None, view: TodayView) -> None:
    _show_alerts(visit, desk, view)
    _show_tiles(visit, view)
    if view.is_calm:
        with ui.element("div").classes("calm"):
            ui.icon("task_alt").props("aria-hidden=true")
            ui.label(visit.say("console-today-calm"))
    with ui.element("div").classes("day"):
        with ui.element("div").classes("day-column"):
            _show_cards(visit, visit.say("console-today-waiting"), view.mine)
            _show_cards(visit, visit.say("console-today-others"), view.others)
            _show_unknown(visit, view.unknown)
        with ui.element("div").classes("day-column"):
            _show_runs(visit, visit.say("console-today-runs"), view.open_runs)
            _show_runs(visit, visit.say("console-today-failed", days=FAILED_DAYS), view.failed_runs)
    if desk is not None and view.freeze is None:
        with ui.element("div").classes("day-foot"):
            desk.show_button(None)
            ui.label(visit.say("console-today-freeze-hint")).classes("muted small")


def _show_alerts(visit: Visit, desk: FreezeDesk | None, view: TodayView) -> None:
    """Stopped writing, parties that do not work, messages that do not arrive."""
    if view.freeze is not None:
        with ui.element("div").classes("alert alert-bad").props("role=alert"):
            ui.label(cut_text(visit.say_notice(describe_freeze("frozen-now", view.freeze)), limit=_SHORT * 2)).classes("text").props(
                "dir=auto"
            )
            if desk is not None:
                desk.show_button(view.freeze)
    for party in view.troubles.unwell:
        words = visit.say("console-today-unwell", party=party.name, since=visit.tr.format_time(party.since))
        _show_alert(words, "/health", "bad")
    if view.portal is not None and view.portal.refused:
        acts = ", ".join(dict.fromkeys(describe_call(visit.tr, method, ()) for method in view.portal.refused))
        _show_alert(visit.say("console-today-portal-refuses", acts=cut_text(acts, limit=_SHORT)), "/health", "warn")
    if view.troubles.failed:
        _show_alert(visit.say("console-today-undelivered", count=view.troubles.failed), "/health", "warn")
    if view.troubles.is_late:
        _show_alert(visit.say("console-today-late"), "/health", "warn")


def _show_alert(words: str, target: str, tone: str) -> None:
    with ui.link(target=target).classes(f"alert alert-{tone}"):
        ui.icon("warning").props("aria-hidden=true")
        ui.label(words).classes("text")


def _show_tiles(visit: Visit, view: TodayView) -> None:
    """Each a link to where it comes from."""
    limits = view.limits
    with ui.element("div").classes("tiles"):
        more = "+" if view.has_more else ""
        _show_tile(visit.say("console-today-waiting"), f"{view.mine.count}{more}", "/approvals", "live" if view.mine.count else "")
        _show_tile(visit.say("console-today-unknown"), _count(view.unknown), "/approvals?state=unknown", "warn" if view.unknown else "")
        runs = {**view.open_runs.counts, **view.failed_runs.counts}
        detail = ", ".join(visit.say("console-today-run-count", status=status, count=count) for status, count in runs.items())
        total = f"{view.open_runs.count}{'+' if view.open_runs.has_more else ''}"
        _show_tile(visit.say("console-today-runs"), total, "/runs", "bad" if view.failed_runs.count else "", detail)
        used = format_count(visit.tr, limits.changes)
        of = visit.say("console-today-of", limit=format_count(visit.tr, limits.changes_limit)) if limits.changes_limit is not None else ""
        _show_tile(visit.say("console-today-changes"), used, "/audit", _find_tone(_calculate_share(limits)), of)
        is_admin = visit.opened_as.role == "admin"
        title, value, own = _describe_cost(visit, limits, everybody=is_admin)
        _show_tile(title, value, "/health" if is_admin else "/conversations", _find_tone(limits.percent), own)
        if view.portal is not None:
            percent = visit.say("console-today-percent", percent=view.portal.percent)
            tone = "bad" if view.portal.refused else _find_tone(view.portal.percent)
            _show_tile(visit.say("console-today-portal"), percent, "/health", tone)


def _show_tile(title: str, value: str, target: str, tone: str = "", detail: str = "") -> None:
    with ui.link(target=target).classes(f"tile {f'tile-{tone}' if tone else ''}"):
        with ui.element("div").classes("tile-head"):
            ui.label(value).classes("tile-value")
            if detail:
                ui.label(detail).classes("small tile-detail")
        ui.label(title).classes("small muted")


def _count(unknown_calls: tuple[UnknownCall, ...]) -> str:
    return f"{len(unknown_calls)}+" if len(unknown_calls) == MOST else str(len(unknown_calls))


def _calculate_share(limits: LimitUse) -> int | None:
    """Percent of the daily limit; None without a limit."""
    if limits.changes_limit is None:
        return None
    return limits.changes * _FULL // limits.changes_limit if limits.changes_limit else _FULL


def _find_tone(percent: int | None) -> str:
    if percent is None or percent < _NEAR:
        return ""
    return "bad" if percent >= _FULL else "warn"


def _describe_cost(visit: Visit, limits: LimitUse, *, everybody: bool) -> tuple[str, str, str]:
    """Title, cost (tokens without prices), and share of the own budget."""
    if limits.cost is None:
        code = "console-today-tokens-all" if everybody else "console-today-tokens"
        return visit.tr.translate(code), format_count(visit.tr, limits.tokens), ""
    own = visit.say("console-today-budget", percent=limits.percent) if limits.percent is not None else ""
    title = visit.say("console-today-model-all" if everybody else "console-today-model")
    return title, format_money(visit.tr, limits.cost, limits.currency), own


def _show_cards(visit: Visit, title: str, part: CardPart) -> None:
    if not part.count:
        return
    show_heading(title, count=part.count)
    for card in part.shown:
        show_line(visit, card)
    if part.count > len(part.shown):
        ui.link(visit.say("console-today-all", count=part.count), "/approvals")


def _show_unknown(visit: Visit, calls: tuple[UnknownCall, ...]) -> None:
    if not calls:
        return
    show_heading(visit.say("console-today-unknown"), count=len(calls))
    for call in calls:
        with ui.link(target=f"/audit/{call.effect_id}").classes("line"):
            words = visit.say("call-named", **call.named) if call.named else describe_call(visit.tr, call.method, ())
            ui.label(cut_text(words[:1].upper() + words[1:], limit=_SHORT)).classes("strong text").props("dir=auto")
            with ui.element("div").classes("badges"):
                show_badge(visit.say("console-today-check"), tone="warn")
                ui.label(cut_text(call.by_name or call.by, limit=_SHORT)).classes("small muted")
                ui.label(visit.tr.format_time(call.since)).classes("small muted")


def _show_runs(visit: Visit, title: str, part: RunPart) -> None:
    if not part.count:
        return
    show_heading(title, count=part.count)
    for shown_run in part.shown:
        _show_run(visit, shown_run)
    if part.count > len(part.shown):
        ui.link(visit.say("console-today-all-runs", count=part.count), "/runs")


def _show_run(visit: Visit, shown_run: ShownRun) -> None:
    run = shown_run.run
    tone, code = _RUNS[run.status]
    with ui.link(target=f"/runs/{run.id}").classes("line"):
        ui.label(cut_text(shown_run.title, limit=_SHORT)).classes("strong text").props("dir=auto")
        if shown_run.failure is not None:
            show_text(cut_text(say_failure(visit, shown_run.failure), limit=_SHORT), classes="small day-why")
        with ui.element("div").classes("badges"):
            show_badge(visit.tr.translate(code), tone=tone)
            ui.label(cut_text(run.owner.name or run.owner.id, limit=_SHORT)).classes("small muted")
            ui.label(visit.tr.format_time(run.updated_at)).classes("small muted")
