"""Draws the first page: what waits for a decision of the person."""

from dataclasses import dataclass

from nicegui import ui

from bot.console.visit import Visit
from bot.console.widgets import show_empty, show_heading
from bot.http_api.approvals.card_models import Confirmation, to_confirmation
from orchestrator.reports.cards import load_cards_page

_MOST_CARDS = 20


@dataclass(frozen=True, kw_only=True)
class TodayView:
    """What the page shows."""

    waiting: tuple[Confirmation, ...]


async def show_today(visit: Visit) -> None:
    """Draw the page, and keep it current."""
    await visit.keep_current(lambda: _load(visit), lambda view: _draw(visit, view))


async def _load(visit: Visit) -> TodayView:
    viewer = visit.viewer
    page = await load_cards_page(visit.services.store, viewer, session="", state="requested", after=None, limit=_MOST_CARDS)
    return TodayView(waiting=tuple(to_confirmation(card, viewer, visit.tr) for card in page.cards))


def _draw(visit: Visit, view: TodayView) -> None:
    show_heading(visit.say("console-today-waiting"), count=len(view.waiting))
    if not view.waiting:
        show_empty(visit.say("console-today-nothing"))
    for card in view.waiting:
        with ui.element("div").classes("line"):
            ui.label(card.title).classes("strong")
            ui.label(card.asked_by.name).classes("muted")
