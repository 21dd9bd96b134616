"""`sdelka workflow run`: plays a workflow with its real engine. Only models are really asked."""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from bot.cli.author.faces import LiveFace, TryOptions
from bot.cli.author.trying import collect_parameters, load_mocks, open_model, split_parameters, write_text
from bot.cli.definition_desk import load_classes
from bot.cli.ops import escape_text, write_json_lines
from bot.i18n.translate import Translator
from bot.rehearsing.words import cut_text, render_plain_reply
from engines.workflows.cases import compile_playable
from engines.workflows.core.compile import CompiledWorkflow
from engines.workflows.core.definition import Workflow
from engines.workflows.core.execution import STOPPED
from engines.workflows.playing import (
    PlayableWorkflow,
    WorkflowCase,
    WorkflowPlayed,
    WorkflowScript,
    describe_operation,
    is_query_known,
    rehearse_workflow,
)
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunFailed, RunModelRequest, RunUpdate
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.engines.shared.rendering import render_plain
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.case import PERSONS
from orchestrator.rehearsals.rehearsal import Happening, Place, TakeText
from orchestrator.rehearsals.script import AskModel, ask_no_model
from state.clock import SystemClock
from state.stored import JsonObject


class ProgramView:
    def show(self, event: JsonObject, *, text: str = "", was_shown: bool = False, happening: Happening | None = None) -> None:
        del text, was_shown, happening
        write_json_lines([event])

    def end(self, played: WorkflowPlayed) -> None:
        outcome = "unfinished" if played.problem else "done" if played.result.is_success else "failed"
        result = played.result.model_dump(mode="json", by_alias=True, exclude_none=True)
        write_json_lines([{"event": "end", "outcome": outcome, "problem": played.problem, "result": result}])


class PeopleView:
    """Sentences on stdout. Whenever another tuum speaks, a line begins with its title."""

    def __init__(self, tr: Translator, compiled: CompiledWorkflow) -> None:
        self._tr, self._titles = tr, {tuum.id: tuum.tuum.metadata.title or tuum.id for tuum in compiled.tuums}
        self._speaker = ""
        self._shown: dict[str, str] = {}

    def show(self, event: JsonObject, *, text: str = "", was_shown: bool = False, happening: Happening | None = None) -> None:
        """`text` is the whole text of an update, "" for a change; `was_shown`: it came in pieces."""
        title = self._titles.get(event["tuum"], "")
        match event["event"]:
            case "ask":
                self._write(f"⏳ {title}")
            case "text":
                self._add(event["tuum"], event["added"])
            case "display":
                self._update(event["tuum"], text or str(event["displayUpdate"].get("Content", "")))
            case "answer" if not was_shown:
                self._write(f"[{title}] {cut_text(event['text']).strip() or self._tr.translate('author-empty')}")
            case "no_answer":
                self._write(f"❌ {title}: {self._tr.translate('author-no-answer', why=event['why'])}")
            case "tuum":
                self._write(f"✅ {title}")
            case "failure" if happening is not None and happening.reply is not None:
                self._write(render_plain_reply(happening.reply, self._tr))

    def _add(self, tuum: str, piece: str) -> None:
        if self._speaker != tuum:
            self._close_line()
            write_text(f"[{self._titles[tuum]}] ", end="")
            self._speaker = tuum
        write_text(piece, end="")

    def _update(self, tuum: str, content: str) -> None:
        """Write only what is new of a text that has become longer."""
        before = self._shown.get(tuum, "")
        if before and content.startswith(before) and self._speaker == tuum:
            self._add(tuum, content[len(before) :])
        else:
            self._close_line()
            self._add(tuum, content)
        self._shown[tuum] = content

    def end(self, played: WorkflowPlayed) -> None:
        self._close_line()
        if played.problem:
            sys.stderr.write(escape_text(self._tr.translate("author-unfinished", why=played.problem)) + "\n")
            return
        result = played.result
        if result.raw_text:
            write_text(f"\n{render_plain(result.raw_text)}\n")
        if result.error_message and result.error_code != STOPPED:  # of one that stopped itself they are the sentence above
            write_text(cut_text(result.error_message))
        if played.proposed:
            write_text(self._tr.translate("workflow-cli-proposed", count=len(played.proposed)))
            for operation in played.proposed:
                write_text(f"  • {describe_operation(operation, self._tr)}")
        for field in played.left_out:
            write_text(self._tr.translate("run-left-out", field=field))
        if result.finished:
            write_text(self._tr.translate("workflow-cli-finished", names=", ".join(self._titles[tuum] for tuum in result.finished)))
        write_text("— " + self._tr.translate("author-ended", outcome="done" if result.is_success else "failed"))

    def _write(self, line: str) -> None:
        self._close_line()
        write_text(line)

    def _close_line(self) -> None:
        if self._speaker:
            write_text("")
        self._speaker = ""


class WorkflowOutside(WorkflowScript):
    """The outside of a try: unknown reads are refused, and a view shows everything."""

    def __init__(
        self, test: WorkflowCase, compiled: CompiledWorkflow, model: AskModel, view: ProgramView | PeopleView, find_classes: FindClasses
    ) -> None:
        """`model` answers for tuums that have no answer in the test."""
        super().__init__(test, model=model, find_classes=find_classes, is_strict=False)
        self._tuums, self._view = {tuum.id: tuum.tuum for tuum in compiled.tuums}, view

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Raises RunFailed."""

        async def take(piece: str) -> None:
            self._view.show({"event": "text", "tuum": place.step, "added": piece})
            if on_delta is not None:
                await on_delta(piece)

        self._view.show({"event": "ask", "tuum": place.step})
        is_for_script = on_delta is not None and self._tuums[place.step].chunk_callback is not None
        take_piece = on_delta if is_for_script else take if request.is_shown or on_delta is not None else None
        try:
            answer = await super().ask_model(place, request, take_piece)
        except RunFailed as error:
            if not self.problem:
                self._view.show({"event": "no_answer", "tuum": place.step, "why": error.detail})
            raise
        self._view.show({"event": "answer", "tuum": place.step, "text": str(answer)}, was_shown=take_piece is not None)
        return answer

    async def read_memo(self, place: Place, make: Callable[[], Awaitable[Any]]) -> Any:
        """What a tuum publishes is noted when it has ended."""
        noted = await super().read_memo(place, make)
        if "/" not in place.node and place.step in self._tuums:
            self._view.show({"event": "tuum", "tuum": place.step})
        return noted

    def show(self, place: Place, update: RunUpdate) -> None:
        display = (update.patch or {}).get("displayUpdate")
        if place.step in self._tuums and isinstance(display, Mapping):
            self._view.show({"event": "display", "tuum": place.step, "displayUpdate": display}, text=update.text)

    def tell(self, happening: Happening) -> None:
        super().tell(happening)
        if happening.kind != "model" and not self.problem:
            place = {"tuum": happening.place.step, "node": happening.place.node}
            event = {"event": happening.kind, **place, "text": happening.text, "data": happening.data}
            self._view.show(event, happening=happening)


def _load_case(key: str, options: TryOptions, tuums: list[str], find_classes: FindClasses) -> WorkflowCase:
    """Return answers by tuum, and reads by method or node. Raises SettingsError, also for an unknown name."""
    answers, queries = options.answers_file, options.queries_file
    content = "the answers of models by tuum are needed, such as letter: Good morning"
    reads = "what reads give by method is needed, such as crm.deal.list: []"
    is_query = lambda name: is_query_known(name, tuums, find_classes)  # noqa: E731 - reads as the argument that it is
    return WorkflowCase(
        name=key,
        answers=dict(load_mocks(answers, content, "tuum", tuums, is_known=tuums.__contains__)) if answers is not None else {},
        queries=dict(load_mocks(queries, reads, "tuum or method", [], is_known=is_query)) if queries is not None else {},
    )


def _list_parameters(workflow: Workflow, tr: Translator) -> list[LaunchParameter]:
    """Parameters, before them the number of the record if the workflow has one."""
    kind = workflow.record
    if kind is None:
        return workflow.trigger_parameters
    return [LaunchParameter(name=kind, description=tr.translate("workflow-cli-record", kind=kind)), *workflow.trigger_parameters]


def try_workflow(playable: PlayableWorkflow, options: TryOptions, tr: Translator) -> bool:
    """Return whether it ended well. Raises SettingsError."""
    compiled, find_classes = compile_playable(playable), load_classes()
    test = _load_case(playable.key, options, [tuum.id for tuum in compiled.tuums], find_classes)
    parameters = collect_parameters(_list_parameters(compiled.workflow, tr), split_parameters(options.params), sys.stdin, tr)
    view = ProgramView() if options.as_json else PeopleView(tr, compiled)

    async def play() -> WorkflowPlayed:
        async with contextlib.AsyncExitStack() as stack:
            model = await stack.enter_async_context(open_model()) if options.answers_file is None else ask_no_model
            scripts = await stack.enter_async_context(ScriptRunner())
            outside = WorkflowOutside(test, compiled, model, view, find_classes)
            return await rehearse_workflow(playable, {PARAMETERS: Value(parameters, PERSONS)}, outside, scripts, now=SystemClock().now())

    played = asyncio.run(play())
    view.end(played)
    return not played.problem and played.result.is_success


LIVE: Final = LiveFace(play=try_workflow, takes=frozenset({"--param", "--answers", "--queries"}))
