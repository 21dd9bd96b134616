"""`sdelka backup`, also while the bot runs, `sdelka restore` and `sdelka db`. None of them calls the portal or a model.

A moved database is marked, so that no bot starts on it by mistake.
"""

from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "bot.cli.work.copies"
_FILE_HELP = "A folder, in which the file is named by the moment (sdelka-20261122T140000Z.backup), or a file whose name ends in .backup."
_KEEP_HELP = "Afterwards remove older sdelka-*.backup files of that folder, but for so many. 0 removes none."
_FROM_HELP = "The file that `sdelka backup` wrote."
_STATE_HELP = "Restore into the embedded database of this folder instead of DATABASE_URL or STATE_DIR."
_LOGS_HELP = "Folder for the audit logs instead of LOG_DIR."
_ERASED_HELP = "Output of `sdelka journal erase --list --json`: whoever stands in it is erased again. May be given several times."
_DRILL_HELP = "Only try it: into a folder that is removed again. Proves that the backup can be restored; touches nothing else."
_TARGET_HELP = """postgresql://user@host/name, the password better in PGPASSWORD or ~/.pgpass, where no list of processes shows it;
or "embedded" for the SQLite file in STATE_DIR."""

backups = typer.Typer(add_completion=False)
restoring = typer.Typer(add_completion=False)
databases = typer.Typer(no_args_is_help=True, add_completion=False, help="Move the database, or take a moved one back.")


@backups.command()
@defer(_WORK)
def backup(
    to: Annotated[Path, typer.Option(help=_FILE_HELP)],
    *,
    keep: Annotated[int, typer.Option(min=0, help=_KEEP_HELP)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Copy the database and the audit logs, as they are at this moment, into one file. The bot may run.

    The file holds what people wrote and the keys that decrypt it, so protect it like the database. It does not hold the settings. Exit
    codes: 0 = the file was written, 2 = it was not, and no part of it is left. See docs/backup.md.
    """


@restoring.command()
@defer(_WORK)
def restore(
    source: Annotated[Path, typer.Option("--from", help=_FROM_HELP)],
    *,
    state_dir: Annotated[Path | None, typer.Option(help=_STATE_HELP)] = None,
    log_dir: Annotated[Path | None, typer.Option(help=_LOGS_HELP)] = None,
    erased: Annotated[list[Path] | None, typer.Option(help=_ERASED_HELP)] = None,
    drill: Annotated[bool, typer.Option("--drill", help=_DRILL_HELP)] = False,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Restore a backup into an empty database and log folder, check it, and list what to look at before and after the bot starts.

    The restored bot does not know what was done after the backup was made, and must not do it twice. It therefore looks up the outcome of
    approved calls in the portal, and before it runs the call of an open confirmation card, it checks in the portal that the call was not
    made already. Inputs that waited in the backup are set aside. People erased since the backup are erased again. Exit codes: 0 = restored
    and intact, 1 = restored, but something was found in it, 2 = refused or failed: no bot can start on the target. See docs/backup.md.
    """


@databases.callback()
def group() -> None:
    """Move the database, or reopen one that was moved."""


@databases.command()
@defer(_WORK)
def move(
    to: Annotated[str, typer.Option(help=_TARGET_HELP)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Copy everything from the present database (DATABASE_URL, or STATE_DIR) into an empty one, compare both, mark the old one as moved.

    Stop every bot first. The content of the old database does not change, but no bot starts on it any more. Exit codes: 0 = moved, and both
    databases are equal, 2 = refused or failed, and the old database is as before.
    """


@databases.command()
@defer(_WORK)
def reopen(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")] = False,
) -> None:
    """Remove the mark from a database that was moved, so that bots start on it again.

    The database lacks whatever bots have done with the other database since the move. Exit codes: 0 = the database is open (also if it was
    never marked), 2 = refused.
    """
