"""The commands of `sdelka author`: what authors do with files of definitions, whatever their kind.

What they do is imported when one of them runs, see bot.cli.ops.
"""

from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.author.faces import TryOptions, check_kind
from bot.cli.author.group import Events, Json, Language, Svg, exit_unless, load_translator
from bot.cli.ops import hide_log_lines
from bot.plugins.loading import list_kinds

_SUMMARY: Final = f"""Write definitions of any kind: begin, check, draw, try, test and record them. Nothing of it needs a running bot.

The kinds: {", ".join(list_kinds())}. What there is of them is published, compared and switched by `sdelka definitions`."""
app = typer.Typer(no_args_is_help=True, add_completion=False, help=_SUMMARY)
Kind = Annotated[str, typer.Argument(metavar="KIND", help="The kind of the definition, such as flow.", callback=check_kind)]
File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A definition as YAML or JSON. What it names are files beside it, or it is published.")
]


@app.callback()
def group() -> None:
    """Hide log lines; the help is that of the group."""
    hide_log_lines()


@app.command()
def new(kind: Kind, file: File, *, language: Language = "ru") -> None:
    """Write a first definition to a new file, whose name is its key, and say what is still wrong with it.

    Exit codes: 0 = written, 2 = wrong use, or the file is there already.
    """
    from bot.cli.author.writing import write_first  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    write_first(kind, file, load_translator(language))


@app.command()
def check(
    kind: Kind,
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Definitions as YAML or JSON, or folders of them.")],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Say all mistakes of definitions, and of the parts that they name, at once, each with its place.

    Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use.
    """
    from bot.cli.author.writing import check_files  # noqa: PLC0415 - see new

    exit_unless(check_files(kind, files, load_translator(language), as_json=as_json))


@app.command()
def draw(kind: Kind, file: File, *, svg: Svg = None, language: Language = "ru") -> None:
    """Draw a definition, also one with mistakes. Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn."""
    from bot.cli.author.writing import draw_file  # noqa: PLC0415 - see new

    draw_file(kind, file, svg, lambda path, count: load_translator(language).translate("author-drawn", file=str(path), count=count))


@app.command(name="try")
def try_out(  # noqa: PLR0913 - one parameter for each option of the command
    kind: Kind,
    definition: Annotated[str, typer.Argument(metavar="FILE|KEY", help="A file, or the key of a published definition.")],
    *,
    param: Annotated[list[str] | None, typer.Option(help="A value of its start such as client=Romashka; may be given again.")] = None,
    typed: Annotated[list[str] | None, typer.Option("--input", help="An answer, in order; may be given again.")] = None,
    inputs: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of answers, or of all that a test says.")] = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of models' answers by step; no model is asked.")] = None,
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of what the portal gives, by method.")] = None,
    model: Annotated[
        bool, typer.Option("--model", help="Ask the configured model where its words would be asked for here; it costs.")
    ] = False,
    version: Annotated[int, typer.Option(min=0, help="A version of the published definition; by default the active one.")] = 0,
    language: Language = "ru",
    as_json: Events = False,
) -> None:
    """Try a definition in this terminal. Nothing is sent and nothing is stored; what is not given is asked for here.

    The models of the settings are asked, which costs, by kinds that show their words as they come; which options a kind takes it says.
    Exit codes: 0 = it ended well, 1 = it failed, did not end, or has mistakes, 2 = wrong use.
    """
    from bot.cli.author.trying import try_file_or_key  # noqa: PLC0415 - see new

    options = TryOptions(
        params=tuple(param or ()),
        inputs=tuple(typed or ()),
        inputs_file=inputs,
        answers_file=answers,
        queries_file=queries,
        asks_model=model,
        language=language,
        as_json=as_json,
    )
    exit_unless(try_file_or_key(kind, definition, version, options))


@app.command(name="test")
def play_tests(
    kind: Kind,
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A definition with NAME.test.yaml beside it, or a folder of them.")],
    *,
    as_json: Json = False,
) -> None:
    """Play the tests of definitions, with everything outside given, and show what they cover.

    Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no tests.
    """
    from bot.cli.author import testing  # noqa: PLC0415 - see new

    exit_unless(testing.play_tests(kind, path, as_json=as_json))


@app.command()
def record(
    kind: Kind,
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="The run's id, or a part of it that only one run has.")],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The new file, such as NAME.test.yaml beside the definition.")],
) -> None:
    """Save a finished run as a test. What was said in it stands there: replace what must not be read by others.

    Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.
    """
    from bot.cli.author.recording import save_run  # noqa: PLC0415 - see new

    exit_unless(save_run(kind, run_id, out, f"sdelka author test {kind}"))
