"""`sdelka restore`: into an empty database and log folder. It calls neither portal nor model."""

from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "bot.cli.work.restore"

app = typer.Typer(add_completion=False)
_FROM_HELP = "The file that `sdelka backup` wrote."
_STATE_HELP = "Restore into the embedded database of this folder instead of DATABASE_URL or STATE_DIR."
_LOGS_HELP = "Folder for the audit logs instead of LOG_DIR."
_ERASED_HELP = "Output of `sdelka journal erase --list --json`: whoever stands in it is erased again. May be given several times."
_DRILL_HELP = "Only try it: into a folder that is removed again. Proves that the backup can be restored; touches nothing else."


@app.command()
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
