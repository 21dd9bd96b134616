"""The commands of `sdelka workflow`. Each imports what it needs when it runs, see bot.cli.ops."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli import ops
from bot.cli.ops import AS_JSON, hide_log_lines

if TYPE_CHECKING:
    from bot.i18n.translate import Translator

NOT_DONE: Final = 1
app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Write workflows: check, order, draw, publish, compare, try and test them."
)
Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]
Language = Annotated[ops.Language, typer.Option(help="The language in which people are told.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A workflow as YAML or JSON.")]


@app.callback()
def group() -> None:
    """Write workflows: check, order, draw, publish, compare, try and test them."""
    hide_log_lines()


def load_translator(language: ops.Language) -> "Translator":
    """Return the translator into the language of an option."""
    from bot.i18n.translate import Translator  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    return Translator(language, "Europe/Moscow")


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Workflows and tuums as YAML or JSON, or folders of them.")],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Check workflows and tuums and say all mistakes at once, each with its place.

    A tuum that a workflow names is a file beside it or in the folder tuums, such as tuums/deals.yaml, or it is looked up among the
    published ones. Without a database it is not, and that is said. Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use.
    """
    from bot.cli.author.writing import validate_files  # noqa: PLC0415 - see load_translator
    from engines.workflows.terminal.files import WORKFLOWS  # noqa: PLC0415 - see load_translator

    if not validate_files(WORKFLOWS, files, load_translator(language), as_json=as_json):
        raise typer.Exit(NOT_DONE)


@app.command(name="compile")
def compile_file(file: File, *, language: Language = "ru", as_json: Json = False) -> None:
    """Show in which order the tuums of a workflow run, what each waits for, and what it takes and publishes.

    The tuums of one level run side by side. Exit codes: 0 = shown, 1 = mistakes, or a tuum is not at hand, 2 = wrong use.
    """
    from bot.cli.author.writing import write_checked  # noqa: PLC0415 - see load_translator
    from engines.workflows.terminal.compiling import write_order  # noqa: PLC0415 - see load_translator
    from engines.workflows.terminal.loading import load_workflow  # noqa: PLC0415 - see load_translator

    tr = load_translator(language)
    checked, loaded = load_workflow(file)
    if checked.findings:
        write_checked(checked, tr, as_json=as_json)
    if loaded is None:
        raise typer.Exit(NOT_DONE)
    write_order(loaded.compiled, tr, as_json=as_json)


@app.command()
def publish(
    file: File,
    *,
    tuum: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A tuum to publish before it; may be given again.")] = None,
    note: Annotated[str, typer.Option(help="What has changed and why, for the history.")] = "",
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Save a workflow with its tuums and publish it in one go. Nothing is saved if anything is wrong with any of the files.

    What deletes, moves money or writes to people outside, or may do so, is published by a second person: it stays a draft, and the
    workflow that names it is not saved. Exit codes: 0 = published, 1 = refused, or a second person is needed, 2 = wrong use.
    """
    from bot.cli.author.publishing import publish_files  # noqa: PLC0415 - see load_translator
    from bot.cli.author.writing import write_publication  # noqa: PLC0415 - see load_translator
    from engines.workflows.terminal.files import WORKFLOWS  # noqa: PLC0415 - see load_translator

    done = publish_files(WORKFLOWS, file, tuum or [], note=note)
    write_publication(done, load_translator(language), as_json=as_json)
    if not done.is_done:
        raise typer.Exit(NOT_DONE)


@app.command()
def diff(
    key: Annotated[str, typer.Argument(help="The key of a workflow.")],
    before: Annotated[int, typer.Argument(metavar="V1", min=1, help="The version from which.")],
    after: Annotated[int, typer.Argument(metavar="V2", min=1, help="The version to which.")],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Show what changed between two versions of a workflow. Exit codes: 0 = shown, also if nothing changed, 2 = no such version."""
    from bot.cli.author.writing import write_difference  # noqa: PLC0415 - see load_translator
    from engines.workflows.core.kind import WORKFLOW  # noqa: PLC0415 - see load_translator

    write_difference(WORKFLOW, key, (before, after), load_translator(language), as_json=as_json)


@app.command()
def graph(
    file: File,
    *,
    svg: Annotated[Path | None, typer.Option(metavar="OUT", help="Write a picture to this file in place of Mermaid to stdout.")] = None,
    language: Language = "ru",
) -> None:
    """Draw which tuums wait for which, also of a workflow with mistakes.

    Arrows carry the variables; what the start gives is drawn thin and green. Of tuums that are no files beside it only the name is drawn.
    Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn.
    """
    from bot.cli.author.writing import draw_file  # noqa: PLC0415 - see load_translator
    from engines.workflows.core.chart import build_chart  # noqa: PLC0415 - see load_translator
    from engines.workflows.terminal.files import find_files, load_types  # noqa: PLC0415 - see load_translator

    draw_file(file, svg, load_translator(language), lambda document: build_chart(document, load_types(), find_files(file, document)))


@app.command()
def run(
    file: File,
    *,
    param: Annotated[
        list[str] | None, typer.Option("--param", "--parameter", help="A trigger parameter such as client=Romashka; may be given again.")
    ] = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of models' answers by tuum; no model is asked.")] = None,
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of what the portal gives, by method.")] = None,
    language: Language = "ru",
    as_json: Annotated[bool, typer.Option("--json", help="One event a line as JSON.")] = False,
) -> None:
    """Try a workflow in this terminal. The models of the settings are asked, which costs; nothing else is sent, and nothing is stored.

    Trigger parameters that are not given are asked for one by one. The portal is not read: what it gives stands in a file, and another
    read is refused. What is proposed is shown as the plan that it is. Exit codes: 0 = it ended well, 1 = it failed, did not end, or has
    mistakes, 2 = wrong use.
    """
    from bot.cli.author.asking import collect_parameters, split_parameters  # noqa: PLC0415 - see load_translator
    from bot.cli.author.writing import write_checked  # noqa: PLC0415 - see load_translator
    from engines.workflows.terminal.loading import load_workflow  # noqa: PLC0415 - see load_translator
    from engines.workflows.terminal.showing import PeopleWatcher, ProgramWatcher  # noqa: PLC0415 - see load_translator
    from engines.workflows.terminal.trying import list_parameters, load_given, play_workflow  # noqa: PLC0415 - see load_translator

    tr = load_translator(language)
    checked, loaded = load_workflow(file)
    if loaded is None:
        write_checked(checked, tr, as_json=as_json)
        raise typer.Exit(NOT_DONE)
    given = load_given(answers, queries, loaded.playable)
    parameters = collect_parameters(list_parameters(loaded.compiled.workflow, tr), split_parameters(param or []), sys.stdin, tr)
    watcher = ProgramWatcher() if as_json else PeopleWatcher(tr, loaded.titles)
    played = play_workflow(loaded, parameters, given, watcher)
    watcher.end(played)
    if played.problem or not played.result.is_success:
        raise typer.Exit(NOT_DONE)


@app.command(name="test")
def play_tests(
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A workflow with NAME.test.yaml beside it, or a folder of them.")],
    *,
    as_json: Json = False,
) -> None:
    """Play the tests of workflows, with answers of models and reads of the portal given, and show which tuums they cover.

    Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no tests.
    """
    from engines.workflows.terminal.testing import check_tests_of  # noqa: PLC0415 - see load_translator

    if not check_tests_of(path, as_json=as_json):
        raise typer.Exit(NOT_DONE)


@app.command()
def record(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="The run's id, or a part of it that only one run has.")],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The new file, such as NAME.test.yaml beside the workflow.")],
) -> None:
    """Save a finished run as a test. What the person, the models and the portal said stands in it: replace what others must not read.

    Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.
    """
    from bot.cli.author.recording import save_run  # noqa: PLC0415 - see load_translator
    from engines.workflows.terminal.recording import take_run  # noqa: PLC0415 - see load_translator

    if not save_run(run_id, out, take_run, "workflow"):
        raise typer.Exit(NOT_DONE)


@app.command()
def blocks(
    record: Annotated[str, typer.Argument(metavar="KIND:NUMBER", help="A deal, lead, contact or company, such as deal:481.")],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """List what workflows did on a record, oldest first: the last 100 blocks of a year.

    Exit codes: 0 = listed, 2 = wrong use, no workflow has worked on it, or the database cannot be read.
    """
    from engines.workflows.terminal.blocks import write_blocks  # noqa: PLC0415 - see load_translator

    write_blocks(record, load_translator(language), as_json=as_json)


@app.command()
def block(
    block_id: Annotated[
        str, typer.Argument(metavar="BLOCK", help="Its id, or a part at the beginning or end of its run's id that only one block has.")
    ],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Show one block: its text, the fields before and after, who chose what where people had changed the same, what became of the changes.

    Exit codes: 0 = shown, 2 = no such block, several fit, or the database cannot be read.
    """
    from engines.workflows.terminal.blocks import write_block  # noqa: PLC0415 - see load_translator

    write_block(block_id, load_translator(language), as_json=as_json)
