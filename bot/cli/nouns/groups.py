"""The groups of `sdelka` over the API's nouns."""

from typing import Annotated

import typer

from bot.cli.inputs import find_run
from bot.cli.nouns.commands import LoadEngines, build_group, load_installed
from bot.cli.ops import open_database_reader
from bot.cli.options import AS_JSON


def build_runs(load_engines: LoadEngines = load_installed) -> typer.Typer:
    """Events are told in the journal's words, which the API does not have."""
    app = build_group("runs", load_engines)
    app.command("events")(_show_events)
    return app


def _show_events(
    run: Annotated[str, typer.Argument(help="The run's id, or a part at its beginning or end that only one run has.")],
    last: Annotated[int, typer.Option(min=0, help="Only so many events, the newest; 0 = all.")] = 100,
    *,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Show what happened in a run, one line for each event. Exit codes: 0 = shown, 1 = a record cannot be read, 2 = no such run."""
    from bot.cli.journal.sessions import show  # noqa: PLC0415 - help needs none of it

    with open_database_reader() as store:
        run_id = find_run(store, run)
    show(f"run:{run_id}", last, [], as_json=as_json)


def build_definitions(load_engines: LoadEngines = load_installed) -> typer.Typer:
    """To check a file needs no database, so it is no request."""
    app = build_group("definitions", load_engines)

    @app.command()
    def check(
        kind: Annotated[str, typer.Argument(help="The kind of definitions, which is that of an engine.")],
        file: Annotated[str, typer.Argument(metavar="FILE", help="A YAML or JSON file; - for standard input.")],
        *,
        as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
    ) -> None:
        """Show everything that is wrong with a file, without storing it.

        Exit codes: 0 = it can be saved, 1 = it has mistakes, 2 = wrong use, or the file cannot be read.
        """
        from bot.cli.author.writing import show_checked  # noqa: PLC0415 - help needs none of it

        if not show_checked(load_engines(), kind, file, as_json=as_json):
            raise typer.Exit(1)

    return app


audit = build_group("audit")
cards = build_group("cards")
definitions = build_definitions()
sessions = build_group("sessions")
runs = build_runs()
schedules = build_group("schedules")
