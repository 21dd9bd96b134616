"""One run for its page: only what is new is read each time."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from bot.console.runs.history import NodeLine, RunHistory, StepState
from bot.console.runs.run_face import NO_FACE, RUN_FACE, Follower, RunFace
from bot.console.visit import Visit
from bot.http_api.runs.run_models import Run, Usage, value_use
from bot.http_api.runs.run_reader import FoundRun, load_large_output
from bot.i18n.translate import Translator
from bot.plugins.kind_face import build_definition_chart
from bot.plugins.loading import find_own_kind, find_part
from orchestrator.charts.chart import Box, Chart
from orchestrator.engines.runs import RunFailed
from orchestrator.runs.definitions import load_definition
from orchestrator.runs.memo import PAGE, load_output
from state.events.runs import NodeDone
from state.journal.store import StoredEvent

_TEXT: Final = ": "
"""Between what a step does and its text."""


@dataclass(frozen=True, kw_only=True)
class StepLine:
    """A box that is a step."""

    key: str
    """First part of its nodes' names; "" of the run as a whole."""
    title: str
    state: StepState | None
    """None for a step that has left no trace."""
    nodes: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RunView:
    run: Run
    usage: Usage
    chart: Chart | None
    steps: tuple[StepLine, ...]
    told: tuple[tuple[str, str], ...]
    """What a flow's result says, as (title, text)."""
    shows_words: bool
    seq: int


class RunWatch:
    """For one open page. All methods raise StoreError, and ApiError 404 once the run may not be seen."""

    def __init__(self, visit: Visit, run_id: str) -> None:
        self._visit, self._run_id = visit, run_id
        self.history = RunHistory()
        self._face = NO_FACE
        self._follower: Follower | None = None
        self._chart: Chart | None = None
        self._document: object = None
        self._has_chart = False
        self._lock = asyncio.Lock()
        self._view: RunView | None = None

    @property
    def shows_words(self) -> bool:
        """When the run was last read."""
        return self._view is not None and self._view.shows_words

    async def find(self) -> FoundRun:
        return await self._visit.services.runs.find_run(self._visit.caller, self._run_id)

    async def load(self) -> RunView:
        """The same as before if nothing has happened."""
        async with self._lock:
            visit, services = self._visit, self._visit.services
            found_run = await self.find()
            words = visit.viewer.may_see_run(found_run.run.owner, with_words=True)
            if self._view is not None and (self._view.seq, self._view.shows_words) == (found_run.seq, words):
                return self._view
            await self._read_chart(found_run)
            await self._catch_up(found_run)
            run = await services.runs.describe_run(visit.caller, found_run)
            self._view = self._build_view(run, found_run, words=words)
            return self._view

    async def _read_chart(self, found_run: FoundRun) -> None:
        store = self._visit.services.store
        if self._has_chart or not (events := await store.read_events(found_run.key, limit=1)):
            return
        self.history.add(events[0])
        started = self.history.started
        self._has_chart = True
        if started is None:
            return
        try:
            document = (await load_definition(started, self._visit.services.orchestrator.tools)).document
        except RunFailed:  # its text is gone: the nodes are shown without a graph
            return
        self._face = find_part(RUN_FACE, started.engine) or NO_FACE
        self._follower = self._face.follow(document)
        if self._follower is not None:
            self._follower.add(events[0])
        self._document = document
        self._chart = _draw(self._visit.tr, self._face, started.engine, document, {})

    async def _catch_up(self, found_run: FoundRun) -> None:
        store, drawn = self._visit.services.store, self._find_parts_seq()
        while self.history.seq < found_run.seq and (page := await store.read_events(found_run.key, self.history.seq, PAGE)):
            for event in page:
                self.history.add(event)
                if self._follower is not None:
                    self._follower.add(await load_large_output(event, store))
        if (seq := self._find_parts_seq()) != drawn and self._chart is not None:
            parts = await self.load_value(seq)
            self._chart = _draw(
                self._visit.tr, self._face, found_run.run.engine, self._document, parts if isinstance(parts, Mapping) else {}
            )

    def _find_parts_seq(self) -> int:
        """Number of the event with the parts that the chart shows; 0 for none."""
        node = self.history.find_node(self._face.parts_node)
        return node.seq if node is not None else 0

    async def load_event(self, seq: int) -> StoredEvent | None:
        """None if there is none."""
        events = await self._visit.services.store.read_events(f"run:{self._run_id}", after=seq - 1, limit=1)
        return events[0] if events and events[0].seq == seq else None

    async def load_value(self, seq: int) -> object:
        """By the number of the node's last event; None if gone, erased, or nothing."""
        event = await self.load_event(seq)
        if event is None or event.erased or event.type != NodeDone.__name__:
            return None
        try:
            return (await load_output(NodeDone.from_data(event.data), self._visit.services.store)).data
        except RunFailed:
            return None

    def _build_view(self, run: Run, found_run: FoundRun, *, words: bool) -> RunView:
        budget = self._visit.services.orchestrator.tools.gate.deps.policies.now().budget
        boxes = self._chart.boxes if self._chart is not None else ()
        titles = {box.key: _TEXT.join(part for part in (box.title, box.text) if part) for box in boxes if box.key}
        keys = list(titles)
        states = self.history.find_states(keys, found_run.run, are_side_by_side=self._face.are_steps_side_by_side)
        if self._follower is not None:
            states = {key: state for key in keys if (state := self._follower.find_state(key)) is not None}
        nodes = self.history.list_nodes()
        steps = [_sum_step(key, titles[key], states.get(key), [node for node in nodes if node.step == key]) for key in keys]
        known = set(keys)
        if rest := [node for node in nodes if node.step not in known]:
            steps.append(_sum_step("", "", None, rest))
        return RunView(
            run=run,
            usage=value_use(budget, self.history.used, self.history.seconds),
            chart=self._chart,
            steps=tuple(steps),
            told=self._tell_result(run.result),
            shows_words=words,
            seq=found_run.seq,
        )

    def _tell_result(self, result: object) -> tuple[tuple[str, str], ...]:
        if self._follower is None or not isinstance(result, Mapping):
            return ()
        person = self._visit.opened_as
        today = datetime.now(ZoneInfo(person.time_zone)).date().isoformat()
        return tuple(self._follower.tell_result(result, today=today, locale=person.locale))

    def list_nodes(self, step: str) -> list[NodeLine]:
        """ "" for those of the run as a whole; in the order in which they began."""
        if step:
            return self.history.list_nodes(step)
        known = {step_line.key for step_line in self._view.steps} if self._view is not None else set()
        return [node for node in self.history.list_nodes() if node.step not in known]


def _draw(tr: Translator, face: RunFace, engine: str, document: object, parts: Mapping[str, object]) -> Chart | None:
    """The key of a box is the first part of its nodes' names."""
    drawn = build_definition_chart(find_own_kind(engine), document, parts)
    if drawn is None or not drawn.boxes:
        return None
    chart = say_chart(tr, face, document, drawn)
    return replace(chart, boxes=[replace(box, key=face.name_nodes(place, box.key, parts)) for place, box in enumerate(chart.boxes)])


def _sum_step(key: str, title: str, state: StepState | None, nodes: list[NodeLine]) -> StepLine:
    return StepLine(
        key=key,
        title=title,
        state=state,
        nodes=len(nodes),
        tokens=sum(node.prompt_tokens + node.completion_tokens for node in nodes),
        seconds=round(sum(node.seconds for node in nodes), 1),
    )


_BETWEEN: Final = " · "
"""Between id and title of a step."""


def say_chart(tr: Translator, face: RunFace, document: object, chart: Chart) -> Chart:
    """Boxes keep places and keys."""
    boxes = [face.say_box(tr, document, place, box) or _say_box(tr, box) for place, box in enumerate(chart.boxes)]
    arrows = [replace(arrow, label=_say_way(tr, arrow.label) if face.says_ways else "") for arrow in chart.arrows]
    return replace(chart, boxes=boxes, arrows=arrows)


def _say_box(tr: Translator, box: Box) -> Box:
    """A step by its title alone, what has none by its word."""
    if box.word:
        return replace(box, title=tr.translate(box.word), text="")
    name, _, title = box.title.partition(_BETWEEN)
    return replace(box, title=title if title and box.key.startswith(name) else box.title, text="")


def _say_way(tr: Translator, label: str) -> str:
    return tr.translate("console-runs-way", way=label.replace(", ", "-")) if label else ""
