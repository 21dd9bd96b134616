"""Draws the line that says whether the journal is as it was written; a red one if it is not."""

from nicegui import ui

from bot.console.visit import Visit
from bot.console.widgets import cut_text
from bot.monitoring.journal_watch import JournalHealth

_SHOWN = 3


async def show_health(visit: Visit) -> None:
    """Draw the line, and keep it current."""

    async def load() -> JournalHealth:
        return visit.services.journal_watch.look()

    await visit.keep_current(load, lambda health: _draw(visit, health))


def _draw(visit: Visit, health: JournalHealth) -> None:
    at = visit.tr.format_time(health.checked_at) if health.checked_at is not None else ""
    if health.faults:
        with ui.element("div").classes("red-line").props("role=alert"):
            ui.icon("gpp_bad").props("aria-hidden=true")
            with ui.element("div"):
                ui.label(visit.say("console-audit-damaged", count=len(health.faults), checked=at)).classes("strong")
                if visit.opened_as.role == "admin":
                    for fault in tuple(dict.fromkeys(health.faults))[:_SHOWN]:
                        ui.label(cut_text(fault, limit=300)).classes("small")
        return
    state = "whole" if at else "cannot" if health.cannot else "running"
    with ui.element("div").classes("health-line muted small"):
        ui.icon("verified_user" if at else "hourglass_empty").props("aria-hidden=true")
        ui.label(visit.say("console-audit-health", state=state, checked=at, records=health.records))
