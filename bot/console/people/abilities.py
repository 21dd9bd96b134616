"""Shows what one person may do: alone, with a card, or not at all, as the policy in force decides it."""

import asyncio
from typing import Final

from nicegui import ui

from bot.console.people.view import PersonRow
from bot.console.policy.words import format_reasons
from bot.console.visit import Visit
from bot.console.widgets import show_badge, show_text
from orchestrator.reports.policy_explain import Ability, Outcome

_TONES: Final[dict[Outcome, str]] = {
    "alone": "good",
    "card": "warn",
    "lead": "warn",
    "two_people": "warn",
    "refused": "bad",
    "planned": "plain",
}


async def show_abilities(visit: Visit, place: ui.element, row: PersonRow) -> None:
    """Open a dialog in `place` with what the person may do now."""
    actor = visit.services.access.find_actor_by_key(row.key)
    if visit.actor.role == "manager" or actor is None:
        return
    found = await asyncio.to_thread(visit.services.policy.list_abilities, actor)
    with place, ui.dialog() as dialog, ui.element("div").classes("people-dialog"):
        dialog.on("hide", dialog.delete)
        ui.label(visit.say("console-people-what-of", name=actor.name)).classes("strong").props("role=heading aria-level=2")
        ui.label(visit.say("console-people-what-why")).classes("muted small")
        for outcome, tone in _TONES.items():
            _show_group(visit, outcome, tone, [one for one in found if one.outcome == outcome])
        ui.button(visit.say("console-people-close"), on_click=dialog.close).props("flat no-caps")
    dialog.open()


def _show_group(visit: Visit, outcome: Outcome, tone: str, found: list[Ability]) -> None:
    if not found:
        return
    show_badge(visit.say("console-people-outcome", outcome=outcome), tone=tone)
    with ui.element("ul").classes("people-acts"):
        for one in found:
            with ui.element("li"):
                show_text(visit.say("console-people-act", act=one.act))
                if reasons := format_reasons(visit, one.reasons):
                    show_text(reasons, classes="muted small")
