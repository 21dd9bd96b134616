"""Both outlast what is drawn anew."""

from collections.abc import Awaitable, Callable
from typing import Literal

from nicegui import ui

from bot.console.visit import Visit

Act = Callable[[], Awaitable[None]]


def tell(visit: Visit, sentence: str, *, tone: Literal["positive", "warning", "negative"] = "positive") -> None:
    """Also if the button that led to it is there no longer."""
    with visit.page:
        ui.notify(sentence, type=tone)


def ask_first(  # noqa: PLR0913 - what differs from question to question, each by its name
    visit: Visit,
    root: ui.element,
    question: str,
    label: str,
    act: Act,
    *,
    draw: Callable[[], None] | None = None,
    otherwise: Callable[[], None] | None = None,
    is_grave: bool = False,
) -> None:
    """Acts once if `label` is pressed, `otherwise` if closed; `draw` draws what else stands there."""
    is_done = False
    with root, ui.dialog() as dialog, ui.card().classes("ask"):
        ui.label(question).classes("strong text").props("dir=auto")
        if draw is not None:
            draw()
        with ui.element("div").classes("acts"):
            ui.button(visit.say("console-no"), on_click=dialog.close, color=None).props("flat no-caps")

            async def go_on() -> None:
                nonlocal is_done
                if not is_done:  # a second press may come before the dialog is gone
                    is_done = True
                    dialog.close()
                    await act()

            ui.button(label, on_click=go_on, color=None).props("unelevated no-caps").classes("act-bad" if is_grave else "act-main")

    if otherwise is not None:
        dialog.on_value_change(lambda event: otherwise() if not event.value and not is_done else None)
    dialog.on("hide", dialog.delete)
    dialog.open()
