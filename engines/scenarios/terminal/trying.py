"""`sdelka scenario run`: a scenario in the terminal. Nothing is sent and nothing is stored."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, TextIO

from bot.cli.author.faces import Family, LiveFace, TryOptions
from bot.cli.author.files import load_file, read_file
from bot.cli.author.trying import read_line, write_end, write_happening
from bot.cli.definition_desk import load_call_forms, load_classes, write_findings
from bot.cli.inputs import parse_arg
from bot.cli.ops import escape_text, open_models, write_json_lines
from bot.i18n.translate import Translator
from engines.scenarios.cases import PlayableScenario, build
from engines.scenarios.core.checks import SENTENCES
from engines.scenarios.core.kind import KIND
from engines.scenarios.core.plan import ACTION, ACTION_TYPE
from engines.scenarios.playing import Dialogue, Played, check_dialogue, find_known_steps, play_dialogue
from orchestrator.definitions.mistakes import report_mistake
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.documents.findings import MOST, Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.finding import Finding
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.domain.suggestions import suggest_name
from orchestrator.engines.runs import Ask, RunModelRequest
from orchestrator.gate.call.value_forms import is_phone
from orchestrator.rehearsals.case import Given
from orchestrator.rehearsals.rehearsal import Happening, Place, TakeText
from orchestrator.rehearsals.script import AnswerUnfit, AskModel, Script, ask_no_model, build_end, find_other_words, read_answer
from state.canonical import to_storable_text
from state.clock import SystemClock
from state.stored import JsonObject

_NAMED: Final[Mapping[str, str]] = {"execute_sub_scenario": "sub_scenario_id", "schedule_scenario_run": "scenario_id"}
_CODE: Final = "finding-scenario-elsewhere"


def find_unknown_uses(document: Document, known: Collection[str]) -> Iterator[Finding]:
    findings = Findings(document)
    reported: list[str] = []
    steps = document.data.get("steps") if isinstance(document.data, Mapping) else None
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        params = step.get("params") if isinstance(step, Mapping) else None
        if not isinstance(params, Mapping):
            continue
        kind = params.get(ACTION_TYPE) if step.get("type") == ACTION else step.get("type")
        field = _NAMED.get(kind) if isinstance(kind, str) else None
        started_key = params.get(field) if field is not None else None
        if field is not None and isinstance(started_key, str) and started_key and "{" not in started_key and started_key not in known:
            place = ("steps", index, "params", field)
            hint = suggest_name(started_key, known)
            if len(reported) == MOST:
                break
            reported.append(started_key)
            name = quote_part(started_key)
            report_mistake(findings, _CODE, place, sentences=SENTENCES, severity="warning", suggestion=hint, name=name)
    yield from findings.list_all()


FAMILY: Final = Family(whole=KIND, find_unknown=find_unknown_uses)


_NAME: Final = "run"
_SENT: Final = "@"
"""Begins a line that sends something in place of a text."""
_TIMEOUT: Final = "@timeout"
_PHOTOS: Final = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".heic"})
_LONGEST_NUMBER: Final = 4


class Terminal(Script):
    """Shows what happens, and asks at the keyboard what the script does not say."""

    def __init__(
        self, dialogue: Dialogue, *, model: AskModel, show: Callable[[Happening], None], stdin: TextIO | None, find_classes: FindClasses
    ) -> None:
        """Lines of `stdin` are the answers, None for a closed one."""
        super().__init__(dialogue, ask_further=self._ask_further, model=model, find_classes=find_classes, is_strict=False)
        self._show, self._stdin = show, stdin

    def tell(self, happening: Happening) -> None:
        super().tell(happening)
        self._show(happening)

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        """Raises ScriptEnded."""
        if self.left:
            return await super().answer(place, ask)
        while (line := await asyncio.to_thread(read_line, f"{_describe(ask)}> ", self._stdin)) is not None:
            try:
                return read_answer(read_typed(line, ask), ask, place)
            except AnswerUnfit as error:
                sys.stderr.write(escape_text(f"{error}.\n"))
        raise build_end(place, ask)

    async def _ask_further(self, place: Place, prompt: str) -> str | None:
        """In place of a model or an agent; None at the end of the input."""
        return await asyncio.to_thread(read_line, f"[{place.step}] {prompt}\n[{place.step}]> ", self._stdin)


def read_typed(line: str, ask: Ask) -> str | Given:
    """The number of a button is its words, @ with a path or a telephone sends that. Raises AnswerUnfit."""
    labels = [option.label for option in (*ask.options, *ask.controls)]
    if line in labels or find_other_words(line, ask) is not None:
        return line
    if line.isascii() and line.isdecimal() and len(line) <= _LONGEST_NUMBER and 0 < int(line) <= len(labels):
        return Given(press=labels[int(line) - 1])
    if line == _TIMEOUT and ask.timeout is not None:
        return Given(timeout=True)
    if not ask.takes - {"text"} or not (line.startswith(_SENT) or "text" not in ask.takes):
        return line
    sent = line.removeprefix(_SENT)
    if sent.startswith(_SENT) and "text" in ask.takes:
        return Given(text=sent)
    return _read_sent(sent, ask)


def _read_sent(sent: str, ask: Ask) -> Given:
    if "contact" in ask.takes and is_phone(sent) and not any(char.isalpha() for char in sent):
        return Given(contact=sent)
    path = Path(sent).expanduser()
    if not ask.takes & {"photo", "document"}:
        raise AnswerUnfit(f"{sent or 'nothing'} is no telephone such as +79990000000")
    if "\0" in sent or not path.is_file():
        raise AnswerUnfit(f"there is no file {sent}{_describe_text(ask)}")
    is_photo = "photo" in ask.takes and ("document" not in ask.takes or path.suffix.lower() in _PHOTOS)
    return Given(photo=path.name) if is_photo else Given(document=path.name)


def _describe_text(ask: Ask) -> str:
    return " (a text that begins with @ is typed with @@)" if "text" in ask.takes else ""


def _describe(ask: Ask) -> str:
    """A line above the prompt; "" if only text is taken."""
    ways = list(_list_ways(ask))
    return f"({'; '.join(ways)})\n" if ways else ""


def _list_ways(ask: Ask) -> Iterator[str]:
    files = [kind for kind in ("photo", "document") if kind in ask.takes]
    if files:
        yield f"@PATH of a file sends a {' or '.join(files)}"
    if "contact" in ask.takes:
        yield "@+79990000000 sends a contact"
    if ask.timeout is not None:
        yield f"{_TIMEOUT} lets the time run out"


def load_dialogue(playable: PlayableScenario, options: TryOptions) -> Dialogue:
    """Join a file of inputs (a list, or inputs with mocks and args) with the options. Raises SettingsError."""
    data: JsonObject = {}
    path = options.inputs_file
    if path is not None:
        reading = read_file(path)
        draft = reading.draft.data if reading.draft is not None else None
        data = {"inputs": draft} if isinstance(draft, list) else dict(draft) if isinstance(draft, Mapping) else {}
        findings = list(reading.findings)
        if reading.draft is not None:
            known = find_known_steps(playable.key, playable.documents, playable.types)
            findings += check_dialogue(replace(reading.draft, data={"name": _NAME, **data}), known)
        if any(finding.severity == "error" for finding in findings):
            write_findings(findings)
            raise SettingsError(escape_text(f"{path}: cannot be used as inputs"))
    dialogue = Dialogue.model_validate({"name": _NAME, **data})
    args = dict(parse_arg(param, "--param") for param in options.params)
    inputs = [*dialogue.inputs, *map(to_storable_text, options.inputs)]
    return dialogue.model_copy(update={"inputs": inputs, "args": {**dialogue.args, **args}})


def run_file(path: Path, options: TryOptions) -> bool:
    """Return whether the scenario ended well; mistakes are written. Raises SettingsError."""
    loaded = load_file(FAMILY, path)
    if loaded.wrong is not None:
        write_findings(loaded.wrong.findings)
        return False
    playable = build(loaded.key, loaded.document, loaded.parts)
    return try_scenario(playable, options, Translator(options.language, "Europe/Moscow"))


def try_scenario(playable: PlayableScenario, options: TryOptions, tr: Translator) -> bool:
    """Return whether it ended well. Raises SettingsError."""
    played = play_scenario(playable, options, tr)
    return not played.problem and played.result.status == "done"


def play_scenario(playable: PlayableScenario, options: TryOptions, tr: Translator) -> Played:
    """Raises SettingsError."""
    dialogue, as_json = load_dialogue(playable, options), options.as_json
    show = lambda happening: write_happening(happening, tr, as_json=as_json, name="scenario")  # noqa: E731 - reads as the argument that it is

    async def play() -> Played:
        async with _open_model(options.asks_model) as model, load_call_forms() as forms:
            script = Terminal(dialogue, model=model, show=show, stdin=sys.stdin, find_classes=load_classes())
            script.judge_by(forms)
            return await play_dialogue(playable.key, playable.documents, playable.types, dialogue, script, now=SystemClock().now())

    played = asyncio.run(play())
    result = played.result
    if as_json:
        outcome = "unfinished" if played.problem else result.status
        why = next((happening.text for happening in reversed(played.happenings) if happening.kind == "failure"), "")
        problem = played.problem or (why if result.status == "failed" else "")
        event = {"event": "end", "outcome": outcome, "code": result.code, "problem": problem, "variables": played.variables}
        write_json_lines([event])
    else:
        write_end(result.status, result.code, played.problem, played.own_variables)
    return played


@contextlib.asynccontextmanager
async def _open_model(asks_model: bool) -> AsyncIterator[AskModel]:  # noqa: FBT001 - says whether it is opened
    if not asks_model:
        yield ask_no_model
        return
    async with open_models() as router:

        async def ask(request: RunModelRequest, _on_delta: TakeText | None) -> str | None:
            try:
                answer = await router.chat(request)
            except ModelClientError as error:
                raise SettingsError(f"the model does not answer: {error.reason}") from None
            return answer.text

        yield ask


LIVE: Final = LiveFace(play=try_scenario, takes=frozenset({"--param", "--input", "--inputs", "--model"}))
