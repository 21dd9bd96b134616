"""`sdelka db`. A moved database is marked, so that no bot starts on it by mistake."""

from typing import Annotated, Final

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "bot.cli.work.db"

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Move the database, or take a moved one back.")
_TO = """postgresql://user@host/name, the password better in PGPASSWORD or ~/.pgpass, where no list of processes shows it;
or "embedded" for the SQLite file in STATE_DIR."""


@app.callback()
def group() -> None:
    """Move the database, or reopen one that was moved."""


@app.command()
@defer(_WORK)
def move(
    to: Annotated[str, typer.Option(help=_TO)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Copy everything from the present database (DATABASE_URL, or STATE_DIR) into an empty one, compare both, mark the old one as moved.

    Stop every bot first. The content of the old database does not change, but no bot starts on it any more. Exit codes: 0 = moved, and both
    databases are equal, 2 = refused or failed, and the old database is as before.
    """


@app.command()
@defer(_WORK)
def reopen(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")] = False,
) -> None:
    """Remove the mark from a database that was moved, so that bots start on it again.

    The database lacks whatever bots have done with the other database since the move. Exit codes: 0 = the database is open (also if it was
    never marked), 2 = refused.
    """
