"""/approvals and /approvals/{id}; both are current and take decisions."""

from typing import Final

from nicegui import ui

from bot.console.approvals.controls import DecisionDesk
from bot.console.approvals.drawing import show_bundle, show_card, show_line
from bot.console.approvals.shown_cards import DAYS, WAITING, CardList, CardPage, load_card, load_list
from bot.console.visit import Visit
from bot.console.widgets import show_empty, show_heading
from orchestrator.reports.cards import ANY_STATE

_FILTERS: Final = {
    WAITING: "console-approvals-filter-requested",
    ANY_STATE: "console-approvals-filter-any",
    "executed": "console-approvals-filter-executed",
    "denied": "console-approvals-filter-denied",
    "expired": "console-approvals-filter-expired",
    "refused": "console-approvals-filter-refused",
    "unknown": "console-approvals-filter-unknown",
}


async def show_approvals(visit: Visit) -> None:
    """What waits with its buttons, else a line each."""
    query_state = visit.query.get("state", WAITING)
    state = query_state if query_state in _FILTERS else WAITING
    _show_filters(visit, state)
    desk = DecisionDesk(visit)
    desk.refresh = await visit.keep_current(
        lambda: load_list(visit, state, frozenset(desk.whole)), lambda card_list: _draw_list(desk, visit, state, card_list)
    )


def _show_filters(visit: Visit, state: str) -> None:
    with ui.element("nav").classes("chips").props(f'aria-label="{visit.say("console-approvals-filters")}"'):
        for name, code in _FILTERS.items():
            target = "/approvals" if name == WAITING else f"/approvals?state={name}"
            chip = ui.link(visit.tr.translate(code), target).classes("chip")
            if name == state:
                chip.classes("chip-here").props("aria-current=page")


def _draw_list(desk: DecisionDesk, visit: Visit, state: str, card_list: CardList) -> None:
    waits = state == WAITING
    if not card_list.bundles:
        show_empty(visit.say("console-approvals-none-waiting" if waits else "console-approvals-none", days=DAYS))
    for bundle in card_list.bundles:
        if waits:
            show_bundle(desk, visit, bundle)
        else:
            show_line(visit, bundle.cards[0], among_decided=True)
    if card_list.has_more:
        show_empty(visit.say("console-approvals-more"))
    if not waits:
        with ui.element("div").classes("facts small muted"):
            ui.label(visit.say("console-approvals-days", days=DAYS))
            ui.link(visit.say("console-approvals-audit"), "/audit")


async def show_approval(visit: Visit) -> None:
    """Raises ApiError 404 if there is none that the person may see."""
    desk = DecisionDesk(visit)
    confirmation_id = visit.params["confirmation_id"]
    desk.refresh = await visit.keep_current(
        lambda: load_card(visit, confirmation_id, frozenset(desk.whole)), lambda card_page: _draw_card(desk, visit, card_page)
    )


def _draw_card(desk: DecisionDesk, visit: Visit, card_page: CardPage) -> None:
    show_card(desk, visit, card_page.shown, is_alone=True)
    if card_page.may_read_chat:
        ui.link(visit.say("console-approvals-chat"), f"/conversations/{card_page.shown.card.session}")
    if card_page.others:
        show_heading(visit.say("console-approvals-others"), count=len(card_page.others))
        for other in card_page.others:
            show_line(visit, other)
