"""`sdelka flow run`: plays a flow with its real engine. Only models are really asked. Which files are flows and agents, too."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bot.cli.author.faces import Family, LiveFace, TryOptions
from bot.cli.author.trying import PROGRAM_ERROR, collect_parameters, load_mocks, open_model, split_parameters, try_file_or_key, write_text
from bot.cli.author.work import exit_unless
from bot.cli.ops import escape_text, write_json_lines
from bot.cli.options import Language
from bot.i18n.translate import Translator
from bot.rehearsing.words import cut_text, render_plain_reply
from engines.flows.core.definition import AGENT, Flow
from engines.flows.core.engine import FlowEngine
from engines.flows.core.kind import FLOW, list_agents
from engines.flows.playing import FlowCase, PlayableFlow, rehearse_flow
from orchestrator.domain.outputs import Text
from orchestrator.engines.runs import RunFailed, RunModelRequest, RunResult
from orchestrator.rehearsals.rehearsal import Happening, Place, TakeText
from orchestrator.rehearsals.script import AskModel, Script, ask_no_model, find_among
from state.canonical import dumps
from state.clock import SystemClock
from state.stored import JsonObject

FAMILY: Final = Family(
    whole=FLOW,
    part=AGENT,
    key_field="flowId",
    folder="agents",
    is_part=lambda data: "systemPrompt" in data and "steps" not in data,
    list_parts=list_agents,
)


def run(flow: str, *, param: list[str] | None, answers: Path | None, version: int, language: Language, as_json: bool) -> None:
    options = TryOptions(params=tuple(param or ()), answers_file=answers, language=language, as_json=as_json)
    exit_unless(try_file_or_key("flow", flow, version, options))


ShowEvent = Callable[[JsonObject, Happening | None], None]
"""Takes an event for programs, and the happening behind it."""


def write_event(event: JsonObject, _happening: Happening | None) -> None:
    write_json_lines([event])


@dataclass(frozen=True)
class PeopleView:
    flow: Flow
    tr: Translator

    def show(self, event: JsonObject, happening: Happening | None) -> None:
        step = next((step for step in self.flow.steps if step.id == event["step"]), None)
        title = step.name or step.id if step is not None else ""
        match event["event"]:
            case "step":
                tries = f" ({event['attempt']}/{step.max_attempts})" if step is not None and event["attempt"] > 1 else ""
                write_text(f"⏳ {title}{tries}")
            case "answer":
                answer = cut_text(event["text"]).strip()
                spoken = (f"\n{answer}" if "\n" in answer else f" {answer}") if answer else f" {self.tr.translate('author-empty')}"
                write_text(f"{'✅' if answer else '❌'} {title}:{spoken}")
            case "no_answer":
                write_text(f"❌ {title}: {self.tr.translate('author-no-answer', why=event['why'])}")
            case "effect":
                plan = self.tr.translate("author-planned", method=event["data"]["method"])
                write_text(f"[{event['step']}] {plan} {cut_text(dumps(event['data']['params']))}")
            case _ if happening is not None and happening.reply is not None:
                write_text(render_plain_reply(happening.reply, self.tr))
                if happening.data == PROGRAM_ERROR:
                    write_text(cut_text(happening.text))

    def end(self, result: RunResult, problem: str) -> None:
        if problem:
            sys.stderr.write(escape_text(self.tr.translate("author-unfinished", why=problem)) + "\n")
            return
        if result.reply is not None:
            texts = tuple(part for part in result.reply.parts if isinstance(part, Text))  # the answers of the steps have been shown already
            write_text(f"\n{render_plain_reply(result.reply.model_copy(update={'parts': texts}), self.tr)}\n")
        write_text("— " + self.tr.translate("author-ended", outcome=result.status))


class FlowOutside(Script):
    """The outside of a try: effects are only planned and shown."""

    def __init__(self, test: FlowCase, model: AskModel, show: ShowEvent) -> None:
        """`model` answers where the test does not."""
        super().__init__(test, model=model)
        self._show = show

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Raises RunFailed and RehearsalStopped."""
        _, visit, number, *further = place.node.split("/")
        attempt = {"step": place.step, "visit": int(visit), "attempt": int(number)}
        if not further:
            self._show({"event": "step", **attempt}, None)
        try:
            answer = await super().ask_model(place, request, on_delta)
        except RunFailed as error:
            self._show({"event": "no_answer", **attempt, "why": error.detail}, None)
            raise
        if isinstance(answer, str):
            self._show({"event": "answer", **attempt, "text": answer}, None)
        return answer

    def tell(self, happening: Happening) -> None:
        if happening.kind not in {"model", "wait"}:
            event = {"event": happening.kind, "step": happening.place.step, "text": happening.text, "data": happening.data}
            self._show(event, happening)


def try_flow(playable: PlayableFlow, options: TryOptions, tr: Translator) -> bool:
    """Return whether it ended well; triggers do not matter to its author. Raises SettingsError."""
    document = {name: part for name, part in playable.document.items() if name != "triggers"}
    flow = Flow.model_validate(document)
    steps = [step.id for step in flow.steps]
    content = "the answers of agents by step are needed, such as draft: Good morning"
    path = options.answers_file
    answers = load_mocks(path, content, "step", steps, is_known=steps.__contains__) if path is not None else None
    parameters = collect_parameters(flow.launch_parameters, split_parameters(options.params), sys.stdin, tr)
    test = FlowCase(name=playable.key, answers=dict(answers or {}), parameters=parameters)
    view = PeopleView(flow, tr)
    show = write_event if options.as_json else view.show

    async def play(model: AskModel) -> tuple[RunResult, str]:
        outside, engine = FlowOutside(test, model, show), FlowEngine(find_among(playable.agents))
        return await rehearse_flow(playable.key, document, engine, outside, test, now=SystemClock().now())

    async def play_with_model() -> tuple[RunResult, str]:
        async with open_model() as model:
            return await play(model)

    result, problem = asyncio.run(play(ask_no_model) if answers is not None else play_with_model())
    if options.as_json:
        outcome = "unfinished" if problem else result.status
        show({"event": "end", "outcome": outcome, "code": result.code, "problem": problem, "result": result.value.data}, None)
    else:
        view.end(result, problem)
    return not problem and result.status == "done"


LIVE: Final = LiveFace(play=try_flow, takes=frozenset({"--param", "--answers"}))
