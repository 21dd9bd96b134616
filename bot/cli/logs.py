"""`sdelka logs`: checks, shows, follows and rebuilds the audit logs."""

from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "bot.cli.work.logs"
app = typer.Typer(no_args_is_help=True, add_completion=False, help="Check, show, follow and rebuild the audit logs.")

_USER = "The person's key (tg:1007), Telegram id or name; the file's name does as well."
_Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]


@app.callback()
def group() -> None:
    """Check, show, follow and rebuild the audit logs."""


@app.command()
@defer(_WORK)
def verify(
    user: Annotated[str, typer.Option(help=f"Only this log. {_USER}")] = "",
    *,
    as_json: _Json = False,
) -> None:
    """Compare each log with the journal, record by record; name the first that differs, is missing or was added, with file and line.

    Exit codes: 0 = everything is as the journal tells it (notes are no fault), 1 = something differs, is missing, was added or cannot be
    read, 2 = wrong use, or the journal cannot be read.
    """


@app.command()
@defer(_WORK)
def show(
    user: Annotated[str, typer.Argument(help=f"{_USER} With --trace it may be left out.")] = "",
    last: Annotated[int, typer.Option(min=1, help="So many records.")] = 20,
    trace: Annotated[str, typer.Option(help="Only what goes back to the input with this trace id, or its last 8 characters or more.")] = "",
    *,
    as_json: _Json = False,
) -> None:
    """Show the last records of a person, or all records with a trace id: time, type, what was asked, the calls and their outcomes.

    Exit codes: 0 = shown, 1 = an archive is damaged (see verify), or no record has that trace id, 2 = wrong use.
    """


@app.command()
@defer(_WORK)
def tail(
    user: Annotated[str, typer.Argument(help=f"{_USER} Everybody without it.")] = "",
    *,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what comes, until stopped.")] = False,
    last: Annotated[int, typer.Option(min=0, help="So many records of each log first.")] = 10,
    as_json: _Json = False,
) -> None:
    """Show the newest records, and with -f each new one as it is written, also after a log file was archived and a new one begun.

    Exit codes: 0 = done or stopped by the keyboard, 1 = an archive is damaged (see verify), 2 = wrong use.
    """


@app.command()
@defer(_WORK)
def rebuild(
    user: Annotated[str, typer.Argument(help="The person's key (tg:1007), Telegram id or name. Everybody without it.")] = "",
    to: Annotated[Path | None, typer.Option(help="A new or empty folder; without it one beside the logs.")] = None,
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Put them in place of the logs; the old files are kept beside.")] = False,
    as_json: _Json = False,
) -> None:
    """Write the audit logs anew from the journal, each record marked "rebuilt". Without --replace no existing file is touched.

    --replace works only with the embedded database and while no bot runs; a running bot could write a record a second time. Exit codes: 0 =
    done, 1 = the journal has nobody of that name, 2 = wrong use, or the bot runs.
    """
