from pathlib import Path

from bot.cli.author.faces import TryOptions
from bot.cli.author.work import exit_unless, load_translator
from bot.cli.author.writing import check_files, draw_file, write_checked_in_english
from bot.cli.inputs import parse_arg
from bot.cli.options import Language
from engines.scenarios.terminal.beginning import write_first, write_types
from engines.scenarios.terminal.trying import run_file


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
