"""The last run of the definition that is edited, at its steps: how each went and what it used, then what it was asked and gave."""

from collections.abc import Mapping
from dataclasses import dataclass

from nicegui import ui

from bot.console.runs.node_panel import NodeLoader, StepNodes, draw_nodes
from bot.console.runs.run_face import find_face
from bot.console.runs.watch import RunView, RunWatch
from bot.console.runs.words import TONES, say_status, say_step
from bot.console.visit import Visit
from bot.console.widgets import show_badge, show_empty
from bot.http_api.runs.run_models import Run, RunQuery
from bot.http_api.server.errors import ApiError
from bot.plugins.loading import find_own_kind
from orchestrator.charts.chart import Chart, Mark


class LastRun:
    """The newest that the person may see, with the rights of the page of that run."""

    def __init__(self, visit: Visit, kind: str) -> None:
        self._visit = visit
        self._engine = next((engine for engine in visit.services.engines.runs if find_own_kind(engine) == kind), "")
        self._face = find_face(kind)
        self._run_id = ""
        self._watch: RunWatch | None = None
        self._view: RunView | None = None
        self.loader: NodeLoader | None = None

    @property
    def is_possible(self) -> bool:
        """Definitions of this kind are run."""
        return bool(self._engine)

    async def load(self, key: str) -> RunView | None:
        """The same as before if nothing has happened; None without one. `key` is "" for what was never stored."""
        try:
            run_id = await self._find(key) if self._engine and key else ""
            if run_id != self._run_id:
                self._run_id, self._watch, self.loader = run_id, None, None
            if run_id and self._watch is None:
                self._watch = RunWatch(self._visit, run_id)
                self.loader = NodeLoader(self._visit, self._watch)
            self._view = await self._watch.load() if self._watch is not None else None
        except ApiError:  # erased, or hidden from the person meanwhile
            self._run_id, self._watch, self.loader, self._view = "", None, None, None
        return self._view

    async def _find(self, key: str) -> str:
        visit = self._visit
        query = RunQuery.model_construct(engine=self._engine, definition=key, status=(), owner=None, cursor=None, limit=1)
        page = await visit.services.runs.list_runs(visit.caller, query)
        return page.runs[0].id if page.runs else ""

    def name_step(self, chart: Chart, place: int, parts: Mapping[str, object]) -> str:
        """As nodes of runs are named; "" for what is no step."""
        key = chart.boxes[place].key
        return self._face.name_nodes(place, key, parts) if key else ""

    def mark(self, chart: Chart, parts: Mapping[str, object]) -> Mapping[int, Mark]:
        """By places of boxes."""
        lines = {step.key: step for step in self._view.steps} if self._view is not None else {}
        steps = ((place, lines.get(self.name_step(chart, place, parts))) for place in range(len(chart.boxes)))
        return {
            place: Mark(step.state, say_step(self._visit, step.state, step.tokens, step.seconds))
            for place, step in steps
            if step is not None and step.state is not None
        }


@dataclass(frozen=True, kw_only=True)
class _Shown:
    run: Run | None = None
    nodes: StepNodes | None = None


class LastRunPanel:
    """The chosen step's part of it; it follows what happens."""

    def __init__(self, visit: Visit, last: LastRun, key: str) -> None:
        """`key` is that of the definition."""
        self._visit, self._last, self._key, self._step = visit, last, key, ""

    async def draw(self) -> None:
        """Once, in the present place."""
        self._refresh = await self._visit.keep_current(self._load, self._draw)

    async def show(self, step: str) -> None:
        """`step` as `LastRun.name_step` says it."""
        self._step = step
        await self._refresh()

    async def _load(self) -> _Shown:
        view, step = await self._last.load(self._key), self._step
        loader = self._last.loader
        if view is None or loader is None:
            return _Shown()
        if step and loader.step != step:
            loader.choose(step)
        return _Shown(run=view.run, nodes=await loader.load() if step else None)

    def _draw(self, shown: _Shown) -> None:
        visit, run = self._visit, shown.run
        if run is None:
            show_empty(visit.say("console-editor-never-run"))
            return
        with ui.element("div").classes("acts small"):
            ui.link(visit.say("console-editor-last-run", at=run.started_at, number=run.version), f"/runs/{run.id}")
            show_badge(say_status(visit, run.status), tone=TONES[run.status])
        if shown.nodes is not None and shown.nodes.nodes:
            draw_nodes(visit, shown.nodes, toggle=self._toggle, load=self._load_whole, opens_prompts=True)
        else:
            show_empty(visit.say("console-editor-not-reached"))

    async def _toggle(self, node: str) -> None:
        if self._last.loader is not None:
            self._last.loader.toggle(node)
            await self._refresh()

    async def _load_whole(self, node: str) -> None:
        if self._last.loader is not None:
            self._last.loader.ask_whole(node)
            await self._refresh()
