"""The commands of `sdelka scenario`. Each imports what it needs when it runs, see bot.cli.ops."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.ops import AS_JSON, Language, escape_text, hide_log_lines, write_json_lines, write_table
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from engines.scenarios.core.authoring.step_docs import StepDoc

NOT_DONE: Final = 1
app = typer.Typer(no_args_is_help=True, add_completion=False, help="Write scenarios: check, draw, try, test and record them.")
_Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]
_File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A scenario as YAML or JSON. Those beside it are known by the names of their files.")
]


@app.callback()
def group() -> None:
    """Write scenarios: check, draw, try, test and record them, or begin a first one. Nothing of it needs a running bot."""
    hide_log_lines()


@app.command()
def steps(name: Annotated[str, typer.Argument(help="Only this type.")] = "", *, as_json: _Json = False) -> None:
    """Show the types of steps: what each does, its parameters and an example. Exit codes: 0 = shown, 2 = there is no such type."""
    from engines.scenarios.core.authoring.step_docs import describe_types  # noqa: PLC0415 - see above
    from engines.scenarios.terminal.files import load_types  # noqa: PLC0415 - help needs none of it, see bot.cli.ops
    from orchestrator.domain.suggestions import suggest_name  # noqa: PLC0415 - see above

    told = describe_types(load_types())
    found = [one for one in told if name in {"", one.name}]
    if not found:
        meant = suggest_name(name, [one.name for one in told])
        raise SettingsError(escape_text(f"there is no type of steps {name!r}{f', perhaps {meant}' if meant else ''}"))
    if as_json:
        write_json_lines([one.to_json() for one in found])
        return
    for one in found:
        _write_type(one)


def _write_type(told: "StepDoc") -> None:
    from engines.scenarios.core.authoring.step_docs import format_default  # noqa: PLC0415 - see steps

    notes = [*(["waits"] if told.waits else []), *(["also as type: action"] if told.is_action else [])]
    aside = f" ({', '.join(notes)})" if notes else ""
    typer.echo(f"\n{told.name}{aside}: {told.summary}")
    rows = [(one.name, one.type, "required" if one.required else format_default(one.default), one.meaning) for one in told.parameters]
    if rows:
        write_table(("parameter", "type", "default", "meaning"), rows)
    typer.echo(escape_text(told.example))


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Scenarios as YAML or JSON, or folders of them.")],
    *,
    language: Annotated[Language, typer.Option(help="The language in which mistakes are told.")] = "en",
    as_json: _Json = False,
) -> None:
    """Check scenarios and say all mistakes at once, each with its place. Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use."""
    from bot.cli.definition_desk import write_findings  # noqa: PLC0415 - see steps
    from bot.cli.definition_files import expand_paths, load_engines  # noqa: PLC0415 - see steps
    from bot.cli.definitions import describe_need  # noqa: PLC0415 - see steps
    from bot.i18n.translate import Translator  # noqa: PLC0415 - see steps
    from engines.scenarios.terminal.files import check_scenario_file  # noqa: PLC0415 - see steps
    from orchestrator.domain.finding import has_errors  # noqa: PLC0415 - see steps

    engines, is_wrong = load_engines(), False
    tr = Translator("ru", "Europe/Moscow")
    for path in expand_paths(files):
        checked = check_scenario_file(engines, path)
        is_wrong |= has_errors(checked.findings)
        if as_json:
            write_json_lines([{"file": str(path), **one.to_json()} for one in checked.findings])
            continue
        count = sum(one.severity == "error" for one in checked.findings)
        typer.echo(
            escape_text(f"{path}: " + (f"{count} mistake{'' if count == 1 else 's'}." if count else describe_need(checked.critical)))
        )
        write_findings(checked.findings, lambda one: tr.translate_notice(one.notice) if language == "ru" else one.message)
    if is_wrong:
        raise typer.Exit(NOT_DONE)


@app.command()
def graph(
    file: _File,
    *,
    svg: Annotated[Path | None, typer.Option(metavar="OUT", help="Write a picture to this file in place of Mermaid to stdout.")] = None,
) -> None:
    """Draw where a scenario goes, also one with mistakes. Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn."""
    from bot.cli.definition_files import read_file  # noqa: PLC0415 - see steps
    from engines.scenarios.core.authoring.chart import build_chart  # noqa: PLC0415 - see steps
    from engines.scenarios.terminal.files import load_types  # noqa: PLC0415 - see steps
    from orchestrator.charts.chart import write_mermaid  # noqa: PLC0415 - see steps
    from orchestrator.charts.layout import ChartTooLarge  # noqa: PLC0415 - see steps
    from orchestrator.charts.svg import write_svg  # noqa: PLC0415 - see steps

    reading = read_file(file)
    if reading.draft is None:
        raise SettingsError(escape_text(f"{file}: {'; '.join(map(str, reading.findings[:3]))}"))
    chart = build_chart(reading.draft.data, load_types())
    if svg is None:
        sys.stdout.write(write_mermaid(chart))
        return
    try:
        svg.write_text(write_svg(chart), encoding="utf-8")
    except ChartTooLarge as error:
        raise SettingsError(str(error)) from None
    except OSError as error:
        raise SettingsError(escape_text(f"{svg}: cannot be written ({error.strerror})")) from None
    typer.echo(escape_text(f"{svg}: {len(chart.boxes)} steps."))


@app.command()
def run(
    file: _File,
    *,
    answers: Annotated[list[str] | None, typer.Option("--input", help="An answer, in order; may be given again.")] = None,
    inputs: Annotated[Path | None, typer.Option(help="A YAML file with the answers, or with inputs, mocks and args as in a test.")] = None,
    arg: Annotated[list[str] | None, typer.Option(help="A value such as deal=481 that the scenario is started with.")] = None,
    model: Annotated[bool, typer.Option("--model", help="Ask the configured model where the inputs have no mock; it costs.")] = False,
    language: Annotated[Language, typer.Option(help="The language of the program's own sentences.")] = "ru",
    as_json: Annotated[bool, typer.Option("--json", help="One event a line as JSON.")] = False,
) -> None:
    """Try a scenario in this terminal. Nothing is sent and nothing is stored: each effect is shown as the plan that it is.

    What the inputs do not answer is asked here, models' answers too; @PATH sends a file, @+7… a contact.
    Exit codes: 0 = it ended well, 1 = it failed, did not end, or has mistakes, 2 = wrong use.
    """
    from bot.cli.inputs import parse_arg  # noqa: PLC0415 - see steps
    from engines.scenarios.terminal.trying import load_dialogue, run_scenario  # noqa: PLC0415 - see steps

    dialogue = load_dialogue(file, inputs, answers or [], dict(map(parse_arg, arg or ())))
    played = run_scenario(file, dialogue, as_json=as_json, asks_model=model, locale=language)
    if played is None or played.problem or played.result.status != "done":
        raise typer.Exit(NOT_DONE)


@app.command(name="test")
def play_tests(
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A scenario with NAME.test.yaml beside it, or a folder of them.")],
    *,
    as_json: _Json = False,
) -> None:
    """Play the recorded dialogues of scenarios, with everything outside mocked, and show which steps they cover.

    Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no dialogues.
    """
    from engines.scenarios.terminal.files import load_types  # noqa: PLC0415 - see steps
    from engines.scenarios.terminal.testing import check_dialogues_of  # noqa: PLC0415 - see steps

    if not check_dialogues_of(path, load_types(), as_json=as_json):
        raise typer.Exit(NOT_DONE)


@app.command()
def record(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="The run's id, or a part of it that only one run has.")],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The new file, such as NAME.test.yaml beside the scenario.")],
) -> None:
    """Save a finished run as a test. What the person answered stands in it as it was typed: replace what must not be read by others.

    Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.
    """
    from bot.cli.author.recording import save_run  # noqa: PLC0415 - see steps
    from engines.scenarios.terminal.recording import take_run  # noqa: PLC0415 - see steps

    if not save_run(run_id, out, take_run, "scenario", field="dialogues"):
        raise typer.Exit(NOT_DONE)


@app.command()
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
