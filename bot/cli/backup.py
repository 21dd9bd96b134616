"""`sdelka backup`: also while the bot runs."""

from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "bot.cli.work.backup"

app = typer.Typer(add_completion=False)
_TO = "A folder, in which the file is named by the moment (sdelka-20261122T140000Z.backup), or a file whose name ends in .backup."
_KEEP = "Afterwards remove older sdelka-*.backup files of that folder, but for so many. 0 removes none."


@app.command()
@defer(_WORK)
def backup(
    to: Annotated[Path, typer.Option(help=_TO)],
    *,
    keep: Annotated[int, typer.Option(min=0, help=_KEEP)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Copy the database and the audit logs, as they are at this moment, into one file. The bot may run.

    The file holds what people wrote and the keys that decrypt it, so protect it like the database. It does not hold the settings. Exit
    codes: 0 = the file was written, 2 = it was not, and no part of it is left. See docs/backup.md.
    """
