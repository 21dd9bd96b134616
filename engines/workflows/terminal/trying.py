"""`sdelka workflow run`: plays a workflow in the terminal with its real engine. Models are really asked; nothing else of the outside is."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.cli.author.trying import load_mocks, open_model
from bot.cli.definition_files import load_classes
from bot.i18n.translate import Translator
from engines.workflows.core.definition import Workflow
from engines.workflows.rehearsal.case import WorkflowCase, is_query_known
from engines.workflows.rehearsal.playing import PlayableWorkflow, WorkflowPlayed, WorkflowScript, rehearse_workflow
from engines.workflows.terminal.loading import LoadedWorkflow
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunFailed, RunModelRequest, RunUpdate
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.beginning import PERSONS
from orchestrator.rehearsals.rehearsal import Happening, Place, TakeText
from orchestrator.rehearsals.script import AskModel, ask_no_model
from state.clock import SystemClock
from state.stored import JsonObject


class Watcher:
    """Is told of what happens while a workflow is played, by the names of its tuums. Each method does nothing of itself."""

    def begin(self, tuum: str) -> None:
        """Take in that a model is being asked."""

    def add(self, tuum: str, piece: str) -> None:
        """Take in the next piece of an answer that is shown while it comes."""

    def show(self, tuum: str, text: str, update: JsonObject) -> None:
        """Take in what a rune or a script shows: a whole text as a chat shows it, "" for a change; and the update as clients get it."""

    def answer(self, tuum: str, text: str, *, was_shown: bool) -> None:
        """Take in the whole answer of a model; `was_shown` says whether its pieces have gone to the watcher or to a script."""

    def fail(self, tuum: str, why: str) -> None:
        """Take in that a model gave no answer."""

    def finish(self, tuum: str) -> None:
        """Take in that a tuum has ended well."""

    def note(self, happening: Happening) -> None:
        """Take in anything else: an effect, or the failure of the run."""


@dataclass(frozen=True, kw_only=True)
class GivenMocks:
    """What files say in the place of the outside."""

    answers: Mapping[str, Any] | None = None
    """What models answer, by tuum; None if they are really asked."""
    queries: Mapping[str, Any] = field(default_factory=dict)
    """What reads of the portal give."""


class WorkflowOutside(WorkflowScript):
    """The outside of a workflow that is tried: a read that no file answers is refused, and a watcher is told of everything."""

    def __init__(self, loaded: LoadedWorkflow, given: GivenMocks, model: AskModel, watcher: Watcher, find_classes: FindClasses) -> None:
        """Answer by what is given; `model` answers for tuums that have no answer there."""
        test = WorkflowCase(name=loaded.playable.key, answers=dict(given.answers or {}), queries=dict(given.queries))
        super().__init__(test, model=model, find_classes=find_classes, is_strict=False)
        self._tuums, self._watcher = {one.id: one.tuum for one in loaded.compiled.tuums}, watcher

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Return the answer of a tuum's model. Raises RunFailed."""

        async def take(piece: str) -> None:
            self._watcher.add(place.step, piece)
            if on_delta is not None:
                await on_delta(piece)

        self._watcher.begin(place.step)
        is_for_script = on_delta is not None and self._tuums[place.step].chunk_callback is not None
        taken = on_delta if is_for_script else take if request.is_shown or on_delta is not None else None
        try:
            answer = await super().ask_model(place, request, taken)
        except RunFailed as error:
            if not self.problem:
                self._watcher.fail(place.step, error.detail)
            raise
        self._watcher.answer(place.step, str(answer), was_shown=taken is not None)
        return answer

    async def read_memo(self, place: Place, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what the run notes. What a tuum publishes is noted when it has ended."""
        noted = await super().read_memo(place, make)
        if "/" not in place.node and place.step in self._tuums:
            self._watcher.finish(place.step)
        return noted

    def show(self, place: Place, update: RunUpdate) -> None:
        """Hand on what a tuum shows; what the run tells of itself is told at the end."""
        told = (update.patch or {}).get("displayUpdate")
        if place.step in self._tuums and isinstance(told, Mapping):
            self._watcher.show(place.step, update.text, told)

    def tell(self, happening: Happening) -> None:
        """Hand on what no method here has told already."""
        super().tell(happening)
        if happening.kind != "model" and not self.problem:
            self._watcher.note(happening)


def load_given(answers: Path | None, queries: Path | None, workflow: PlayableWorkflow) -> GivenMocks:
    """Return what files give by tuum, and by method or node. Raises SettingsError, also for a name that there is not."""
    tuums, find_classes = list(workflow.ids), load_classes()
    wanted = "the answers of models by tuum are needed, such as letter: Good morning"
    reads = "what reads give by method is needed, such as crm.deal.list: []"
    is_query = lambda name: is_query_known(name, tuums, find_classes)  # noqa: E731 - reads as the argument that it is
    return GivenMocks(
        answers=load_mocks(answers, wanted, "tuum", tuums, is_known=tuums.__contains__) if answers is not None else None,
        queries=load_mocks(queries, reads, "tuum or method", [], is_known=is_query) if queries is not None else {},
    )


def list_parameters(workflow: Workflow, tr: Translator) -> list[LaunchParameter]:
    """Return what a workflow is started with: its parameters, before them the number of its record if it works on one."""
    kind = workflow.record
    if kind is None:
        return workflow.trigger_parameters
    return [LaunchParameter(name=kind, description=tr.translate("workflow-cli-record", kind=kind)), *workflow.trigger_parameters]


def play_workflow(loaded: LoadedWorkflow, parameters: JsonObject, given: GivenMocks, watcher: Watcher) -> WorkflowPlayed:
    """Play a workflow with these parameters and return what came of it. Raises SettingsError."""

    async def play() -> WorkflowPlayed:
        async with contextlib.AsyncExitStack() as stack:
            model = await stack.enter_async_context(open_model()) if given.answers is None else ask_no_model
            scripts = await stack.enter_async_context(ScriptRunner())
            outside = WorkflowOutside(loaded, given, model, watcher, load_classes())
            args = {PARAMETERS: Value(parameters, PERSONS)}
            return await rehearse_workflow(loaded.playable, args, outside, scripts, now=SystemClock().now())

    return asyncio.run(play())
