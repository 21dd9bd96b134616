"""The reports of the morning. They are counted when the page is there, so that it never waits for them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from nicegui import ui

from bot.console.report_picture import show_report
from bot.console.visit import Visit
from bot.console.widgets import build_panel, cut_text, show_heading, show_text
from orchestrator.analytics.again import merge_question
from orchestrator.domain.report import ReportAnswer, ReportTrouble
from orchestrator.features.numbers.feature import list_how
from orchestrator.features.numbers.tiles import Tile, count_for, load_tiles
from orchestrator.turns.feature import Reports
from state.stored import JsonObject

_ROLES: Final = frozenset({"lead", "admin"})
_LOADING: Final = "loading"
_LONGEST_LABEL: Final = 60


def show_report_tiles(visit: Visit) -> None:
    """Nothing for who does not lead. Where nobody has asked for numbers yet, a button begins to read them from the portal."""
    reports = visit.services.reports
    if reports is None or visit.opened_as.role not in _ROLES:
        return
    show_heading(visit.say("console-numbers"))
    place = ui.element("div").classes("numbers")

    async def begin() -> None:
        place.clear()
        with place:
            tiles = [ReportTile(visit, reports, tile) for tile in load_tiles()]
        visit.follow(lambda: _load_again(tiles))
        await asyncio.gather(*(tile.begin() for tile in tiles))

    if reports.has_begun:
        visit.begin_when_connected(begin)
        return
    with place, build_panel():
        show_text(visit.say("console-numbers-none"), classes="muted")
        ui.button(visit.say("console-numbers-begin"), icon="bar_chart", on_click=begin, color=None).props("outline no-caps")


async def _load_again(tiles: list["ReportTile"]) -> None:
    await asyncio.gather(*(tile.begin() for tile in tiles if tile.is_loading))


class ReportTile:
    """A report, drawn in place when one of its buttons changes it. Made where it is to stand."""

    def __init__(self, visit: Visit, reports: Reports, tile: Tile) -> None:
        self._visit, self._reports, self._question = visit, reports, tile.question
        self._before: list[JsonObject] = []
        self.is_loading = False
        """The numbers are not there yet."""
        self._turn = asyncio.Lock()
        with build_panel().classes("number-tile").props("role=region") as panel:
            panel.props["aria-label"] = tile.title[visit.tr.locale]
            ui.label(tile.title[visit.tr.locale]).classes("strong").props("role=heading aria-level=3")
            self._place = ui.element("div").classes("number-body").props("aria-live=polite")
        with self._place:
            ui.label(visit.say("console-numbers-counting")).classes("muted")

    async def begin(self) -> None:
        """Count and draw. Raises VisitOver."""
        await self._show(self._question, self._before)

    async def _show(self, question: JsonObject, before: list[JsonObject]) -> None:
        """A trouble of a changed report leaves the way back."""
        async with self._turn:
            answer = await count_for(self._visit.actor, question, self._reports)
            if self._visit.page.is_deleted or self._visit.is_over:
                return
            self._question, self._before = question, before
            self.is_loading = isinstance(answer, ReportTrouble) and answer.code == _LOADING
            self._place.clear()
            with self._place:
                if isinstance(answer, ReportTrouble):
                    show_text(answer.text, classes="muted")
                    self._show_buttons({})
                else:
                    show_report(self._visit, answer)
                    changes = {variant.label: merge_question(question, dict(variant.change)) for variant in answer.variants}
                    self._show_buttons(changes)
                    _show_how(self._visit, answer)

    def _show_buttons(self, changes: Mapping[str, JsonObject]) -> None:
        with ui.element("div").classes("acts"):
            if self._before:
                back = partial(self._show, self._before[-1], self._before[:-1])
                _show_button(self._visit.tr.translate("report-button-back"), back)
            for label, question in changes.items():
                _show_button(label, partial(self._show, question, [*self._before, self._question]))


def _show_button(label: str, act: Callable[[], Awaitable[None]]) -> None:
    ui.button(cut_text(label, limit=_LONGEST_LABEL), on_click=act, color=None).props("flat dense no-caps")


def _show_how(visit: Visit, answer: ReportAnswer) -> None:
    with ui.element("details").classes("number-how"):
        with ui.element("summary"):
            ui.label(visit.tr.translate("report-sheet-how"))
        for notice in list_how(answer):
            show_text(visit.say_notice(notice), classes="small")
