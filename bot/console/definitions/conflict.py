"""For somebody who was not first: nothing is lost by either choice."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from bot.console.definitions.work import name_account, write_text
from bot.console.diffing import compare_texts, draw_diff
from bot.console.visit import Visit
from orchestrator.documents.document import DocumentFormat
from state.model.definitions import DefinitionVersion

Choose = Callable[[DefinitionVersion], Awaitable[None]]


async def open_conflict(
    visit: Visit, present: DefinitionVersion, mine: str, form: DocumentFormat, *, save_over: Choose | None, take_theirs: Choose
) -> None:
    """`present` is stored now, `mine` is typed. Without `save_over` it cannot be stored here."""
    theirs = await write_text(present.document, form)
    lines = await compare_texts(theirs, mine)
    who = name_account(visit, present.updated_by or present.author, "" if present.updated_by else present.author_name)
    with visit.page, ui.dialog().props("persistent") as dialog, ui.card().classes("def-dialog"):
        with ui.element("div").classes("def-dialog-body"):
            ui.label(visit.say("console-conflict-title")).classes("heading").props("role=heading aria-level=2")
            code = "console-conflict-told" if save_over is not None else "console-conflict-key-taken"
            sentence = visit.say(code, who=who, number=present.version, moment=visit.tr.format_time(present.updated_at))
            ui.label(sentence).props("role=alert")
            draw_diff(visit, lines, before=visit.say("console-conflict-theirs"), after=visit.say("console-conflict-mine"))
        with ui.element("div").classes("def-actions"):

            async def choose(chosen: Choose) -> None:
                dialog.close()
                await chosen(present)

            ui.button(visit.say("console-conflict-later"), on_click=dialog.close).props("flat no-caps")
            ui.button(visit.say("console-conflict-take"), on_click=lambda: choose(take_theirs)).props("unelevated no-caps color=primary")
            if save_over is not None:
                ui.button(visit.say("console-conflict-over"), on_click=lambda: choose(save_over)).props("outline no-caps color=negative")
    dialog.open()
