"""The nodes of one step: what each was begun with, gave and used."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from nicegui import ui

from bot.console.runs.history import NodeLine
from bot.console.runs.watch import RunWatch
from bot.console.runs.words import TONES, say_failure, say_kind, say_origins, say_state, say_use
from bot.console.visit import Visit
from bot.console.widgets import show_badge, show_empty, show_text
from bot.console.words import describe_call
from bot.http_api.audit.run_events import format_value
from bot.http_api.runs.run_models import RunError
from orchestrator.reports.node_inputs import NodeInput, read_node_inputs
from state.events.runs import NodeFailed, RunWaits, RunWoken

Act = Callable[[str], Awaitable[None]]

MOST_NODES: Final = 100
"""Nodes of a step that are listed, the last ones."""
OPENED: Final = 3
"""Nodes that are open when a step is chosen."""
LONGEST: Final = 6_000
LARGE: Final = 60_000
"""Characters at first, and of a value that was asked for."""
_MOST_MESSAGES: Final = 40


@dataclass(frozen=True, kw_only=True)
class NodeDetail:
    """As far as the person may read it."""

    line: NodeLine
    is_open: bool = False
    messages: tuple[tuple[str, str], ...] = ()
    method: str = ""
    given: str = ""
    output: str = ""
    detail: str = ""
    needs_load: bool = False
    """Large, and not asked for yet."""
    has_inputs: bool = True
    """It could be found out with what the node was begun."""


@dataclass(frozen=True, kw_only=True)
class StepNodes:
    step: str
    title: str
    nodes: tuple[NodeDetail, ...] = ()
    left_out: int = 0
    shows_words: bool = True


class NodeLoader:
    """For the chosen step and the open nodes."""

    def __init__(self, visit: Visit, watch: RunWatch) -> None:
        self._visit, self._watch = visit, watch
        self.step: str | None = None
        self._open: set[str] = set()
        self._whole: set[str] = set()
        self._inputs: Mapping[str, NodeInput] = {}
        self._inputs_of = -1

    def choose(self, step: str) -> None:
        """ "" for those of the run as a whole."""
        self.step = step
        nodes = self._watch.list_nodes(step)
        first = [node for node in nodes if node.kind == "model" or node.state in {"failed", "waiting"}] or nodes
        self._open |= {node_line.node for node_line in first[-OPENED:]}

    def toggle(self, node: str) -> None:
        self._open ^= {node}

    def ask_whole(self, node: str) -> None:
        self._whole.add(node)

    async def load(self) -> StepNodes | None:
        """None while no step is chosen."""
        view = await self._watch.load()
        if self.step is None:
            return None
        nodes = self._watch.list_nodes(self.step)
        title = next((step.title for step in view.steps if step.key == self.step), "")
        lines = nodes[-MOST_NODES:]
        if view.shows_words and any(node_line.node in self._open for node_line in lines):
            await self._load_inputs(view.seq)
        details = [await self._load_node(node_line, shows_words=view.shows_words) for node_line in lines]
        return StepNodes(step=self.step, title=title, nodes=tuple(details), left_out=len(nodes) - len(lines), shows_words=view.shows_words)

    async def _load_inputs(self, seq: int) -> None:
        """Anew when something has happened since."""
        if self._inputs_of == seq:
            return
        services, found_run = self._visit.services, await self._watch.find()
        registered = services.startable.runs.get(found_run.run.engine)
        if registered is not None:
            self._inputs = await read_node_inputs(found_run.key, found_run.run, registered, services.orchestrator.tools)
        self._inputs_of = seq

    async def _load_node(self, line: NodeLine, *, shows_words: bool) -> NodeDetail:
        if line.node not in self._open:
            return NodeDetail(line=line)
        if not shows_words:
            return NodeDetail(line=line, is_open=True)
        node_input = self._inputs.get(line.node)
        needs_load = line.has_blob and line.node not in self._whole
        output, detail = ("", "") if needs_load else await self._load_words(line)
        return NodeDetail(
            line=line,
            is_open=True,
            messages=tuple((role, cut(text)) for role, text in node_input.messages[:_MOST_MESSAGES]) if node_input is not None else (),
            method=node_input.method if node_input is not None else "",
            given=format_value(node_input.params, limit=LONGEST, is_indented=True) if node_input is not None and node_input.params else "",
            output=output,
            detail=detail,
            needs_load=needs_load and line.kind != "say",
            has_inputs=node_input is not None or line.kind not in {"model", "effect"},
        )

    async def _load_words(self, line: NodeLine) -> tuple[str, str]:
        """(What a node gave, why it failed)."""
        event = await self._watch.load_event(line.seq)
        if event is None or event.erased:
            return "", ""
        match event.type:
            case NodeFailed.__name__:
                return "", format_value(NodeFailed.from_data(event.data).detail, limit=LONGEST)
            case RunWoken.__name__:
                return format_value(RunWoken.from_data(event.data).value, limit=LONGEST, is_indented=True), ""
            case RunWaits.__name__:
                return RunWaits.from_data(event.data).question, ""
        limit = LARGE if line.node in self._whole else LONGEST
        return format_value(await self._watch.load_value(line.seq), limit=limit, is_indented=True), ""


def cut(text: str) -> str:
    """Without secrets, cut."""
    return format_value(text, limit=LONGEST)


def draw_nodes(visit: Visit, step_nodes: StepNodes | None, *, toggle: Act, load: Act, opens_prompts: bool = False) -> None:
    """`opens_prompts` saves a press where there is room for little else."""
    if step_nodes is None:
        show_empty(visit.say("console-runs-choose-step"))
        return
    ui.label(step_nodes.title or visit.say("console-runs-whole")).classes("strong").props("role=heading aria-level=3 dir=auto")
    if not step_nodes.shows_words:
        ui.label(visit.say("console-runs-no-words")).classes("muted small")
    if step_nodes.left_out:
        ui.label(visit.say("console-runs-left-out", count=step_nodes.left_out)).classes("muted small")
    if not step_nodes.nodes:
        show_empty(visit.say("console-runs-no-nodes"))
    for node in step_nodes.nodes:
        _draw_node(visit, node, toggle, load, opens_prompts=opens_prompts)


def _draw_node(visit: Visit, node_detail: NodeDetail, toggle: Act, load: Act, *, opens_prompts: bool) -> None:
    line = node_detail.line
    with ui.element("article").classes("job-node"):
        head = ui.element("button").classes("job-node-head").props("type=button")
        head.props["aria-expanded"] = "true" if node_detail.is_open else "false"
        head.props["aria-label"] = f"{say_kind(visit, line)} {line.node}, {say_state(visit, line.state)}"
        head.on("click", lambda: toggle(line.node))
        with head:
            ui.icon("expand_less" if node_detail.is_open else "expand_more").props("aria-hidden=true")
            ui.label(say_kind(visit, line)).classes("strong")
            show_badge(say_state(visit, line.state), tone=TONES[line.state])
            ui.label(line.node).classes("muted mono job-node-name").props("dir=auto")
        facts = [
            line.model,
            say_use(visit, line.prompt_tokens + line.completion_tokens, line.seconds),
            visit.tr.format_time(line.ended_at or line.begun_at),
        ]
        if line.attempt > 1:
            facts.append(visit.say("console-runs-attempt", number=line.attempt))
        ui.label(" · ".join(fact for fact in facts if fact)).classes("muted small")
        if node_detail.is_open:
            _draw_words(visit, node_detail, load, opens_prompts=opens_prompts)


def _draw_words(visit: Visit, node_detail: NodeDetail, load: Act, *, opens_prompts: bool) -> None:
    line = node_detail.line
    if line.state == "done" and line.kind != "say":
        _draw_part(visit.say("console-runs-taint"), say_origins(visit, line.origins), is_mono=False)
    if line.code:
        sentence = say_failure(visit, RunError(code=line.code, node=line.node, at=line.ended_at))
        _draw_part(visit.say("console-runs-error"), sentence, is_mono=False, is_bad=True)
        show_text(f"{line.code}\n{node_detail.detail}".strip(), classes="job-value muted")
    _draw_given(visit, node_detail, opens_prompts=opens_prompts)
    if line.kind == "run" and line.waits_for:
        ui.link(visit.say("console-runs-open-other"), f"/runs/{line.waits_for.removeprefix('run:')}")
    if node_detail.needs_load:
        ui.button(visit.say("console-runs-load"), icon="download", on_click=lambda: load(line.node), color=None).props("flat no-caps dense")
    elif node_detail.output:
        _draw_part(visit.say("console-runs-answer-of" if line.kind == "model" else "console-runs-output"), node_detail.output)


def _draw_given(visit: Visit, node_detail: NodeDetail, *, opens_prompts: bool) -> None:
    """A prompt, or a call."""
    line = node_detail.line
    if line.model and line.kind == "model":
        used = visit.say("console-runs-tokens", read=line.prompt_tokens, written=line.completion_tokens)
        _draw_part(visit.say("console-runs-used"), used, is_mono=False)
    if node_detail.messages:
        with ui.element("details").classes("job-prompt").props("open" if opens_prompts else ""):
            with ui.element("summary"):
                ui.label(visit.say("console-runs-prompt", count=len(node_detail.messages)))
            for role, text in node_detail.messages:
                ui.label(visit.say("console-runs-role", role=role)).classes("muted small")
                show_text(text, classes="job-value")
    elif not node_detail.has_inputs:
        ui.label(visit.say("console-runs-no-inputs")).classes("muted small")
    if node_detail.method:
        _draw_part(
            visit.say("console-runs-call"),
            f"{describe_call(visit.tr, node_detail.method, ())} ({node_detail.method})\n{node_detail.given}".strip(),
        )


def _draw_part(title: str, text: str, *, is_mono: bool = True, is_bad: bool = False) -> None:
    ui.label(title).classes("muted small job-part")
    show_text(text, classes=("job-value " if is_mono else "") + ("job-bad" if is_bad else ""))
