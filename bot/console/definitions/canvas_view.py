"""The canvas in the editor: it follows each check, and what is done on it is written into the author's text."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from nicegui import ui

from bot.console.canvas import Canvas, CanvasDeed, Editing, find_place
from bot.console.definitions.document import EditedDocument, write_into
from bot.console.definitions.last_run import LastRun
from bot.console.visit import Visit
from bot.console.widgets import show_empty, tell
from bot.plugins.kind_face import Steps
from orchestrator.charts.chart import Box, Chart
from orchestrator.documents.changing import PlaceGone
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding, Path
from state.canonical import NotCanonical

_NO_CHART: Final = Chart(title="", boxes=(), arrows=())


class CanvasView:
    def __init__(  # noqa: PLR0913 - what it draws, and what the page does with a press
        self,
        visit: Visit,
        document: EditedDocument,
        steps: Steps,
        last: LastRun,
        *,
        code: ui.codemirror,
        show_step: Callable[[Path], Awaitable[None]],
        follow_step: Callable[[Path], None],
        enter_step: Callable[[], None],
    ) -> None:
        """`show_step` gets the place of a chosen step, () for none; `follow_step` where it is by now; `enter_step` goes into its form."""
        self._visit, self._document, self._steps, self._last = visit, document, steps, last
        self._show_step, self._follow_step = show_step, follow_step
        self._chart = _NO_CHART
        self._empty = ui.element("div").classes("def-nochart")
        with self._empty:
            show_empty(visit.say("console-editor-no-graph"))
        editing = None
        if steps.deeds is not None:
            editing = Editing(types=steps.deeds.list_types(visit.say), code=code, on_deed=self._do, on_enter=enter_step)
        name = visit.say("console-editor-graph-name")
        self._canvas = Canvas(visit, _NO_CHART, name=name, on_choose=self._choose, editing=editing)
        document.on_checked(self._draw)
        self._draw()

    def _draw(self) -> None:
        """It stays while nothing can be read of the document."""
        document = self._document
        self._empty.set_visibility(document.data is None and not self._chart.boxes)
        if document.data is None:
            return
        parts = document.checked.parts
        self._chart = self._steps.draw(document.data, parts)
        self._canvas.update_chart(self._chart, marks=self._last.mark(self._chart, parts), findings=document.findings)
        self._follow_step(_find_path(self._canvas.chosen))

    async def follow_run(self) -> None:
        """Reads the last run, and marks the steps by it."""
        if not self._visit.page.is_deleted and not self._visit.is_over:
            await self._last.load(self._document.key)
            self._draw()

    def name_step(self) -> str:
        """The chosen one, as nodes of runs are named."""
        box = self._canvas.chosen
        place = next((at for at, one in enumerate(self._chart.boxes) if one == box), None)
        return self._last.name_step(self._chart, place, self._document.checked.parts) if place is not None else ""

    async def _choose(self, box: Box | None) -> None:
        await self._show_step(_find_path(box))

    def reveal(self, finding: Finding) -> bool:
        """False if it is at none of the boxes."""
        place = find_place(self._chart, finding)
        if place is None:
            return False
        self._canvas.choose(place[0])
        self._follow_step(_find_path(self._canvas.chosen))
        return True

    async def _do(self, deed: CanvasDeed) -> None:
        """Once more if the text was changed meanwhile."""
        document = self._document
        async with document.changing:
            while (key := await self._write(deed, document.text)) is None:
                continue
        await document.check_now()
        place = next((at for at, box in enumerate(self._chart.boxes) if key and box.key == key), None)
        if place is not None:
            self._canvas.choose(place)
            await self._choose(self._canvas.chosen)

    async def _write(self, deed: CanvasDeed, text: str) -> str | None:
        """The key of a new step; None if the text is another one by now."""
        visit, document, deeds = self._visit, self._document, self._steps.deeds
        reading = await asyncio.to_thread(read_document, text, document.format)
        data = reading.document.data if reading.document is not None else None
        if not isinstance(data, dict) or deeds is None:
            tell(visit, visit.say("console-canvas-unreadable"), tone="warning")
            return ""
        try:
            changed, key = deed.apply(deeds.know_parts(document.checked.parts), data)
            new_text = await asyncio.to_thread(write_into, text, changed, document.format) if changed != data else text
        except (PlaceGone, NotCanonical):
            tell(visit, visit.say("console-form-gone"), tone="warning")
            return ""
        if document.text != text:
            return None
        document.set_text(new_text)
        return key


def _find_path(box: Box | None) -> Path:
    return box.path if box is not None else ()
