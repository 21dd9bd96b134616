"""One run: its state, graph, nodes and results."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nicegui import ui

from bot.console.canvas import Canvas
from bot.console.runs.controls import Controls, OpenOption, OpenWaits, WaitsView
from bot.console.runs.node_panel import NodeLoader, StepNodes, draw_nodes
from bot.console.runs.raw_text import draw_raw_text
from bot.console.runs.shown import NOTHING, ShownUpdate, UpdateReader
from bot.console.runs.watch import RunView, RunWatch, StepLine
from bot.console.runs.words import TONES, say_engine, say_failure, say_left, say_state, say_status, say_step, say_use
from bot.console.visit import Visit
from bot.console.widgets import build_panel, cut_text, show_badge, show_heading, show_text
from bot.console.words import format_count, format_duration, format_money
from bot.http_api.audit.run_events import format_value
from bot.http_api.runs.run_models import Run, Usage
from orchestrator.charts.chart import Box, Mark
from state.journal.run_index import PREFIX

_TOGETHER: Final = 0.2
"""Seconds in which pieces of an answer are shown together."""
_LONGEST_DRAFT: Final = 4_000
_LONGEST_RESULT: Final = 20_000
_LONGEST_TITLE: Final = 200
_RAW_TEXT: Final = "rawText"
_SUMMARY: Final = "summary"
_SPOKEN: Final = ("payload", _SUMMARY)
"""Texts for people: of a flow with its author's titles, and the summary of a scenario."""


async def show_run(visit: Visit) -> None:
    """Raises ApiError 404 also if it may not be seen."""
    watch = RunWatch(visit, visit.params["run"])
    view = await watch.load()
    await _RunPage(visit, watch).draw(view)


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    """What it gave or why it failed; before that, what it shows."""

    run: Run
    told: tuple[tuple[str, str], ...]
    shows_words: bool
    update: ShownUpdate
    options: tuple[OpenOption, ...]
    """A press answers the question that was open when its button was drawn."""


class _RunPage:
    def __init__(self, visit: Visit, watch: RunWatch) -> None:
        self._visit, self._watch = visit, watch
        self._root = ui.element("div")
        self._controls = Controls(visit, watch, self._root)
        self._nodes = NodeLoader(visit, watch)
        self._reader = UpdateReader()
        self._key = f"{PREFIX}{visit.params['run']}"
        self._waits = OpenWaits(waits=(), is_paused=False, me="")

    async def draw(self, view: RunView) -> None:
        visit = self._visit
        self._follow_pictures()
        await visit.keep_current(self._load_head, lambda head: self._draw_head(*head))
        await self._draw_waits()
        self._draw_graph(view)
        with ui.element("div").classes("job-columns"):
            with ui.element("div").classes("job-left"):
                show_heading(visit.say("console-runs-steps"))
                await visit.keep_current(self._load_steps, self._draw_steps)
            with ui.element("div").classes("job-right"):
                self._draw_draft()
                await visit.keep_current(self._load_outcome, self._draw_outcome)
                show_heading(visit.say("console-runs-nodes"))
                with build_panel().props("id=job-nodes"):
                    self._refresh_nodes = await visit.keep_current(self._nodes.load, self._draw_nodes)

    def _follow_pictures(self) -> None:
        """Each as it comes: a missed increment cannot be had again."""
        progress = self._visit.services.orchestrator.tools.progress

        def take() -> None:
            picture = progress.find(self._key)
            if picture is not None:
                self._reader.take(picture)

        take()
        progress.listeners.append(take)
        self._visit.page.on_delete(lambda: progress.listeners.remove(take))

    async def _load_head(self) -> tuple[RunView, Usage]:
        view = await self._watch.load()
        return view, view.usage

    def _draw_head(self, view: RunView, usage: Usage) -> None:
        visit, run = self._visit, view.run
        with build_panel().classes("job-head"):
            with ui.element("div").classes("job-title"):
                ui.label(run.title or run.definition).classes("job-name").props("role=heading aria-level=2 dir=auto")
                show_badge(say_status(visit, run.status), tone=TONES[run.status])
            facts = [
                visit.say("console-runs-version", engine=say_engine(visit, run.engine), key=run.definition, number=run.version),
                visit.say("console-runs-by", name=run.owner.name or run.owner.id),
                visit.say("console-runs-started", at=run.started_at),
                visit.say("console-runs-updated", at=run.updated_at),
            ]
            ui.label(" · ".join(facts)).classes("muted small").props("dir=auto")
            with ui.element("div").classes("job-facts"):
                _show_fact(visit.say("console-runs-cost"), _say_cost(visit, usage))
                tokens = format_count(visit.tr, usage.prompt_tokens + usage.completion_tokens)
                _show_fact(visit.say("console-runs-tokens-title"), tokens)
                _show_fact(visit.say("console-runs-thinking"), format_duration(visit.tr, usage.seconds))
                _show_fact(visit.say("console-runs-nodes-done"), format_count(visit.tr, run.nodes_done))
                _show_fact(visit.say("console-runs-mode"), visit.say("console-runs-mode-of", mode=run.mode))
            if run.engine not in visit.services.engines.runs:
                ui.label(visit.say("console-runs-engine-away")).classes("small")
            if run.parent:
                ui.link(visit.say("console-runs-open-parent"), f"/runs/{run.parent}")
            self._controls.draw_orders(view)

    def _draw_graph(self, view: RunView) -> None:
        visit = self._visit
        if view.chart is None:
            return
        show_heading(visit.say("console-runs-graph"))
        name = visit.say("console-runs-graph")
        canvas = Canvas(visit, view.chart, name=name, marks=self._mark(view), on_choose=self._choose_box).classes("chart-shown")

        async def refresh() -> None:
            if visit.page.is_deleted or visit.is_over:
                return
            view = await self._watch.load()
            if view.chart is not None:
                canvas.update_chart(view.chart, marks=self._mark(view))

        visit.follow(refresh)

    def _mark(self, view: RunView) -> Mapping[int, Mark]:
        boxes = view.chart.boxes if view.chart is not None else ()
        lines = {step.key: step for step in view.steps}
        steps = ((place, lines.get(box.key)) for place, box in enumerate(boxes) if box.key)
        return {
            place: Mark(step.state, say_step(self._visit, step.state, step.tokens, step.seconds))
            for place, step in steps
            if step is not None and step.state is not None
        }

    async def _load_steps(self) -> tuple[StepLine, ...]:
        return (await self._watch.load()).steps

    def _draw_steps(self, steps: tuple[StepLine, ...]) -> None:
        visit = self._visit
        with ui.element("div").classes("job-steps"):
            for step in steps:
                line = ui.element("button").classes("job-step").props("type=button")
                title = step.title or visit.say("console-runs-whole")
                line.props["aria-label"] = f"{title}, {say_state(visit, step.state)}" if step.state is not None else title
                line.on("click", lambda key=step.key: self._choose(key))
                with line:
                    ui.label(title).classes("job-step-name").props("dir=auto")
                    ui.label(say_use(visit, step.tokens, step.seconds)).classes("muted small")
                    if step.state is not None:
                        show_badge(say_state(visit, step.state), tone=TONES[step.state])

    async def _choose_box(self, box: Box | None) -> None:
        if box is not None and box.key:
            await self._choose(box.key)

    async def _choose(self, key: str) -> None:
        self._nodes.choose(key)
        await self._refresh_nodes()
        self._visit.page.run_javascript('document.getElementById("job-nodes").scrollIntoView({block: "nearest"})')

    def _draw_nodes(self, step_nodes: StepNodes | None) -> None:
        async def toggle(node: str) -> None:
            self._nodes.toggle(node)
            await self._refresh_nodes()

        async def load(node: str) -> None:
            self._nodes.ask_whole(node)
            await self._refresh_nodes()

        draw_nodes(self._visit, step_nodes, toggle=toggle, load=load)

    async def _draw_waits(self) -> None:
        """Only what has changed is drawn anew."""
        visit, view = self._visit, WaitsView(self._visit, self._controls)
        open_waits = await self._load_waits()
        view.show(open_waits)

        async def refresh() -> None:
            nonlocal open_waits
            if visit.page.is_deleted or visit.is_over:
                return
            now = await self._load_waits()
            if now != open_waits:
                open_waits = now
                view.show(now)

        visit.follow(refresh)

    async def _load_waits(self) -> OpenWaits:
        run = (await self._watch.load()).run
        self._waits = OpenWaits(waits=tuple(run.waits), is_paused=run.status == "paused", me=self._visit.actor.key)
        return self._waits

    async def _load_outcome(self) -> _Outcome:
        view = await self._watch.load()
        update = self._reader.shown if view.shows_words else NOTHING
        return _Outcome(run=view.run, told=view.told, shows_words=view.shows_words, update=update, options=self._waits.list_options())

    def _draw_outcome(self, outcome: _Outcome) -> None:
        visit, run, update = self._visit, outcome.run, outcome.update
        is_over = run.status in {"done", "failed", "cancelled"}
        if update != NOTHING and not is_over:
            show_heading(visit.say("console-runs-shown"))
            with build_panel():
                _draw_streaming(visit, update)
                with ui.element("div").props("aria-live=polite"):
                    self._draw_update(update.content, {option.text: option for option in outcome.options})
        if run.last_error is not None:
            show_heading(visit.say("console-runs-failure"))
            with build_panel().classes("job-failure"):
                failed = [node.step for node in self._watch.history.list_nodes() if node.state == "failed"]
                show_text(say_failure(visit, run.last_error, failed[-1] if failed else ""), classes="strong")
                ui.label(run.last_error.code).classes("mono muted small")
                if run.last_error.detail:
                    show_text(run.last_error.detail)
                if run.status == "failed" and run.may_control:
                    self._controls.draw_order("retry", "replay", "console-runs-retry-here")
        if is_over and run.result is not None:
            show_heading(visit.say("console-runs-result"))
            with build_panel():
                if sentence := say_left(visit, run.changes):
                    show_badge(sentence, tone="warn")
                self._draw_result(run.result, outcome.told)
                _draw_streaming(visit, update)

    def _draw_update(self, text: str, options: Mapping[str, OpenOption]) -> None:
        async def choose(chosen: str) -> None:
            await self._controls.answer(options[chosen].question, option=options[chosen].number)

        draw_raw_text(self._visit, text, open_options=options.keys(), on_choose=choose)

    def _draw_result(self, result: object, texts: Sequence[tuple[str, str]]) -> None:
        visit = self._visit
        if not isinstance(result, Mapping):
            show_text(format_value(result, limit=_LONGEST_RESULT, is_indented=True))
            return
        raw = result.get(_RAW_TEXT)
        if isinstance(raw, str) and raw:
            draw_raw_text(visit, raw)
        for title, text in texts:
            ui.label(cut_text(title, limit=_LONGEST_TITLE)).classes("muted small").props("dir=auto")
            draw_raw_text(visit, text)
        summary = result.get(_SUMMARY)
        if not texts and isinstance(summary, str) and summary:
            draw_raw_text(visit, summary)
        drawn_keys = {_RAW_TEXT, *(_SPOKEN if texts else (_SUMMARY,) if isinstance(summary, str) else ())}
        rest = {str(name): one for name, one in result.items() if name not in drawn_keys and one not in ("", None, [], {})}
        if rest:
            with ui.element("details").classes("job-prompt"):
                with ui.element("summary"):
                    ui.label(visit.say("console-runs-data"))
                show_text(format_value(rest, limit=_LONGEST_RESULT, is_indented=True), classes="job-value")

    def _draw_draft(self) -> None:
        """Of hundreds of pieces a second, a few times a second."""
        visit, progress = self._visit, self._visit.services.orchestrator.tools.progress
        panel = build_panel().classes("job-draft").props("aria-live=off")
        with panel:
            ui.label(visit.say("console-runs-draft")).classes("muted small")
            text = ui.label("").classes("text").props("dir=auto")
        panel.set_visibility(False)
        due: asyncio.TimerHandle | None = None

        def show() -> None:
            nonlocal due
            due = None
            if visit.page.is_deleted or visit.is_over:
                return
            draft = progress.find_draft(self._key)
            is_shown = draft is not None and self._watch.shows_words
            panel.set_visibility(is_shown)
            visible = draft.text[-_LONGEST_DRAFT:] if draft is not None and is_shown else ""
            text.set_text(visit.services.orchestrator.tools.guard.clean_partial(visible, locale=visit.opened_as.locale) if visible else "")

        def follow(key: str) -> None:
            nonlocal due
            if key == self._key and due is None:
                due = asyncio.get_running_loop().call_later(_TOGETHER, show)

        show()
        progress.draft_listeners.append(follow)
        visit.page.on_delete(lambda: progress.draft_listeners.remove(follow))


def _draw_streaming(visit: Visit, update: ShownUpdate) -> None:
    """Whether it still comes or is whole, and the request that it answers."""
    if update == NOTHING:
        return
    with ui.element("div").classes("acts small"):
        if update.status:
            tone = {"Complete": "good", "Error": "bad"}.get(update.status, "live")
            show_badge(visit.say("console-runs-streaming", status=update.status), tone=tone)
        if update.is_incomplete:
            show_badge(visit.say("console-runs-incomplete"), tone="warn")
        if update.request_id:
            ui.label(visit.say("console-runs-request", id=update.request_id)).classes("muted mono job-node-name")


def _show_fact(title: str, value: str) -> None:
    with ui.element("div").classes("job-fact"):
        ui.label(title).classes("muted small")
        ui.label(value).classes("strong")


def _say_cost(visit: Visit, usage: Usage) -> str:
    if usage.cost is None:
        return visit.say("console-runs-no-price")
    return format_money(visit.tr, usage.cost, usage.currency)
