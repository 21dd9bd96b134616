"""The groups of `sdelka` over the API's nouns."""

from typing import Annotated

import typer

from bot.cli.deferred import defer
from bot.cli.nouns.commands import LoadEngines, build_group
from bot.cli.options import AS_JSON


def build_runs(load_engines: LoadEngines | None = None) -> typer.Typer:
    """Events are told in the journal's words, which the API does not have."""
    app = build_group("runs", load_engines)
    app.command("events")(show_run)
    return app


@defer("bot.cli.journal.sessions")
def show_run(
    run: Annotated[str, typer.Argument(help="The run's id, or a part at its beginning or end that only one run has.")],
    last: Annotated[int, typer.Option(min=0, help="Only so many events, the newest; 0 = all.")] = 100,
    *,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Show what happened in a run, one line for each event. Exit codes: 0 = shown, 1 = a record cannot be read, 2 = no such run."""


def build_definitions(load_engines: LoadEngines | None = None) -> typer.Typer:
    """To check a file needs no database, so it is no request."""
    app = build_group("definitions", load_engines)

    @app.command("check")
    @defer("bot.cli.author.writing", load_engines)
    def show_checked(
        kind: Annotated[str, typer.Argument(help="The kind of definitions, which is that of an engine.")],
        file: Annotated[str, typer.Argument(metavar="FILE", help="A YAML or JSON file; - for standard input.")],
        *,
        as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
    ) -> None:
        """Show everything that is wrong with a file, without storing it.

        Exit codes: 0 = it can be saved, 1 = it has mistakes, 2 = wrong use, or the file cannot be read.
        """

    return app


audit = build_group("audit")
cards = build_group("cards")
definitions = build_definitions()
sessions = build_group("sessions")
runs = build_runs()
schedules = build_group("schedules")
