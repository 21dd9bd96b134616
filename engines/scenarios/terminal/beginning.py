"""What only `sdelka scenario` does; above all how authors begin: the types of steps, and a first scenario."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import typer

from bot.cli.author.faces import TryOptions
from bot.cli.author.files import SUFFIXES, TEST
from bot.cli.author.work import exit_unless, load_translator
from bot.cli.author.writing import check_files, draw_file, write_checked_in_english
from bot.cli.inputs import parse_arg
from bot.cli.ops import escape_text, write_json_lines, write_table
from bot.cli.options import Language
from bot.i18n.translate import Translator
from engines.scenarios.core.authoring import DOINGS, Doing, FirstTexts, StepDoc, build_first, describe_types, format_default
from engines.scenarios.core.checks import check_scenario
from engines.scenarios.core.registry import load_step_types
from engines.scenarios.terminal.trying import run_file
from orchestrator.documents.reading import read_document
from orchestrator.documents.writing import write_document
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import has_errors
from orchestrator.domain.suggestions import suggest_name


def steps(name: str, *, as_json: bool) -> None:
    write_types(name, as_json=as_json)


def validate(files: list[Path], *, language: Language, as_json: bool) -> None:
    mistakes = load_translator(language) if language == "ru" else None
    write = lambda checked: write_checked_in_english(checked, mistakes)  # noqa: E731 - reads as the argument that it is
    exit_unless(check_files("scenario", files, load_translator(language), as_json=as_json, write=write))


def graph(file: Path, *, svg: Path | None) -> None:
    draw_file("scenario", file, svg, lambda path, count: f"{path}: {count} steps.")


def run(
    file: Path, *, answers: list[str] | None, inputs: Path | None, arg: list[str] | None, model: bool, language: Language, as_json: bool
) -> None:
    params, typed = tuple(arg or ()), tuple(answers or ())
    for param in params:
        parse_arg(param)
    options = TryOptions(params=params, inputs=typed, inputs_file=inputs, asks_model=model, language=language, as_json=as_json)
    exit_unless(run_file(file, options))


def new(out: Path, *, name: str, description: str | None, question: list[str] | None, doing: str, language: Language) -> None:
    write_first(out, name=name, description=description, questions=question or [], doing=doing, locale=language)


_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_MOST_QUESTIONS: Final = 50


def write_types(name: str, *, as_json: bool) -> None:
    """Describe all types, or only the one with this name. Raises SettingsError."""
    types = describe_types(load_step_types())
    chosen = [kind for kind in types if name in {"", kind.name}]
    if not chosen:
        meant = suggest_name(name, [kind.name for kind in types])
        raise SettingsError(escape_text(f"there is no type of steps {name!r}{f', perhaps {meant}' if meant else ''}"))
    if as_json:
        write_json_lines([kind.to_json() for kind in chosen])
        return
    for kind in chosen:
        _write_type(kind)


def _write_type(kind: StepDoc) -> None:
    notes = [*(["waits"] if kind.waits else []), *(["also as type: action"] if kind.is_action else [])]
    aside = f" ({', '.join(notes)})" if notes else ""
    typer.echo(f"\n{kind.name}{aside}: {kind.summary}")
    rows = [(one.name, one.type, "required" if one.required else format_default(one.default), one.meaning) for one in kind.parameters]
    if rows:
        write_table(("parameter", "type", "default", "meaning"), rows)
    typer.echo(escape_text(kind.example))


def write_first(out: Path, *, name: str, description: str | None, questions: Sequence[str], doing: str, locale: Language) -> None:
    """Write a new file; what is not given is asked in the terminal. Raises SettingsError."""
    form = SUFFIXES.get(out.suffix.lower())
    if form is None or not _KEY.fullmatch(out.stem) or out.stem.endswith(TEST):
        raise SettingsError("the file needs a name such as lead.yaml: Latin letters, digits, _ and -, which is the key of the scenario")
    if out.exists():
        raise SettingsError(escape_text(f"{out} is there already, and is not overwritten"))
    if doing and doing not in DOINGS:
        raise SettingsError(f"--do: one of {', '.join(DOINGS)} is needed")
    tr = Translator(locale, "Europe/Moscow")
    name = name or _insist(tr.translate("scenario-new-name"))
    description = _ask(tr.translate("scenario-new-description")) if description is None else description
    question_list = list(questions) or _ask_questions(tr)
    texts = FirstTexts(
        hello=tr.translate("scenario-new-hello", name=name),
        summary=tr.translate("scenario-new-summary"),
        done=tr.translate("scenario-new-done"),
    )
    document = build_first(name, description, question_list, _choose(doing, tr), texts)
    text = write_document(document, form)
    reading = read_document(text, form)
    findings = [*reading.findings, *(check_scenario(reading.document, load_step_types()) if reading.document is not None else ())]
    if has_errors(findings):
        raise SettingsError(escape_text("; ".join(str(finding) for finding in findings[:3])))
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise SettingsError(escape_text(f"{out}: cannot be written ({error.strerror})")) from None
    sys.stdout.write(escape_text(tr.translate("scenario-new-written", file=str(out))) + "\n")


def _ask_questions(tr: Translator) -> list[str]:
    answers = [_insist(tr.translate("scenario-new-question", number=1))]
    while len(answers) < _MOST_QUESTIONS and (more := _ask(tr.translate("scenario-new-question", number=len(answers) + 1))):
        answers.append(more)
    return answers


def _choose(doing: str, tr: Translator) -> Doing:
    words: dict[Doing, str] = {
        "say": tr.translate("scenario-new-say"),
        "deal": tr.translate("scenario-new-deal"),
        "lead": tr.translate("scenario-new-lead"),
    }
    known = ", ".join(f"{number} — {word}" for number, word in enumerate(words.values(), start=1))
    question = tr.translate("scenario-new-doing", known=known)
    while True:
        answer = doing or _insist(question)
        for number, (choice, word) in enumerate(words.items(), start=1):
            if answer in {choice, str(number), word}:
                return choice
        doing = ""


def _insist(question: str) -> str:
    while not (answer := _ask(question)):
        pass
    return answer


def _ask(question: str) -> str:
    """Raises SettingsError at the end of the input."""
    sys.stderr.write(f"{question}\n> ")
    sys.stderr.flush()
    line = sys.stdin.readline() if sys.stdin is not None else ""
    if not line:
        raise SettingsError("the input ended before everything was answered; nothing was written")
    return line.strip()
