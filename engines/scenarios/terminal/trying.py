"""`sdelka scenario run`: a scenario in the terminal, with answers from a script or the keyboard. Nothing is sent and nothing is stored."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bitrix.masking import hide_installed
from bot.cli.author.trying import write_text
from bot.cli.definition_desk import write_findings
from bot.cli.definition_files import get_key, load_classes, load_engines, read_file
from bot.cli.ops import Language, escape_text, open_models, write_json_lines
from bot.i18n.translate import Translator
from bot.rehearsing.words import cut_text, render_plain_reply
from engines.scenarios.rehearsal.dialogue import Dialogue, check_dialogue
from engines.scenarios.rehearsal.playing import Played, play_dialogue
from engines.scenarios.rehearsal.step_names import find_known_steps
from engines.scenarios.terminal.files import Documents, Folder, load_scenario, load_types
from engines.scenarios.terminal.keyboard import Terminal
from orchestrator.documents.document import Document
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.finding import DefinitionRefused
from orchestrator.engines.runs import RunModelRequest
from orchestrator.rehearsals.comparing import say_reply
from orchestrator.rehearsals.rehearsal import Happening, TakeText
from orchestrator.rehearsals.script import AskModel, ask_no_model
from state.canonical import dumps, to_storable_text
from state.clock import SystemClock
from state.stored import JsonObject

_NAME: Final = "run"


def load_dialogue(path: Path, inputs: Path | None, given: list[str], args: Mapping[str, Any]) -> Dialogue:
    """Return the dialogue of a file of inputs (a list, or inputs with mocks and args), with further inputs, for the scenario at `path`.

    Raises SettingsError.
    """
    data: JsonObject = {}
    if inputs is not None:
        reading = read_file(inputs)
        found = reading.draft.data if reading.draft is not None else None
        data = {"inputs": found} if isinstance(found, list) else found if isinstance(found, Mapping) else {}
        findings = list(reading.findings)
        if reading.draft is not None:
            known = find_known_steps(get_key(path), Documents(Folder(path.parent), {}), load_types())
            findings += check_dialogue(replace_data(reading.draft, {"name": _NAME, **data}), known)
        if any(one.severity == "error" for one in findings):
            write_findings(findings)
            raise SettingsError(escape_text(f"{inputs}: cannot be used as inputs"))
    dialogue = Dialogue.model_validate({"name": _NAME, **data})
    return dialogue.model_copy(update={"inputs": [*dialogue.inputs, *map(to_storable_text, given)], "args": {**dialogue.args, **args}})


def replace_data(document: Document, data: JsonObject) -> Document:
    """Return the document with other data; places of what is not in its text are unknown."""
    return replace(document, data=data)


def run_scenario(path: Path, dialogue: Dialogue, *, as_json: bool, asks_model: bool, locale: Language) -> Played | None:
    """Play a scenario in the terminal and return what came of it; None for a scenario with mistakes, which are written."""
    try:
        document = load_scenario(load_engines(), path)
    except DefinitionRefused:
        return None
    folder, key = Folder(path.parent), get_key(path)
    tr = Translator(locale, "Europe/Moscow")
    show = _write_event if as_json else lambda one: _write_happening(one, tr)
    documents = Documents(folder, {key: document})

    async def play() -> Played:
        async with _open_model(asks_model) as model:
            script = Terminal(dialogue, model=model, show=show, stdin=sys.stdin, find_classes=load_classes())
            return await play_dialogue(key, documents, load_types(), dialogue, script, now=SystemClock().now())

    played = asyncio.run(play())
    if as_json:
        told = {"event": "end", "outcome": "unfinished" if played.problem else played.result.status, "code": played.result.code}
        write_json_lines([{**told, "problem": played.problem, "variables": played.variables}])
    elif played.problem:
        sys.stderr.write(escape_text(f"Not finished: {played.problem}.\n"))
    else:
        sys.stdout.write(escape_text(f"— {played.result.status}{f' ({played.result.code})' if played.result.code else ''}\n"))
        sys.stdout.writelines(
            escape_text(hide_installed(f"  {name} = {cut_text(dumps(one))}\n")) for name, one in played.own_variables.items()
        )
    return played


@contextlib.asynccontextmanager
async def _open_model(asks_model: bool) -> AsyncIterator[AskModel]:  # noqa: FBT001 - says whether it is opened
    """Yield what answers in the place of a model that has no mock: the configured one if it is to be asked, otherwise the keyboard."""
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


def _write_event(one: Happening) -> None:
    """Write one thing that happened as a line of JSON."""
    told = {"event": one.kind, "scenario": one.place.definition, "step": one.place.step, "node": one.place.node}
    text = say_reply(one) if one.reply is not None else one.text
    buttons = [*one.options, *one.controls]
    options = {"options": buttons} if buttons else {}
    write_json_lines([{**told, "text": text, **options, "data": one.data}])


def _write_happening(one: Happening, tr: Translator) -> None:
    """Write one thing that happened for a person to read."""
    spoken = render_plain_reply(one.reply, tr) if one.reply is not None else ""
    lines: list[str] = []
    match one.kind:
        case "message":
            lines = [spoken]
        case "question":
            labels = [*one.options, *map(tr.translate, one.controls)]
            lines = [spoken, *(f"  {number}. {label}" for number, label in enumerate(labels, start=1))]
        case "answer":
            given = tr.translate(one.controls[0]) if one.controls else one.data
            lines = [f"> {cut_text(dumps(given) if not isinstance(given, str) else given)}"]
        case "effect":
            mark = {"planned": "planned, not sent", "succeeded": "mocked", "refused": f"refused: {one.text}"}[one.data["status"]]
            comment = f" — {one.data['comment']}" if one.data["comment"] else ""
            lines = [f"[{one.place.step}] {mark}: {one.data['method']} {cut_text(dumps(one.data['params']))}{comment}"]
        case "model" | "agent":
            lines = [f"[{one.place.step}] the {one.kind} answers: {cut_text(one.text)}"]
        case "wait":
            lines = [f"[{one.place.step}] waits until {one.text}; the clock jumps there"]
        case "child":
            lines = [f"[{one.place.step}] begins {one.text}"]
        case "failure":
            lines = [spoken, f"[{one.data}] {cut_text(one.text)}"]
    write_text("\n".join(line for line in lines if line))
