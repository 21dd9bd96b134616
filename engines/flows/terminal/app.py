"""The commands of `sdelka flow`. Each imports what it needs when it runs, see bot.cli.ops.

Those that play flows (`run`, `test`, `record`) stand in files of their own beside this one.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli import ops
from bot.cli.ops import AS_JSON, hide_log_lines

if TYPE_CHECKING:
    from bot.i18n.translate import Translator

NOT_DONE: Final = 1
app = typer.Typer(no_args_is_help=True, add_completion=False, help="Write flows: check, draw, publish, compare and try them.")
Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]
Language = Annotated[ops.Language, typer.Option(help="The language in which people are told.")]


@app.callback()
def group() -> None:
    """Write flows: check, draw, publish, compare and try them."""
    hide_log_lines()


def load_translator(language: ops.Language) -> "Translator":
    """Return the translator into the language of an option."""
    from bot.i18n.translate import Translator  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    return Translator(language, "Europe/Moscow")


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Flows and agents as YAML or JSON, or folders of them.")],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Check flows and agents and say all mistakes at once, each with its place.

    An agent that a step names is a file beside the flow, such as writer.yaml, or it is looked up among the published ones. Without a
    database it is not, and that is said. Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use.
    """
    from bot.cli.author.writing import validate_files  # noqa: PLC0415 - see load_translator
    from engines.flows.terminal.files import FLOWS  # noqa: PLC0415 - see load_translator

    if not validate_files(FLOWS, files, load_translator(language), as_json=as_json):
        raise typer.Exit(NOT_DONE)


@app.command()
def publish(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A flow as YAML or JSON.")],
    *,
    agent: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="An agent to publish before it; may be given again.")] = None,
    note: Annotated[str, typer.Option(help="What has changed and why, for the history.")] = "",
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Save a flow with its agents and publish it in one go. Nothing is saved if anything is wrong with any of the files.

    What deletes, moves money or writes to people outside is published by a second person: it stays a draft, and the flow that names it
    is not saved. Exit codes: 0 = published, 1 = refused, or a second person is needed, 2 = wrong use.
    """
    from bot.cli.author.publishing import publish_files  # noqa: PLC0415 - see load_translator
    from bot.cli.author.writing import write_publication  # noqa: PLC0415 - see load_translator
    from engines.flows.terminal.files import FLOWS  # noqa: PLC0415 - see load_translator

    done = publish_files(FLOWS, file, agent or [], note=note)
    write_publication(done, load_translator(language), as_json=as_json)
    if not done.is_done:
        raise typer.Exit(NOT_DONE)


@app.command()
def diff(
    key: Annotated[str, typer.Argument(help="The key of a flow.")],
    before: Annotated[int, typer.Argument(metavar="V1", min=1, help="The version from which.")],
    after: Annotated[int, typer.Argument(metavar="V2", min=1, help="The version to which.")],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Show what changed between two versions of a flow. Exit codes: 0 = shown, also if nothing changed, 2 = no such version."""
    from bot.cli.author.writing import write_difference  # noqa: PLC0415 - see load_translator
    from engines.flows.core.kind import FLOW  # noqa: PLC0415 - see load_translator

    write_difference(FLOW, key, (before, after), load_translator(language), as_json=as_json)


@app.command()
def graph(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A flow as YAML or JSON.")],
    *,
    svg: Annotated[Path | None, typer.Option(metavar="OUT", help="Write a picture to this file in place of Mermaid to stdout.")] = None,
    language: Language = "ru",
) -> None:
    """Draw where a flow goes, also one with mistakes. Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn.

    Failures are drawn dashed and red, what steps leave in channels of memory and read there is drawn thin and green.
    """
    from bot.cli.author.writing import draw_file  # noqa: PLC0415 - see load_translator
    from engines.flows.core.chart import build_chart  # noqa: PLC0415 - see load_translator

    draw_file(file, svg, load_translator(language), build_chart)


@app.command()
def run(
    flow: Annotated[str, typer.Argument(metavar="FILE|KEY", help="A file of a flow, or the key of a published one.")],
    *,
    param: Annotated[list[str] | None, typer.Option(help="A launch parameter such as client=Romashka; may be given again.")] = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of agents' answers by step; no model is asked.")] = None,
    version: Annotated[int, typer.Option(min=0, help="A version of the published flow; by default the active one.")] = 0,
    language: Language = "ru",
    as_json: Annotated[bool, typer.Option("--json", help="One event a line as JSON.")] = False,
) -> None:
    """Try a flow in this terminal. The models of the settings are asked, which costs; nothing else is sent, and nothing is stored.

    Launch parameters that are not given are asked for one by one. Effects are shown as the plans that they are. Exit codes: 0 = it ended
    well, 1 = it failed, did not end, or has mistakes, 2 = wrong use.
    """
    from bot.cli.author.asking import collect_parameters, split_parameters  # noqa: PLC0415 - see load_translator
    from bot.cli.author.files import open_part_store  # noqa: PLC0415 - see load_translator
    from bot.cli.author.writing import write_checked  # noqa: PLC0415 - see load_translator
    from engines.flows.terminal.loading import load_flow  # noqa: PLC0415 - see load_translator
    from engines.flows.terminal.showing import PeopleWatcher, ProgramWatcher  # noqa: PLC0415 - see load_translator
    from engines.flows.terminal.trying import load_answers, play_flow  # noqa: PLC0415 - see load_translator

    tr = load_translator(language)
    with open_part_store() as store:
        loaded = load_flow(flow, version, store)
        if loaded.flow is None:
            for one in loaded.checked:
                if one.findings:
                    write_checked(one, tr, as_json=as_json)
            raise typer.Exit(NOT_DONE)
        script = load_answers(answers, [step.id for step in loaded.flow.flow.steps]) if answers is not None else None
        parameters = collect_parameters(loaded.flow.flow.launch_parameters, split_parameters(param or []), sys.stdin, tr)
        watcher = ProgramWatcher() if as_json else PeopleWatcher(tr)
        tried = play_flow(loaded.flow, parameters, script, watcher, store.desk)
    watcher.end(tried)
    if tried.problem or tried.result.status != "done":
        raise typer.Exit(NOT_DONE)


@app.command(name="test")
def play_tests(
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A flow with NAME.test.yaml beside it, or a folder of them.")],
    *,
    as_json: Json = False,
) -> None:
    """Play the tests of flows, with the answers of their agents given, and show which steps and ways between them they cover.

    Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no tests.
    """
    from engines.flows.terminal.testing import check_tests_of  # noqa: PLC0415 - see load_translator

    if not check_tests_of(path, as_json=as_json):
        raise typer.Exit(NOT_DONE)


@app.command()
def record(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="The run's id, or a part of it that only one run has.")],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The new file, such as NAME.test.yaml beside the flow.")],
) -> None:
    """Save a finished run as a test. What the person and the agents said stands in it: replace what must not be read by others.

    Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.
    """
    from bot.cli.author.recording import save_run  # noqa: PLC0415 - see load_translator
    from engines.flows.terminal.recording import take_run  # noqa: PLC0415 - see load_translator

    if not save_run(run_id, out, take_run, "flow"):
        raise typer.Exit(NOT_DONE)
