"""Tries definitions in the terminal. A kind without a live engine is played anew with each answer."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from pydantic import ValidationError

from bitrix.masking import hide_installed
from bot.cli.author.faces import LIVE_FACE, TryOptions, find_family, refuse_missing
from bot.cli.author.files import SUFFIXES, PartStore, load_file, open_part_store, read_file
from bot.cli.author.writing import write_checked
from bot.cli.definition_desk import load_call_forms, write_findings
from bot.cli.ops import escape_text, open_models, write_json_lines
from bot.i18n.translate import Translator
from bot.plugins.building import load_installed_engines
from bot.plugins.loading import find_part_of_kind
from bot.rehearsing.case_face import CASE_FACE
from bot.rehearsing.trial_face import TRIAL_FACE
from bot.rehearsing.trials import Playable, TrialInputs, Tried, Wanted, Watch, try_definition
from bot.rehearsing.words import cut_text, render_plain_reply
from orchestrator.domain.errors import ModelClientError, SettingsError
from orchestrator.domain.suggestions import suggest_name
from orchestrator.domain.value_faults import describe_faults
from orchestrator.engines.runs import Option, RunFailed, RunModelRequest
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.launch import build_options, explain_mistake, read_answer
from orchestrator.language.request_words import read_other_words
from orchestrator.rehearsals.case import PERSON
from orchestrator.rehearsals.comparing import say_reply
from orchestrator.rehearsals.rehearsal import CALLS, NO_ANSWER, Happening, TakeText
from orchestrator.rehearsals.script import AskModel
from orchestrator.runs.registry import StaticDefinitions
from state.canonical import dumps, to_storable_text
from state.stored import JsonObject


def split_parameters(options: Sequence[str]) -> dict[str, str]:
    """Such as client=Ромашка. Raises SettingsError."""
    texts: dict[str, str] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name:
            raise SettingsError(escape_text(f"--param {option!r}: a value such as client=Romashka is needed"))
        if name in texts:
            raise SettingsError(escape_text(f"--param {name} is given twice"))
        texts[name] = to_storable_text(value)
    return texts


def collect_parameters(declared: Sequence[LaunchParameter], texts: Mapping[str, str], stdin: TextIO | None, tr: Translator) -> JsonObject:
    """What is typed completes `texts`. Raises SettingsError for unknown or unfit values, and if the input ends early."""
    names = [launch_parameter.name for launch_parameter in declared]
    for name in texts:
        if name not in names:
            meant = suggest_name(name, names)
            raise SettingsError(escape_text(f"--param {name}: there is no such parameter{f', perhaps {meant}' if meant else ''}"))
    values: dict[str, object] = {}
    for parameter in declared:
        read = _read_given(parameter, texts[parameter.name], tr) if parameter.name in texts else _ask_parameter(parameter, stdin, tr)
        if read is not None:
            values[parameter.name] = read
    return values


def _read_given(launch_parameter: LaunchParameter, text: str, tr: Translator) -> object:
    parsed = _read(launch_parameter, _list_choices(launch_parameter, tr), text, tr)
    if parsed is None:
        known = ", ".join(option.label for option in _list_choices(launch_parameter, tr))
        complaint = f"--param {launch_parameter.name}: {tr.translate_notice(explain_mistake(launch_parameter, text, tr.locale))}"
        raise SettingsError(escape_text(f"{complaint} ({known})" if known else complaint))
    return parsed


def _list_choices(launch_parameter: LaunchParameter, tr: Translator) -> list[Option]:
    options = build_options(launch_parameter, tr.locale) if launch_parameter.choices or launch_parameter.type == "boolean" else ()
    return [option for option in options if option.value is not None]


def _read(launch_parameter: LaunchParameter, choices: Sequence[Option], text: str, tr: Translator) -> object:
    """None if nothing was typed."""
    stripped = text.strip()
    chosen = next((option.value for option in choices if stripped == option.label), None)
    return chosen if chosen is not None else read_answer(launch_parameter, stripped, tr.locale)


def _ask_parameter(parameter: LaunchParameter, stdin: TextIO | None, tr: Translator) -> object:
    """None for what is left out. Raises SettingsError if the input ends or the person leaves."""
    choices = _list_choices(parameter, tr)
    may_lack = parameter.default is not None or not parameter.required
    _write_question(parameter, choices, tr, may_lack=may_lack)
    while True:
        line = stdin.readline() if stdin is not None else ""
        typed = to_storable_text(line).strip()
        if not typed and may_lack:
            return None
        if not line:
            raise SettingsError(escape_text(f"the input ended before the parameter {parameter.name} was given: --param {parameter.name}=…"))
        if read_other_words(typed, (option.label for option in choices)) == "leave":
            raise SettingsError(escape_text(f"{parameter.name}: left at this question, nothing was run"))
        is_number = bool(choices) and typed.isascii() and typed.isdecimal() and 0 < int(typed[:4]) <= len(choices)
        choice = choices[int(typed) - 1].value if is_number else _read(parameter, choices, typed, tr)
        if choice is not None:
            return choice
        sys.stderr.write(escape_text(f"{tr.translate_notice(explain_mistake(parameter, typed, tr.locale))}\n> "))
        sys.stderr.flush()


def _write_question(parameter: LaunchParameter, choices: Sequence[Option], tr: Translator, *, may_lack: bool) -> None:
    lines = [parameter.description or parameter.name, *(f"  {number}. {option.label}" for number, option in enumerate(choices, start=1))]
    if may_lack:
        has_none = parameter.default is None
        lines.append(tr.translate("author-may-lack") if has_none else tr.translate("author-default", value=str(parameter.default)))
    sys.stderr.write(escape_text("\n".join(lines) + "\n> "))
    sys.stderr.flush()


PROGRAM_ERROR: Final = "failed"
"""A failure that is no author's; people's sentence tells nothing of it."""
_TAKES: Final = frozenset({"--input", "--inputs"})
"""The options of a kind that does not play live."""


def try_path(kind: str, path: Path, options: TryOptions) -> bool:
    """Returns whether it ended well; mistakes are written. Raises SettingsError."""
    _check_options(kind, options)
    tr = Translator(options.language, "Europe/Moscow")
    loaded = load_file(find_family(kind), path)
    if loaded.wrong is not None:
        for file in loaded.files:
            if file.findings:
                write_checked(file, tr, as_json=options.as_json)
        return False
    face = find_part_of_kind(CASE_FACE, kind)
    if face is not None:
        return _play(kind, face.build(loaded.key, loaded.document, loaded.parts), options, tr)
    return _play(kind, _load_trial(kind, loaded.key, loaded.document, PartStore(desk=None)), options, tr)


def try_file_or_key(kind: str, name: str, version: int, options: TryOptions) -> bool:
    """A file if there is one of that name, otherwise a published key."""
    path = Path(name)
    if path.suffix.lower() in SUFFIXES or path.is_file():
        if version:
            raise SettingsError(f"--version is for published {kind}s: a file has one version")
        return try_path(kind, path, options)
    _check_options(kind, options)
    with open_part_store() as store:
        if store.desk is None:
            raise SettingsError(escape_text(f"{name} is no file, and published {kind}s cannot be read: {store.why_not}"))
        desk = store.desk
        number = version or desk.call(desk.service.find_key(desk.editor, kind, name)).active_version
        if not number:
            raise SettingsError(escape_text(f"no version of {name} is published: name one with --version"))
        document = desk.call(desk.service.find_version(desk.editor, kind, name, number)).document
        playable = _load_trial(kind, name, document, store)
    return _play(kind, playable, options, Translator(options.language, "Europe/Moscow"))


def _check_options(kind: str, options: TryOptions) -> None:
    live = find_part_of_kind(LIVE_FACE, kind)
    if live is None and find_part_of_kind(TRIAL_FACE, kind) is None:
        raise refuse_missing(kind, "cannot be tried", TRIAL_FACE)
    takes = live.takes if live is not None else _TAKES
    for name in options.list_given():
        if name not in takes:
            raise SettingsError(f"{name}: definitions of the kind {kind} are tried with {', '.join(sorted(takes))}")


def _load_trial(kind: str, key: str, document: Mapping[str, Any], store: PartStore) -> Playable:
    """Without a store nothing is found that it names there."""
    face, desk = find_part_of_kind(TRIAL_FACE, kind), store.desk
    if face is None:
        raise refuse_missing(kind, "cannot be tried", TRIAL_FACE)
    definitions, known = StaticDefinitions({(kind, key): document}), load_installed_engines().kinds[kind]
    if desk is None:
        return asyncio.run(face.load(known, key, document, store=None, definitions=definitions))  # type: ignore[arg-type]
    return desk.call(face.load(known, key, document, store=desk.store, definitions=definitions))


def _play(kind: str, playable: Playable, options: TryOptions, tr: Translator) -> bool:
    live = find_part_of_kind(LIVE_FACE, kind)
    if live is not None:
        return live.play(playable, options, tr)
    return _play_again_and_again(playable, options, tr)


def _play_again_and_again(playable: Playable, options: TryOptions, tr: Translator) -> bool:
    inputs, count = TrialInputs(case=_load_case(options.inputs_file), answers=options.inputs), 0
    while True:
        try:
            tried = asyncio.run(_try_installed(playable, inputs))
        except ValidationError as error:
            raise SettingsError(
                escape_text(f"{options.inputs_file}: cannot be used as inputs ({describe_faults(error, inputs.case)})")
            ) from None
        for happening in tried.happenings[count:]:
            write_happening(happening, tr, as_json=options.as_json)
        count = max(count, len(tried.happenings))
        line = _ask(tried.wanted, tr) if tried.wanted is not None else None
        if tried.wanted is None or line is None:
            _write_end(tried, tr, as_json=options.as_json)
            return tried.status == "done"
        inputs = (inputs.drop_answer() if tried.wanted.is_unfit else inputs).add(tried.wanted, line)


async def _try_installed(playable: Playable, inputs: TrialInputs) -> Tried:
    async with load_call_forms() as forms:
        return await try_definition(playable, inputs, PERSON, Watch(), forms.find_refusal)


def _load_case(path: Path | None) -> JsonObject:
    draft = read_file(path).draft if path is not None else None
    if path is None:
        return {}
    if draft is None or not isinstance(draft.data, list | Mapping):
        raise SettingsError(escape_text(f"{path}: cannot be used as inputs: a list of answers is needed, or a test"))
    return {"inputs": draft.data} if isinstance(draft.data, list) else dict(draft.data)


def _ask(want: Wanted, tr: Translator) -> str | None:
    """None at the end of input; a button is its words or its number."""
    words = [*want.options, *map(tr.translate, want.controls)]
    if want.is_unfit:
        sys.stderr.write(escape_text(f"[{want.step}] takes {', '.join([*words, *(['a text'] if want.takes_text else [])])}.\n"))
    line = read_line("> " if want.kind == "answer" else f"[{want.step}] {want.text}\n[{want.step}]> ", sys.stdin)
    if line is None or want.kind != "answer":
        return line
    numbers = {word: str(number) for number, word in enumerate(words, start=1)}
    for label, word in zip((*want.options, *want.controls), words, strict=True):
        if line in {label, word} or (line == numbers[word] and line not in words):
            return label
    return line


def read_line(prompt: str, stdin: TextIO | None) -> str | None:
    """None at the end of input, or for a closed one; only a terminal is shown the prompt."""
    if stdin is None:
        return None
    if stdin.isatty():
        sys.stderr.write(escape_text(prompt))
        sys.stderr.flush()
    line = stdin.readline()
    return to_storable_text(line.rstrip("\r\n")) if line else None


def _write_end(tried: Tried, tr: Translator, *, as_json: bool) -> None:
    want = tried.wanted
    problem = f"step {want.step} needs more, and no input is left ({want.text})" if want is not None else tried.problem
    outcome = tried.status if tried.status in {"done", "failed", "cancelled"} else "unfinished"
    if as_json:
        write_json_lines([{"event": "end", "outcome": outcome, "code": tried.code, "problem": problem, "result": tried.result}])
        return
    write_end(tried.status, tried.code, problem, tried.result)
    for describe in tried.proposed:
        write_text(f"  • {describe(tr)}")


def write_end(status: str, code: str, problem: str, variables: Mapping[str, object]) -> None:
    if problem:
        sys.stderr.write(escape_text(f"Not finished: {problem}.\n"))
        return
    write_text(f"— {status}{f' ({code})' if code else ''}")
    for name, content in variables.items():
        write_text(f"  {name} = {cut_text(dumps(content))}")


def write_happening(happening: Happening, tr: Translator, *, as_json: bool, name: str = "definition") -> None:
    """In JSON `name` is the field of the definition's key."""
    if as_json:
        text = say_reply(happening) if happening.reply is not None else happening.text
        buttons = [*happening.options, *happening.controls]
        place = {name: happening.place.definition, "step": happening.place.step, "node": happening.place.node}
        options = {"options": buttons} if buttons else {}
        write_json_lines([{"event": happening.kind, **place, "text": text, **options, "data": happening.data}])
    else:
        write_text("\n".join(line for line in _describe_happening(happening, tr) if line))


def _describe_happening(happening: Happening, tr: Translator) -> list[str]:
    spoken = render_plain_reply(happening.reply, tr) if happening.reply is not None else ""
    step, text, data = happening.place.step, happening.text, happening.data
    match happening.kind:
        case "message":
            return [spoken]
        case "question":
            labels = [*happening.options, *map(tr.translate, happening.controls)]
            return [spoken, *(f"  {number}. {label}" for number, label in enumerate(labels, start=1))]
        case "answer":
            answer = tr.translate(happening.controls[0]) if happening.controls else data
            return [f"> {cut_text(dumps(answer) if not isinstance(answer, str) else answer)}"]
        case "effect":
            mark = {"planned": "planned, not sent", "succeeded": "mocked", "refused": f"refused: {text}"}[data["status"]]
            comment = f" — {data['comment']}" if data["comment"] else ""
            return [f"[{step}] {mark}: {data['method']} {cut_text(dumps(data['params']))}{comment}"]
        case "model" | "agent":
            return [f"[{step}] the {happening.kind} answers: {cut_text(text)}"]
        case "wait":
            return [f"[{step}] waits until {text}; the clock jumps there"]
        case "child":
            return [f"[{step}] begins {text}"]
        case "log":
            return [f"[{step}] {data} {cut_text(text)}"]
        case "failure":
            return [spoken, f"[{data}] {cut_text(text)}"]


@contextlib.asynccontextmanager
async def open_model() -> AsyncIterator[AskModel]:
    """Raises SettingsError."""
    async with open_models() as router:

        async def ask(request: RunModelRequest, on_delta: TakeText | None) -> Any:
            try:
                answer = await router.chat(request, on_delta)
            except ModelClientError as error:
                raise RunFailed(NO_ANSWER, error.reason) from None
            calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in answer.calls]
            return {"text": answer.text, CALLS: calls} if calls else answer.text

        yield ask


def load_mocks(path: Path, contents: str, part: str, names: Sequence[str], *, is_known: Callable[[str], bool]) -> Mapping[str, Any]:
    """By names of parts. Raises SettingsError, also for a name that `is_known` denies, with the nearest of `names`."""
    reading = read_file(path)
    if reading.document is None or not isinstance(reading.document.data, dict):
        write_findings(reading.findings)
        raise SettingsError(escape_text(f"{path}: {contents}"))
    for name in reading.document.data:
        if not is_known(name):
            meant = suggest_name(name, names)
            raise SettingsError(escape_text(f"{path}: there is no {part} {name}{f', perhaps {meant}' if meant else ''}"))
    return reading.document.data


def write_text(text: str, *, end: str = "\n") -> None:
    """Without secrets of this installation and control characters."""
    sys.stdout.write(escape_text(hide_installed(text)) + end)
    sys.stdout.flush()
