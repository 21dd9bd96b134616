"""The commands of `sdelka scenario`."""

from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.author.group import Events, Json, Svg, build_author_group, exit_unless, load_translator
from bot.cli.ops import Language

_TEST: Final = """\
Play the recorded dialogues of scenarios, with everything outside mocked, and show which steps they cover.

Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no dialogues.
"""
_RECORD: Final = """\
Save a finished run as a test. What the person answered stands in it as it was typed: replace what must not be read by others.

Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.
"""
File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A scenario as YAML or JSON. Those beside it are known by the names of their files.")
]


def steps(name: Annotated[str, typer.Argument(help="Only this type.")] = "", *, as_json: Json = False) -> None:
    """Show the types of steps: what each does, its parameters and an example. Exit codes: 0 = shown, 2 = there is no such type."""
    from engines.scenarios.terminal.beginning import write_types  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    write_types(name, as_json=as_json)


def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Scenarios as YAML or JSON, or folders of them.")],
    *,
    language: Annotated[Language, typer.Option(help="The language in which mistakes are told.")] = "en",
    as_json: Json = False,
) -> None:
    """Check scenarios and say all mistakes at once, each with its place. Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use."""
    from bot.cli.author.writing import check_files, write_checked_in_english  # noqa: PLC0415 - see steps

    mistakes = load_translator(language) if language == "ru" else None
    write = lambda checked: write_checked_in_english(checked, mistakes)  # noqa: E731 - reads as the argument that it is
    exit_unless(check_files("scenario", files, load_translator(language), as_json=as_json, write=write))


def graph(file: File, *, svg: Svg = None) -> None:
    """Draw where a scenario goes, also one with mistakes. Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn."""
    from bot.cli.author.writing import draw_file  # noqa: PLC0415 - see steps

    draw_file("scenario", file, svg, lambda path, count: f"{path}: {count} steps.")


def run(
    file: File,
    *,
    answers: Annotated[list[str] | None, typer.Option("--input", help="An answer, in order; may be given again.")] = None,
    inputs: Annotated[Path | None, typer.Option(help="A YAML file with the answers, or with inputs, mocks and args as in a test.")] = None,
    arg: Annotated[list[str] | None, typer.Option(help="A value such as deal=481 that the scenario is started with.")] = None,
    model: Annotated[bool, typer.Option("--model", help="Ask the configured model where the inputs have no mock; it costs.")] = False,
    language: Annotated[Language, typer.Option(help="The language of the program's own sentences.")] = "ru",
    as_json: Events = False,
) -> None:
    """Try a scenario in this terminal. Nothing is sent and nothing is stored: each effect is shown as the plan that it is.

    What the inputs do not answer is asked here, models' answers too; @PATH sends a file, @+7… a contact.
    Exit codes: 0 = it ended well, 1 = it failed, did not end, or has mistakes, 2 = wrong use.
    """
    from bot.cli.author.faces import TryOptions  # noqa: PLC0415 - see steps
    from bot.cli.inputs import parse_arg  # noqa: PLC0415 - see steps
    from engines.scenarios.terminal.trying import run_file  # noqa: PLC0415 - see steps

    params, typed = tuple(arg or ()), tuple(answers or ())
    for param in params:
        parse_arg(param)
    options = TryOptions(params=params, inputs=typed, inputs_file=inputs, asks_model=model, language=language, as_json=as_json)
    exit_unless(run_file(file, options))


def new(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The new file, such as lead.yaml; an existing one is not overwritten.")],
    *,
    name: Annotated[str, typer.Option(help="What people call it.")] = "",
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    question: Annotated[list[str] | None, typer.Option(help="A question to ask; may be given again.")] = None,
    doing: Annotated[str, typer.Option("--do", help="What is done with the answers: say, deal or lead.")] = "",
    language: Annotated[Language, typer.Option(help="The language of the questions and of the scenario.")] = "ru",
) -> None:
    """Write a first scenario after a few questions. Exit codes: 0 = written, 2 = wrong use, or the file is there already."""
    from engines.scenarios.terminal.beginning import write_first  # noqa: PLC0415 - see steps

    write_first(out, name=name, description=description, questions=question or [], doing=doing, locale=language)


app = build_author_group(
    "scenario",
    "Write scenarios: check, draw, try, test and record them.",
    {
        "steps": steps,
        "validate": validate,
        "graph": graph,
        "run": run,
        "test": _TEST,
        "record": _RECORD,
        "new": new,
    },
)
