from dataclasses import dataclass
from typing import Final, get_args
from urllib.parse import urlencode

from nicegui import ui

from bot.console.runs.starting import StartDialog, list_choices
from bot.console.runs.words import STATUSES, TONES, say_engine, say_failure, say_left, say_status
from bot.console.visit import Visit
from bot.console.widgets import show_badge, show_empty, show_text
from bot.http_api.runs.run_models import RunLine, RunQuery, Status
from bot.http_api.runs.run_reader import RunEnding
from bot.http_api.server.errors import ApiError
from orchestrator.definitions.rules import find_key_mistake
from orchestrator.runs.titles import LONGEST_TITLE
from state.events.runs import RunStarted
from state.journal.run_index import PREFIX

PAGE: Final = 25
_LONGEST_CURSOR: Final = 3000


@dataclass(frozen=True, kw_only=True)
class Filters:
    """As the address says it."""

    engine: str = ""
    definition: str = ""
    status: Status | None = None
    is_own: bool = False
    cursor: str | None = None

    def build_address(self, **other: str | bool | None) -> str:
        """At the first page unless a cursor is given."""
        values = {"engine": self.engine, "definition": self.definition, "status": self.status, "mine": self.is_own, "cursor": None, **other}
        query = {name: "1" if one is True else str(one) for name, one in values.items() if one}
        return "/runs" + (f"?{urlencode(query)}" if query else "")


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """With how it has ended if it has."""

    run: RunLine
    title: str
    ending: RunEnding


@dataclass(frozen=True, kw_only=True)
class ListView:
    lines: tuple[ListedRun, ...]
    next: str | None


def read_filters(visit: Visit) -> Filters:
    """What is no filter is left out."""
    status = visit.query.get("status", "")
    engine = visit.query.get("engine", "")
    definition = visit.query.get("definition", "")
    cursor = visit.query.get("cursor", "")
    return Filters(
        engine=engine if engine in visit.services.engines.runs else "",
        definition=definition if find_key_mistake(definition) is None else "",
        status=next((arg for arg in get_args(Status) if arg == status), None),
        is_own=visit.query.get("mine") == "1",
        cursor=cursor[:_LONGEST_CURSOR] or None,
    )


async def show_runs(visit: Visit) -> None:
    filters = read_filters(visit)
    choices = await list_choices(visit)
    with ui.element("div").classes("job-filters").props(f'role=group aria-label="{visit.say("console-runs-filters")}"'):
        _draw_filters(visit, filters)
        if choices:
            dialog = StartDialog(visit, choices, chosen=visit.query.get("start", "")).dialog
            ui.button(visit.say("console-runs-start-title"), icon="add", on_click=dialog.open, color=None).props(
                "unelevated no-caps"
            ).classes("act-main")
            if visit.query.get("start"):
                dialog.open()
    await visit.keep_current(lambda: load_list(visit, filters), lambda view: _draw(visit, filters, view))


async def load_list(visit: Visit, filters: Filters) -> ListView:
    """An invalid cursor gives the first page."""
    try:
        return await _load(visit, filters, filters.cursor)
    except ApiError:
        return await _load(visit, filters, None)


async def _load(visit: Visit, filters: Filters, cursor: str | None) -> ListView:
    run_query = RunQuery.model_construct(
        status=(filters.status,) if filters.status else (),
        engine=filters.engine or None,
        definition=filters.definition or None,
        cursor=cursor,
        limit=PAGE,
    )
    page = await visit.services.runs.list_runs(visit.caller, run_query, is_own=filters.is_own)
    return ListView(lines=tuple([await _complete_line(visit, run_line) for run_line in page.runs]), next=page.next)


async def _complete_line(visit: Visit, line: RunLine) -> ListedRun:
    return ListedRun(run=line, title=await _find_title(visit, line), ending=await visit.services.runs.find_ending(line))


async def _find_title(visit: Visit, line: RunLine) -> str:
    """That with which the run began, without one the key of its definition."""
    events = await visit.services.store.read_events(f"{PREFIX}{line.id}", limit=1)
    if not events or events[0].type != RunStarted.__name__ or events[0].erased:
        return line.definition
    return (RunStarted.from_data(events[0].data).title or line.definition)[:LONGEST_TITLE]


def _draw_filters(visit: Visit, filters: Filters) -> None:
    def go(**other: str | bool | None) -> None:
        visit.page.open(filters.build_address(**other))

    engines = {"": visit.say("console-runs-any-engine")} | {name: say_engine(visit, name) for name in visit.services.engines.runs}
    what, state = visit.say("console-runs-what"), visit.say("console-runs-state-title")
    chosen = ui.select(engines, label=what, value=filters.engine, on_change=lambda event: go(engine=event.value))
    chosen.props("outlined dense options-dense")
    statuses = {"": visit.say("console-runs-any-status")} | {status: say_status(visit, status) for status in STATUSES}
    chosen = ui.select(statuses, label=state, value=filters.status or "", on_change=lambda event: go(status=event.value))
    chosen.props("outlined dense options-dense")
    if visit.viewer.is_lead:
        ui.switch(visit.say("console-runs-mine"), value=filters.is_own, on_change=lambda event: go(mine=bool(event.value)))
    if filters.definition:
        only = ui.button(
            visit.say("console-runs-only", key=filters.definition), icon="close", on_click=lambda: go(definition=""), color=None
        )
        only.props("outline dense no-caps")


def _draw(visit: Visit, filters: Filters, view: ListView) -> None:
    if not view.lines:
        show_empty(visit.say("console-runs-none"))
    with ui.element("div").classes("job-list"):
        for line in view.lines:
            _draw_line(visit, line)
    with ui.element("nav").classes("acts").props(f'aria-label="{visit.say("console-runs-pages")}"'):
        if filters.cursor:
            ui.link(visit.say("console-runs-first"), filters.build_address())
        if view.next:
            ui.link(visit.say("console-runs-next"), filters.build_address(cursor=view.next))


def _draw_line(visit: Visit, listed_run: ListedRun) -> None:
    line = listed_run.run
    with ui.link(target=f"/runs/{line.id}").classes("line job-line"):
        with ui.element("div"):
            ui.label(listed_run.title).classes("strong job-line-title").props("dir=auto")
            if listed_run.ending.failure is not None:
                show_text(say_failure(visit, listed_run.ending.failure), classes="small job-bad")
            elif sentence := say_left(visit, listed_run.ending.changes):
                show_text(sentence, classes="small job-unmade")
        show_badge(say_status(visit, line.status), tone=TONES[line.status])
        ui.label(f"{say_engine(visit, line.engine)} · {line.owner.name or line.owner.id}").classes("muted small job-line-who").props(
            "dir=auto"
        )
        ui.label(visit.tr.format_time(line.started_at)).classes("muted small job-line-time")
