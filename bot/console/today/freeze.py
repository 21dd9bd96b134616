"""For administrators; the switch itself checks the rights."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from bot.console.visit import Visit
from bot.http_api.approvals.freeze import FreezeBody, describe_freeze, turn_switch
from orchestrator.turns.group_decisions import IN_CONSOLE
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
