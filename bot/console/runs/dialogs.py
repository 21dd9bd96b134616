"""Dialogs that ask before an order is given. They stand outside of the parts of a page that are drawn anew."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from bot.console.visit import Visit

Act = Callable[[], Awaitable[None]]


def ask_first(visit: Visit, root: ui.element, question: str, label: str, act: Act, *, is_grave: bool = False) -> None:
    """Ask the person, and do it if they press the button called `label`."""
    with root, ui.dialog() as dialog, ui.card().classes("ask"):
        ui.label(question).classes("strong").props("dir=auto")
        with ui.element("div").classes("acts"):
            ui.button(visit.say("console-runs-no"), on_click=dialog.close, color=None).props("flat no-caps")

            async def go_on() -> None:
                dialog.close()
                await act()

            ui.button(label, on_click=go_on, color=None).props("unelevated no-caps").classes("act-bad" if is_grave else "act-main")
    dialog.on("hide", dialog.delete)
    dialog.open()
